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

// Manual returns the grammar for people: every directive with its options, from the doc comments of the structs.
func Manual() string {
	file, err := parser.ParseFile(token.NewFileSet(), "grammar.go", grammar, parser.ParseComments)
	if err != nil {
		return ""
	}
	var sb strings.Builder
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, s := range d.Specs {
			spec := s.(*ast.TypeSpec)
			sb.WriteString("//hook:" + strings.ToLower(spec.Name.Name) + "\n" + indent(d.Doc.Text(), "\t"))
			if st, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range st.Fields.List {
					sb.WriteString("\t" + optionName(f) + "\n" + indent(f.Doc.Text(), "\t\t"))
				}
			}
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
