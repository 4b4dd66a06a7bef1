package model

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

func (m *Model) invalid(cause diag.Cause, pos token.Pos, subject, method string) {
	m.addOnce(diag.New(cause, m.Position(pos), subject).Of(method))
}

// explain adds to a problem the type checker's errors in its line, or else in the imports of its file.
func (m *Model) explain(p *diag.Problem) {
	var imports []diag.Note
	onlyUndeclared := true
	for _, path := range slices.Sorted(maps.Keys(m.packages)) {
		pkg := m.packages[path]
		for _, e := range pkg.Errors {
			where := m.Position(e.Pos)
			if where.Filename != p.Pos.Filename {
				continue
			}
			note := diag.Note{Pos: where, Message: e.Msg}
			name, scope := undeclaredAt(pkg, e.Pos)
			switch {
			case where.Line == p.Pos.Line:
				p.Notes = append(p.Notes, note)
				onlyUndeclared = onlyUndeclared && name != ""
				if near := nearName(name, scope, pkg.Types); near != "" && p.Remedy == "" {
					p.Remedy = diag.MeantName(near)
				}
			case isImport(pkg, e.Pos):
				imports = append(imports, note)
			}
		}
	}
	if p.Remedy != "" || !onlyUndeclared {
		return
	}
	p.Notes = append(p.Notes, imports...)
	if imports != nil {
		p.Remedy = diag.MendImport
	}
}

func isImport(p *Package, pos token.Pos) bool {
	for _, f := range p.Files {
		for _, s := range f.Imports {
			if s.Pos() <= pos && pos < s.End() {
				return true
			}
		}
	}
	return false
}

// undeclaredAt returns the undeclared name at a place and the package that should declare it: p itself, or the imported one.
func undeclaredAt(p *Package, pos token.Pos) (name string, scope *types.Package) {
	for _, f := range p.Files {
		if pos < f.FileStart || f.FileEnd <= pos {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && n.Sel.Pos() == pos && p.Info.Uses[n.Sel] == nil {
					if imported, ok := p.Info.Uses[x].(*types.PkgName); ok {
						name, scope = n.Sel.Name, imported.Imported()
					}
					return false
				}
			case *ast.Ident:
				if n.Pos() == pos && p.Info.Uses[n] == nil && p.Info.Defs[n] == nil {
					name, scope = n.Name, p.Types
				}
			}
			return true
		})
	}
	return name, scope
}

// nearName returns the declared name that is closest to name, qualified if scope is not from; "" if none is close.
func nearName(name string, scope, from *types.Package) string {
	if name == "" || scope == nil {
		return ""
	}
	names, prefix := scope.Scope().Names(), ""
	if scope != from {
		prefix = scope.Name() + "."
		names = slices.DeleteFunc(names, func(name string) bool { return !token.IsExported(name) })
	}
	if near := diag.Closest(name, names); near != "" {
		return prefix + near
	}
	return ""
}

// invalidEmbedded reports embedded fields that do not type-check, because their methods are unknown.
func (m *Model) invalidEmbedded(t types.Type) {
	st, ok := pointee(t).Underlying().(*types.Struct)
	if !ok {
		return
	}
	for f := range st.Fields() {
		switch {
		case !f.Embedded():
		case schema.Invalid(f.Type()) != nil:
			m.invalid(diag.InvalidEmbedded, f.Pos(), f.Name(), "")
		default:
			m.invalidEmbedded(f.Type())
		}
	}
}

// ofC reports whether a field has a type of package C, which only cgo knows.
func (m *Model) ofC(c *Composite, v *types.Var) bool {
	st, ok := c.Spec.Type.(*ast.StructType)
	if !ok {
		return false
	}
	found := false
	for _, f := range st.Fields.List {
		if v.Pos() < f.Pos() || v.Pos() >= f.End() {
			continue
		}
		ast.Inspect(f.Type, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				pkg, ok := sel.X.(*ast.Ident)
				found = found || ok && pkg.Name == "C"
			}
			return !found
		})
	}
	return found
}
