package model

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/diag"
)

// invalidIn returns the invalid type that t is made of, or nil. It does not look into the definitions of named types: only what
// is written here must be valid.
func invalidIn(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.Invalid {
			return t
		}
	case *types.Pointer:
		return invalidIn(t.Elem())
	case *types.Slice:
		return invalidIn(t.Elem())
	case *types.Array:
		return invalidIn(t.Elem())
	case *types.Map:
		return firstOf(invalidIn(t.Key()), invalidIn(t.Elem()))
	case *types.Chan:
		return invalidIn(t.Elem())
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if bad := invalidIn(arg); bad != nil {
				return bad
			}
		}
	case *types.Signature:
		return firstOf(invalidInAll(t.Params()), invalidInAll(t.Results()))
	case *types.Struct:
		for f := range t.Fields() {
			if bad := invalidIn(f.Type()); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func invalidInAll(vars *types.Tuple) types.Type {
	for v := range vars.Variables() {
		if bad := invalidIn(v.Type()); bad != nil {
			return bad
		}
	}
	return nil
}

func firstOf(a, b types.Type) types.Type {
	if a != nil {
		return a
	}
	return b
}

// invalid reports something that does not type-check.
func (m *Model) invalid(pos token.Pos, what string, _ types.Type) {
	m.once(diag.Problem{Code: "HG010", Pos: m.Position(pos), Message: what + " has a type that is not valid"})
}

// reasons are what the checker says about the line of a place, else about the imports of the file, and what may have been meant.
func (m *Model) reasons(at token.Position) (notes []diag.Note, fix string) {
	var imports []diag.Note
	for _, path := range slices.Sorted(maps.Keys(m.packages)) {
		p := m.packages[path]
		for _, e := range p.Errors {
			where := m.Position(e.Pos)
			switch {
			case where.Filename != at.Filename:
			case where.Line == at.Line:
				notes = append(notes, diag.Note{Pos: where, Message: e.Msg})
				if fix == "" {
					fix = nameMeant(p.Types, e.Msg)
				}
			case strings.HasPrefix(e.Msg, "could not import"):
				imports = append(imports, diag.Note{Pos: where, Message: e.Msg})
			}
		}
	}
	if fix == "" && !slices.ContainsFunc(notes, func(n diag.Note) bool { return !strings.HasPrefix(n.Message, "undefined: ") }) {
		if imports != nil {
			fix = "mend the import, or add the module that has it:  go get …"
		}
		return append(notes, imports...), fix
	}
	return notes, fix
}

var undefined = regexp.MustCompile(`^undefined: (?:(\w+)\.)?(\w+)$`)

// nameMeant suggests a name for one that the checker does not know; "" if none is near.
func nameMeant(pkg *types.Package, message string) string {
	found := undefined.FindStringSubmatch(message)
	if found == nil || pkg == nil {
		return ""
	}
	prefix, names := "", pkg.Scope().Names()
	if found[1] != "" {
		i := slices.IndexFunc(pkg.Imports(), func(p *types.Package) bool { return p.Name() == found[1] })
		if i < 0 {
			return ""
		}
		prefix, names = found[1]+".", pkg.Imports()[i].Scope().Names()
		names = slices.DeleteFunc(names, func(name string) bool { return !token.IsExported(name) })
	}
	if near := diag.Closest(found[2], names); near != "" {
		return "did you mean " + prefix + near + "?"
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
		switch bad := invalidIn(f.Type()); {
		case !f.Embedded():
		case bad != nil:
			m.invalid(f.Pos(), "embedded field "+f.Name(), bad)
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
