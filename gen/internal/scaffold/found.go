package scaffold

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// Found describes the parts of a subsystem that a package declares, written by hand or by this package.
type Found struct {
	// Type is the place of the subsystem's type; zero if the package does not declare it.
	Type token.Position
	// Missing are the tools without a //hook:tool method.
	Missing []Tool
}

// Find looks for the subsystem in the files of a package, by absolute name. Of a file that does not parse it uses the readable part.
func (s *Subsystem) Find(files map[string][]byte) Found {
	fset := token.NewFileSet()
	found := Found{Missing: slices.Clone(s.Tools)}
	if s.Dynamic {
		found.Missing = nil
	}
	for name, text := range files {
		f, _ := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if f == nil || f.Name.Name != s.Name {
			continue
		}
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == s.Type {
						found.Type = fset.Position(t.Name.Pos())
					}
				}
			case *ast.FuncDecl:
				found.Missing = slices.DeleteFunc(found.Missing, func(t Tool) bool { return s.isTool(d, t) })
			}
		}
	}
	return found
}

// isTool reports whether a method is that tool: by its own name, or by the name option.
func (s *Subsystem) isTool(d *ast.FuncDecl, t Tool) bool {
	if d.Recv == nil || d.Doc == nil || len(d.Recv.List) != 1 || receiverName(d.Recv.List[0].Type) != s.Type {
		return false
	}
	for _, c := range d.Doc.List {
		line, ok := ast.ParseDirective(c.Slash, c.Text)
		if ok && line.Tool == "hook" && line.Name == "tool" {
			return d.Name.Name == t.Method || slices.Contains(strings.Fields(line.Args), "name="+t.Name)
		}
	}
	return false
}

func receiverName(t ast.Expr) string {
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		t = x.X
	case *ast.IndexListExpr:
		t = x.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// HasField reports whether the struct in the file has a field of the package's type, and whether the file declares the struct.
func (in Insertion) HasField(src []byte) (has, declared bool) {
	e := &edit{text: src}
	if e.parse() != nil && e.file == nil {
		return false, false
	}
	st := structOf(e.file, in.Struct)
	if st == nil {
		return false, false
	}
	name, missing := in.qualifier(e.file)
	if missing {
		return false, true
	}
	for _, f := range st.Fields.List {
		if got := typeName(f.Type); got == name+"."+in.Type || name == "." && got == in.Type {
			return true, true
		}
	}
	return false, true
}

// typeName returns p.T for p.T and *p.T, T for T and *T.
func typeName(t ast.Expr) string {
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch x := t.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		if p, ok := x.X.(*ast.Ident); ok {
			return p.Name + "." + x.Sel.Name
		}
	}
	return ""
}

// At returns the tool whose code contains the line of the subsystem's file; false if none does.
func (s *Subsystem) At(text []byte, line int) (Tool, bool) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return Tool{}, false
	}
	for _, decl := range f.Decls {
		if fset.Position(decl.Pos()).Line > line || fset.Position(decl.End()).Line < line {
			continue
		}
		for _, t := range s.Tools {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == t.Method && d.Recv != nil {
					return t, true
				}
			case *ast.GenDecl:
				if spec, ok := d.Specs[0].(*ast.TypeSpec); ok && spec.Name.Name == t.Input {
					return t, true
				}
			}
		}
	}
	return Tool{}, false
}
