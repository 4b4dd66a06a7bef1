package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/paths"
)

// word is one word in the form that the program gets.
type word struct {
	// text has [Unknown] for each unknown part.
	text string
	// blank: it has a blank or is empty, so that it is one word only because of quotes.
	blank bool
	// expands: a part is the value of a variable or the output of a command. loose: it may become several words.
	expands, loose bool
	// home: the first part is $HOME. pwd: it is $PWD. secret: a variable in it has the name of a secret.
	home, pwd, secret bool
	// braces is the text of a word of which braces may make several.
	braces string
}

// plain reports whether the word is known and one word without quotes.
func (w word) plain() bool { return w.text != "" && !w.blank && !w.unknown() }

func (w word) unknown() bool { return strings.ContainsRune(w.text, Unknown) }

// base returns the word without its directory.
func (w word) base() string {
	if i := strings.LastIndexByte(w.text, '/'); i >= 0 && i+1 < len(w.text) {
		return w.text[i+1:]
	}
	return w.text
}

func (r *reader) words(list []*syntax.Word) []word {
	out := make([]word, len(list))
	for i, w := range list {
		out[i] = r.word(w)
	}
	return out
}

// word renders a word and walks the commands in it. Nil is the empty word.
func (r *reader) word(w *syntax.Word) word {
	if w == nil {
		return word{}
	}
	var sb strings.Builder
	var out word
	braces := several(w)
	out.expands, out.loose = braces, braces
	for i, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			if braces {
				out.braces += lit.Value
			}
			literal(&sb, lit.Value, len(w.Parts) == 1, braces)
			continue
		}
		out.expand(p, i == 0, false)
		r.part(&sb, p)
	}
	out.text = sb.String()
	out.blank = strings.ContainsAny(out.text, " \t\n")
	return out
}

// several reports whether braces may make several words of one: {a,b}, {1..9}.
func several(w *syntax.Word) bool {
	open, between := false, false
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			open = open || strings.Contains(lit.Value, "{")
			between = between || strings.Contains(lit.Value, ",") || strings.Contains(lit.Value, "..")
		}
	}
	return open && between
}

// expand notes what a part may become.
func (w *word) expand(p syntax.WordPart, first, quoted bool) {
	switch p := p.(type) {
	case *syntax.ProcSubst:
	case *syntax.SglQuoted:
		w.expands = w.expands || p.Dollar && strings.ContainsRune(p.Value, '\\')
	case *syntax.DblQuoted:
		w.expands = w.expands || p.Dollar
		for i, q := range p.Parts {
			if _, ok := q.(*syntax.Lit); !ok {
				w.expand(q, first && i == 0, true)
			}
		}
	case *syntax.ParamExp:
		name := ""
		if simpleParam(p) {
			name = p.Param.Value
		}
		w.secret = w.secret || paths.SecretVariable(name)
		if name == "HOME" && first {
			w.home = true
			return
		}
		w.pwd = w.pwd || name == "PWD" && first
		w.expands, w.loose = true, w.loose || !quoted || name == "@" || name == ""
	default:
		w.expands, w.loose = true, w.loose || !quoted
	}
}

// part renders one part of a word that is not literal.
func (r *reader) part(sb *strings.Builder, p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.SglQuoted:
		if p.Dollar && strings.ContainsRune(p.Value, '\\') {
			sb.WriteRune(Unknown)
			return
		}
		sb.WriteString(p.Value)
	case *syntax.DblQuoted:
		if p.Dollar {
			sb.WriteRune(Unknown)
		}
		for _, q := range p.Parts {
			if lit, ok := q.(*syntax.Lit); ok {
				sb.WriteString(quoted.Replace(lit.Value))
				continue
			}
			r.part(sb, q)
		}
	case *syntax.CmdSubst:
		sb.WriteRune(Unknown)
		r.stmts(p.Stmts)
	case *syntax.ProcSubst:
		sb.WriteRune(Unknown)
		r.stmts(p.Stmts)
	case *syntax.ParamExp:
		sb.WriteRune(Unknown)
		if !simpleParam(p) {
			r.within(p, "it computes with variables, which can run commands")
		}
	default:
		sb.WriteRune(Unknown)
		r.within(p, "it calculates, which can run commands")
	}
}

// quoted removes the backslashes that escape within double quotes.
var quoted = strings.NewReplacer("\\\\", "\\", "\\\"", "\"", "\\$", "$", "\\`", "`", "\\\n", "")

// simpleParam reports whether an expansion is just the value of a variable: $x, ${x},
// $1, $?.
func simpleParam(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet &&
		p.NestedParam == nil && p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil &&
		p.Names == 0 && p.Exp == nil
}

// literal renders unquoted text; whole: the text is the whole word; braces: those in the
// word make several words. They and globs are unknown. A backslash escapes the next character.
func literal(sb *strings.Builder, text string, whole, braces bool) {
	if braces && strings.ContainsAny(text, "{}") {
		sb.WriteRune(Unknown)
		return
	}
	if whole && text == "[" {
		sb.WriteString(text)
		return
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i < len(text) && text[i] != '\n' {
				sb.WriteByte(text[i])
			}
		case '*', '?', '[':
			sb.WriteRune(Unknown)
		default:
			sb.WriteByte(c)
		}
	}
}
