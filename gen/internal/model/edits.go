package model

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// This file makes the edits that -fix applies. Each function returns nil if a person has to decide.

func (m *Model) edit(from, to token.Pos, text string) []diag.Edit {
	return []diag.Edit{{Pos: m.Position(from), End: m.Position(to), Text: text}}
}

// fixWord replaces a word in the tag of a field if it occurs there once.
func (m *Model) fixWord(c *Composite, field token.Pos, word, want string) []diag.Edit {
	tag := tagOf(c, field)
	if tag == nil || word == "" || want == "" {
		return nil
	}
	at := regexp.MustCompile(`\b`+regexp.QuoteMeta(word)+`\b`).FindAllStringIndex(tag.Value, 2)
	if len(at) != 1 {
		return nil
	}
	return m.edit(tag.Pos()+token.Pos(at[0][0]), tag.Pos()+token.Pos(at[0][1]), want)
}

// fixName renames a method to the point, if its signature fits and the package does not call it.
func (m *Model) fixName(f *types.Func, p *Point) []diag.Edit {
	pkg, _, decl := m.declaration(f)
	if decl == nil || !types.Identical(f.Signature(), p.Signature) {
		return nil
	}
	for _, file := range pkg.Files {
		called := false
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			called = called || ok && s.Sel.Name == f.Name()
			return !called
		})
		if called {
			return nil
		}
	}
	return m.edit(decl.Name.Pos(), decl.Name.End(), p.Name)
}

// declaration returns the declaration of a method; nil if its source was not read.
func (m *Model) declaration(f *types.Func) (*Package, *ast.File, *ast.FuncDecl) {
	if f.Pkg() == nil {
		return nil, nil, nil
	}
	p := m.packages[f.Pkg().Path()]
	if p == nil {
		return nil, nil, nil
	}
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok && decl.Name.Pos() == f.Pos() {
				return p, file, decl
			}
		}
	}
	return nil, nil, nil
}

// fixSignature gives a method the parameters of a point and keeps the names of those that it has. It returns nil if the body uses a
// parameter that the point does not have, if the results differ, or if the file does not import a package of the types.
func (m *Model) fixSignature(f *types.Func, want *types.Signature) []diag.Edit {
	_, file, decl := m.declaration(f)
	have := f.Signature()
	if decl == nil || !sameTypes(have.Results(), want.Results()) {
		return nil
	}
	names, ok := keepNames(decl, have.Params(), want.Params())
	if !ok {
		return nil
	}
	imported := importNames(file)
	var params []string
	for i, name := range names {
		missing := false
		text := types.TypeString(want.Params().At(i).Type(), func(p *types.Package) string {
			local, known := imported[p.Path()]
			missing = missing || !known && p != f.Pkg()
			return local
		})
		if missing {
			return nil
		}
		params = append(params, name+" "+text)
	}
	return m.edit(decl.Type.Params.Opening, decl.Type.Params.Closing+1, "("+strings.Join(params, ", ")+")")
}

// fixPointer makes an embedded pointer a value, if the package neither sets nor compares it.
func (m *Model) fixPointer(v *types.Var) []diag.Edit {
	if v.Pkg() == nil || m.packages[v.Pkg().Path()] == nil {
		return nil
	}
	var edits []diag.Edit
	used := false
	for _, file := range m.packages[v.Pkg().Path()].Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				if star, ok := n.Type.(*ast.StarExpr); ok && star.Pos() <= v.Pos() && v.Pos() < star.End() {
					edits = m.edit(star.Star, star.X.Pos(), "")
				}
			case *ast.SelectorExpr:
				pkg, _ := n.X.(*ast.Ident)
				used = used || n.Sel.Name == v.Name() && (pkg == nil || importNames(file)[m.hookPkg.Path()] != pkg.Name)
			case *ast.KeyValueExpr:
				key, ok := n.Key.(*ast.Ident)
				used = used || ok && key.Name == v.Name()
			}
			return true
		})
	}
	if used {
		return nil
	}
	return edits
}

func sameTypes(a, b *types.Tuple) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !types.Identical(a.At(i).Type(), b.At(i).Type()) {
			return false
		}
	}
	return true
}

// keepNames returns a name for every wanted parameter: that of the first unused one of its type, else _. ok is false if the body
// uses a parameter that would disappear.
func keepNames(decl *ast.FuncDecl, have, want *types.Tuple) (names []string, ok bool) {
	placed := map[int]bool{}
	for w := range want.Variables() {
		name := "_"
		for i := range have.Len() {
			if !placed[i] && have.At(i).Name() != "" && types.Identical(have.At(i).Type(), w.Type()) {
				name, placed[i] = have.At(i).Name(), true
				break
			}
		}
		names = append(names, name)
	}
	for i := range have.Len() {
		if !placed[i] && decl.Body != nil && mentions(decl.Body, have.At(i).Name()) {
			return nil, false
		}
	}
	return names, true
}

func mentions(body *ast.BlockStmt, name string) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// importNames maps the import paths of a file to their local names; without a name in the source it is the last element of the
// path.
func importNames(file *ast.File) map[string]string {
	out := map[string]string{}
	for _, s := range file.Imports {
		path, err := strconv.Unquote(s.Path.Value)
		switch {
		case err != nil:
		case s.Name == nil:
			out[path] = path[strings.LastIndexByte(path, '/')+1:]
		case s.Name.Name != "_" && s.Name.Name != ".":
			out[path] = s.Name.Name
		}
	}
	return out
}
