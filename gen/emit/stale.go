package emit

import (
	"fmt"
	"go/types"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/model"
)

// guards writes what the composite was generated from, in a form that does not compile once it is something else. None of it is
// there at run time.
func (w *weld) guards() {
	w.f.Add(comment(w.c.RevName()+" identifies the points and tools of "+w.c.Name+"; composites that it is a member of compile against it.",
		jen.Const().Add(identifier(w.c.RevName())).Op("=").Op(fmt.Sprintf("0x%08x", w.c.Rev))))
	w.f.Add(lines("What "+w.c.Name+" was generated from: its fields with their tags, what its members have, and below what they do not\n"+
		"have. If one of these lines does not compile, the code has changed since: run \"go tool hookgen ./...\" again.").Line().
		Const().Id("_").Op("=").Qual(compositePath, "GenVersion1"))
	defs := []jen.Code{jen.Id("_").Qual(hookPath, "Hook").Op("=").Parens(w.self()).Parens(jen.Nil())}
	if under := w.c.Named.Underlying(); model.Valid(under) {
		defs = append(defs, jen.Id("_").Add(w.f.Type(under)).Op("=").Add(identifier(w.c.Name)).Add(typeArguments(w.c.Named.TypeParams())).Values())
	}
	var missing []jen.Code
	seen := map[string]bool{}
	for _, m := range w.c.Members {
		if m.Rev != nil {
			defs = append(defs, jen.Id("_").Op("=").Index(jen.Lit(1)).Struct().Values().
				Index(w.f.Qual(m.Rev.Pkg, m.Rev.Name).Op("-").Op(fmt.Sprintf("0x%08x", m.Rev.Value))))
		}
		if name := embeddable(m); m.Kind == model.Direct && name != nil && !seen[types.TypeString(name, nil)] {
			seen[types.TypeString(name, nil)] = true
			defs = append(defs, w.implements(m, name)...)
			missing = append(missing, w.uncalled(m, name)...)
		}
	}
	all := append([]jen.Code{jen.Var().Defs(unique(defs)...)}, missing...)
	if params := w.c.Named.TypeParams(); params.Len() > 0 { // what names them stands in a function that has them
		w.f.Add(jen.Func().Id("_").Add(w.f.typeParameters(params)).Params().Block(all...))
		return
	}
	for _, code := range all {
		w.f.Add(code)
	}
}

// implements writes that a member has what the code below calls. What a nested composite has is guarded by its Rev.
func (w *weld) implements(m *model.Member, t types.Type) []jen.Code {
	is := func(pkg, name string) jen.Code {
		return jen.Id("_").Qual(pkg, name).Op("=").Parens(jen.Op("*").Add(w.f.Type(t))).Parens(jen.Nil())
	}
	out := []jen.Code{is(hookPath, "Hook")}
	for _, p := range w.points {
		if !p.Facade && m.Points[p.Name] && m.Nested == nil {
			out = append(out, is(p.Pkg, p.Name))
		}
	}
	return out
}

// embeddable returns the named type that a member has or points to, nil if it has no name.
func embeddable(m *model.Member) types.Type {
	t := m.Type
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if typeName(t) == "" {
		return nil
	}
	return t
}

func typeName(t types.Type) string {
	switch t := t.(type) {
	case *types.Alias:
		return t.Obj().Name()
	case *types.Named:
		return t.Obj().Name()
	}
	return ""
}

// uncalled writes the type and the selectors that tell when a member gains a point.
func (w *weld) uncalled(m *model.Member, t types.Type) []jen.Code {
	var points []*model.Point
	depth := 0
	for _, p := range w.points {
		level, ok := m.Lacks(p)
		if !ok {
			continue
		}
		points = append(points, p)
		if level > 0 && (depth == 0 || level < depth) {
			depth = level
		}
	}
	if len(points) == 0 {
		return nil
	}
	guard := w.f.Unique("stale" + w.c.Name + m.Field)
	embedded := w.f.Type(t)
	var out []jen.Code
	if name := typeName(t); name == "NotCalled" || w.isPoint(name) {
		alias := w.f.Unique(guard + "Type")
		out = append(out, comment(alias+" has a name that no point has.", jen.Type().Add(identifier(alias)).Op("=").Add(embedded)))
		embedded = identifier(alias)
	}
	marker := "NotCalled"
	if depth > 1 {
		marker = fmt.Sprintf("NotCalled%d", min(depth, 3))
	}
	out = append(out, comment(guard+" is "+m.Field+" beside markers of all points; see [composite.NotCalled].",
		jen.Type().Add(identifier(guard)).Struct(jen.Op("*").Add(embedded), jen.Qual(compositePath, marker))))
	var defs []jen.Code
	for _, p := range points {
		defs = append(defs, jen.Id("_").Func().Params(identifier(guard)).Qual(compositePath, "Stale").Op("=").
			Add(identifier(guard)).Dot(p.Name))
	}
	return append(out, lines("What "+m.Field+" does not have, so that the code below does not call it. If one of these lines does not compile,\n"+
		m.Field+" has it now: run \"go tool hookgen ./...\" again.").Line().Var().Defs(defs...))
}

func (w *weld) isPoint(name string) bool {
	for _, p := range w.points {
		if p.Name == name {
			return true
		}
	}
	return false
}
