package emit

import (
	"fmt"
	"go/types"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/internal/model"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

const guardPath = "github.com/grapnel-go/grapnel/composite/guard"

const again = "run \"go tool hookgen ./...\" again."

// guards writes declarations that no longer compile when the sources of the composite change. They cost nothing at run time.
func (w *compositeWriter) guards() {
	w.f.Add(comment(w.c.RevName()+" identifies the points and tools of "+w.c.Name+"; composites that it is a member of compile against it.",
		jen.Const().Add(identifier(w.c.RevName())).Op("=").Op(fmt.Sprintf("0x%08x", w.c.Rev))))
	w.f.Add(lines("What "+w.c.Name+" was generated from: its fields with their tags, and below the points that its members have. If one of\n"+
		"these lines does not compile, the code has changed since: "+again).Line().
		Const().Id("_").Op("=").Qual(compositePath, "GenVersion2"))
	defs := []jen.Code{jen.Id("_").Qual(hookPath, "Hook").Op("=").Parens(w.self()).Parens(jen.Nil())}
	if under := w.c.Named.Underlying(); schema.Invalid(under) == nil {
		defs = append(defs, jen.Id("_").Add(w.f.Type(under)).Op("=").Add(identifier(w.c.Name)).Add(typeArguments(w.c.Named.TypeParams())).Values())
	}
	var members []jen.Code
	seen := map[string]bool{}
	for _, m := range w.c.Members {
		if m.Rev != nil {
			defs = append(defs, jen.Id("_").Op("=").Index(jen.Lit(1)).Struct().Values().
				Index(w.f.Qual(m.Rev.Pkg, m.Rev.Name).Op("-").Op(fmt.Sprintf("0x%08x", m.Rev.Value))))
		}
		// The points of a nested composite are not methods of its type: its Rev guards it.
		if name := embeddable(m); m.Kind == model.Direct && m.Nested == nil && name != nil && !seen[types.TypeString(name, nil)] {
			seen[types.TypeString(name, nil)] = true
			members = append(members, w.unchanged(m, name)...)
		}
	}
	members = append(members, w.unwritten()...)
	all := append([]jen.Code{jen.Var().Defs(unique(defs)...)}, members...)
	if params := w.c.Named.TypeParams(); params.Len() > 0 { // what names them stands in a function that has them
		w.f.Add(jen.Func().Id("_").Add(w.f.typeParameters(params)).Params().Block(all...))
		return
	}
	for _, code := range all {
		w.f.Add(code)
	}
}

// embeddable returns the named type that a member is or points to; nil if it has no name.
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

func (w *compositeWriter) unchanged(m *model.Member, t types.Type) []jen.Code {
	return w.marked(m, typeName(t), w.f.Type(t), nil, m.Field+" beside the markers of what it does not have", m.Field+" has other points now")
}

// unwritten asserts which points the author of the composite wrote: others would not be called.
func (w *compositeWriter) unwritten() []jen.Code {
	self := identifier(w.c.Name).Add(typeArguments(w.c.Named.TypeParams()))
	w.f.Import(guardPath, "guard")
	facade := jen.Qual(guardPath, "HasHook").Types(jen.Op("*").Add(self.Clone()))
	return w.marked(w.c.Self, w.c.Name, self, facade, w.c.Name+" beside the markers of the points that its author has not written", "other points of "+w.c.Name+" are written by hand now")
}

// marked asserts that a type has exactly the points of the member. facade, if not nil, stands for the methods of hook.Hook. what
// names the type in the comment; why says what happened if it does not compile.
func (w *compositeWriter) marked(m *model.Member, typ string, embedded, facade *jen.Statement, what, why string) []jen.Code {
	name := w.f.Unique("stale" + w.c.Name + m.Field)
	var out []jen.Code
	if typ == "NotCalled" || w.isPoint(typ) {
		alias := w.f.Unique(name + "Type")
		out = append(out, comment(alias+" has a name that no point has.", jen.Type().Add(identifier(alias)).Op("=").Add(embedded)))
		embedded = identifier(alias)
	}
	w.f.Import(guardPath, "guard")
	parts := []jen.Code{identifier(name)}
	if facade != nil {
		parts = append(parts, facade)
	}
	depth := 0
	for _, p := range w.points {
		if facade != nil && p.Facade {
			continue
		}
		level, lacks := m.Lacks(p)
		if lacks {
			if level > 0 && (depth == 0 || level < depth) {
				depth = level
			}
			continue
		}
		has := jen.Op("*").Add(embedded.Clone())
		if !m.Points[p.Name] { // unknown: the point's own interface has it
			has = jen.Qual(hookPath, p.Name)
		}
		parts = append(parts, jen.Qual(guardPath, "Has"+p.Name).Types(has))
	}
	marker := "NotCalled"
	if depth > 1 {
		marker = fmt.Sprintf("NotCalled%d", min(depth, 3))
	}
	out = append(out, comment(name+" is "+what+"; see [guard.Unchanged].",
		jen.Type().Add(identifier(name)).Struct(jen.Op("*").Add(embedded.Clone()), jen.Qual(guardPath, marker))))
	return append(out, comment("If this does not compile, "+why+": "+again,
		jen.Var().Id("_").Qual(guardPath, "Unchanged").Op("=").Struct(parts...).Values()))
}

func (w *compositeWriter) isPoint(name string) bool {
	for _, p := range w.points {
		if p.Name == name {
			return true
		}
	}
	return false
}
