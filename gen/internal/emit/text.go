package emit

import (
	"fmt"
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"
)

// identifier writes a name from a source; it panics if that is no identifier.
func identifier(name string) *jen.Statement {
	if !token.IsIdentifier(name) {
		panic(fmt.Sprintf("emit: name %q: not an identifier", name))
	}
	return jen.Id(name)
}

func selector(base, path string) *jen.Statement {
	out := identifier(base)
	for _, name := range strings.Split(path, ".") {
		if !token.IsIdentifier(name) {
			panic(fmt.Sprintf("emit: name %q: not an identifier", name))
		}
		out.Dot(name)
	}
	return out
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

func exported(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[n:]
}

// unexported returns the name with its first word in lower case: Notes, OSTools and OS become notes, osTools and os.
func unexported(name string) string {
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsUpper(r) || i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			break
		}
		runes[i] = unicode.ToLower(r)
	}
	return string(runes)
}

// camel returns the name of a tool as a Go name: note_add becomes NoteAdd. 2fa and _, which only tools may be called, become T2fa
// and T.
func camel(tool string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(tool, func(r rune) bool { return r == '_' || r == '-' }) {
		b.WriteString(exported(part))
	}
	if name := b.String(); token.IsIdentifier(name) {
		return name
	}
	return "T" + b.String()
}

// rawText writes a string in back quotes if they leave it unchanged, so that JSON and patterns stay readable, else quoted.
func rawText(s string) *jen.Statement {
	if strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\t' || r == 0x7f || r == utf8.RuneError || !unicode.IsPrint(r) && r != '\t'
	}) {
		return jen.Lit(s)
	}
	var out *jen.Statement
	for i, part := range strings.Split(s, "`") {
		if i > 0 {
			out = joined(out, jen.Lit("`"))
		}
		if part != "" || s == "" {
			out = joined(out, jen.Op("`"+part+"`"))
		}
	}
	return out
}

func joined(left, right *jen.Statement) *jen.Statement {
	if left == nil {
		return right
	}
	return left.Op("+").Add(right)
}

// oneLine returns the text of a comment without characters that could end the comment or mislead a reader.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}
