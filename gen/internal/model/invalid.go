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

// invalid reports something whose type does not type-check.
func (m *Model) invalid(cause diag.Cause, pos token.Pos, subject, method string) {
	m.once(diag.New(cause, m.Position(pos), subject).Of(method))
}

// explain gives a problem of a type that does not type-check what the checker says: about the line of the problem, else about the
// imports of the file.
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

// isImport tells whether an import declaration stands at a place.
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

// undeclaredAt returns the name at a place if nothing declares it, and the package that should: p itself, or the imported one, which
// is nil if it could not be imported.
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

// nearName returns the name that a package declares and that a name was probably meant to be, with the package in front where it is
// another one; "" if none is near.
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

// invalidEmbedded reports embedded fields whose types are not valid: which methods they lend is not known.
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

// ofC tells whether the type of a field is one of C's, which only cgo knows: it is no hook.
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
