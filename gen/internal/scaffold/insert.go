package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// Insertion is a field to add to a struct.
type Insertion struct {
	// Struct is the name of the struct type.
	Struct string
	// Field is the name of the field.
	Field string
	// Path is the import path of the package of the field's type, Package its name, Type the name of the type.
	Path, Package, Type string
	// Taken reports whether a declaration of the package has the name, so that the import cannot have it.
	Taken func(name string) bool
}

// ErrNoStruct: the file does not declare the struct.
var ErrNoStruct = errors.New("the file does not declare the struct")

// Line returns the line to add by hand, with the package under its own name.
func (in Insertion) Line() string {
	return fmt.Sprintf("%s *%s.%s", in.Field, in.Package, in.Type)
}

// Insert adds the field after the last one that is no slice, and the import if it is missing. It changes nothing else; a formatted
// file stays formatted. The file is parsed, not checked. The error of a file without the struct is [ErrNoStruct].
func (in Insertion) Insert(src []byte) ([]byte, error) {
	plain := bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	windows := len(plain) != len(src)
	if windows && bytes.Count(src, []byte("\n")) != bytes.Count(src, []byte("\r\n")) {
		return nil, errors.New("its lines end in two ways")
	}
	e := &edit{text: plain}
	if err := e.parse(); err != nil {
		return nil, err
	}
	formatted := isFormatted(plain)
	name, missing := in.qualifier(e.file)
	if err := e.field(in, name, formatted); err != nil {
		return nil, err
	}
	if missing {
		if err := e.parse(); err != nil {
			return nil, err
		}
		e.addImport(in, name)
		if formatted && !isFormatted(e.text) {
			return nil, errors.New("its imports are in an order that the formatter would change")
		}
	}
	if windows {
		e.text = bytes.ReplaceAll(e.text, []byte("\n"), []byte("\r\n"))
	}
	return e.text, nil
}

func isFormatted(text []byte) bool {
	out, err := format.Source(text)
	return err == nil && bytes.Equal(out, text)
}

// edit is a text with insertions.
type edit struct {
	text []byte
	fset *token.FileSet
	file *ast.File
}

func (e *edit) parse() error {
	e.fset = token.NewFileSet()
	f, err := parser.ParseFile(e.fset, "", e.text, parser.ParseComments|parser.SkipObjectResolution)
	e.file = f
	return err
}

func (e *edit) offset(pos token.Pos) int { return e.fset.PositionFor(pos, false).Offset }

func (e *edit) insert(at int, what string) []byte {
	return append(append(bytes.Clone(e.text[:at]), what...), e.text[at:]...)
}

func (e *edit) lineEnd(at int) int {
	if i := bytes.IndexByte(e.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(e.text)
}

func (e *edit) field(in Insertion, qualifier string, formatted bool) error {
	st := structOf(e.file, in.Struct)
	if st == nil {
		return ErrNoStruct
	}
	line := in.Field + " *" + in.Type
	if qualifier != "." {
		line = in.Field + " *" + qualifier + "." + in.Type
	}
	open, closing := e.offset(st.Fields.Opening)+1, e.offset(st.Fields.Closing)
	if !bytes.Contains(e.text[open:closing], []byte("\n")) {
		return e.oneLine(e.offset(st.Struct)+len("struct"), open, closing, line, formatted)
	}
	at, err := e.fieldEnd(st, open, closing)
	if err != nil {
		return err
	}
	if !formatted {
		e.text = e.insert(at, "\n\t"+line)
		return nil
	}
	// A longer name would realign its neighbours, so the field stands apart.
	for _, lines := range []string{"\n\t" + line, "\n\n\t" + line, "\n\n\t" + line + "\n"} {
		if text, ok := e.added(at, lines); ok {
			e.text = text
			return nil
		}
	}
	return errors.New("the formatter would move other fields")
}

// fieldEnd returns the end of the line after which the field goes: that of the last field that is no slice, because hooks given at
// run time come last; else that of the last field.
func (e *edit) fieldEnd(st *ast.StructType, open, closing int) (int, error) {
	list := slices.Clone(st.Fields.List)
	for n := len(list); n > 1 && isList(list[n-1]); n-- {
		list = list[:n-1]
	}
	if len(list) == 0 {
		at := e.lineEnd(open)
		if bytes.Contains(e.text[open:at], []byte("/*")) {
			return 0, errors.New("something follows its brace in the same line")
		}
		return at, nil
	}
	last := list[len(list)-1]
	at := e.offset(last.End())
	if last.Comment != nil {
		at = e.offset(last.Comment.End())
	}
	if at = e.lineEnd(at); at > closing {
		return 0, errors.New("something follows its last field in the same line")
	}
	return at, nil
}

func isList(f *ast.Field) bool {
	_, ok := f.Type.(*ast.ArrayType)
	return ok
}

// added inserts lines, and formats if that changes only those lines.
func (e *edit) added(at int, lines string) ([]byte, bool) {
	text, err := format.Source(e.insert(at, lines))
	if err != nil {
		return nil, false
	}
	rest := len(e.text) - at
	same := bytes.HasPrefix(text, e.text[:at]) && bytes.HasSuffix(text, e.text[at:]) && len(text) > at+rest
	return text, same && strings.Count(string(text), "\n") == strings.Count(string(e.text), "\n")+strings.Count(lines, "\n")
}

// oneLine splits a struct that is written on one line; word is the end of the keyword struct.
func (e *edit) oneLine(word, open, closing int, line string, formatted bool) error {
	fields := strings.TrimSpace(string(e.text[open:closing]))
	switch {
	case strings.Contains(fields, "/*"):
		return errors.New("there is a comment in its one line")
	case strings.ContainsAny(fields, "{`\"") && strings.Contains(fields, ";"):
		return errors.New("it has several fields in one line")
	}
	body := " {\n"
	for f := range strings.SplitSeq(fields, ";") {
		if f = strings.TrimSpace(f); f != "" {
			body += "\t" + f + "\n"
		}
	}
	body += "\t" + line + "\n"
	text := append(append(bytes.Clone(e.text[:word]), body...), e.text[closing:]...)
	if formatted {
		var err error
		if text, err = format.Source(text); err != nil {
			return err
		}
		if !bytes.HasPrefix(text, e.text[:word]) || !bytes.HasSuffix(text, e.text[closing:]) {
			return errors.New("the formatter would change other lines")
		}
	}
	e.text = text
	return nil
}

// structOf returns the struct type of a name, or nil. It finds generic types and types in groups too.
func structOf(f *ast.File, name string) *ast.StructType {
	for _, decl := range f.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == name {
				st, _ := t.Type.(*ast.StructType)
				return st
			}
		}
	}
	return nil
}
