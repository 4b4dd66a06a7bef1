package directive

import (
	_ "embed" // the grammar's source is its manual
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

//go:embed grammar.go
var grammar string

// Doc is the manual of one directive.
type Doc struct {
	Verb string
	// Text is the doc comment of its struct.
	Text string
	// Places are the declarations that it may stand above; nil is all.
	Places  []Place
	Options []OptionDoc
}

// OptionDoc is the manual of one option: "timeout=" takes a value, NAMES stands for words of the author.
type OptionDoc struct{ Name, Text string }

// Docs returns all directives with their options, from the doc comments of the structs.
func Docs() []Doc {
	file, err := parser.ParseFile(token.NewFileSet(), "grammar.go", grammar, parser.ParseComments)
	if err != nil {
		return nil // the compiler has read it
	}
	var docs []Doc
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, s := range d.Specs {
			spec := s.(*ast.TypeSpec)
			doc := Doc{Verb: strings.ToLower(spec.Name.Name), Text: strings.TrimSpace(d.Doc.Text())}
			if v, ok := verbOf(doc.Verb); ok {
				doc.Places = v.places
			}
			if st, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range st.Fields.List {
					doc.Options = append(doc.Options, OptionDoc{optionName(f), strings.TrimSpace(f.Doc.Text())})
				}
			}
			docs = append(docs, doc)
		}
	}
	return docs
}

// Manual returns the grammar for people who read it in a terminal.
func Manual() string {
	var sb strings.Builder
	for _, d := range Docs() {
		sb.WriteString("//hook:" + d.Verb + "\n" + indent(d.Text, "\t"))
		for _, o := range d.Options {
			sb.WriteString("\t" + o.Name + "\n" + indent(o.Text, "\t\t"))
		}
	}
	return sb.String()
}

func optionName(f *ast.Field) string {
	_, rest, _ := strings.Cut(f.Tag.Value, `option:"`)
	name, _, _ := strings.Cut(rest, `"`)
	if strings.HasPrefix(name, "…") {
		name = strings.ToUpper(f.Names[0].Name)
	} else if t, ok := f.Type.(*ast.Ident); !ok || t.Name != "bool" {
		name += "="
	}
	return name
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
}
