package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/model"
)

// members writes Members: what walks a composite finds its hooks by it.
func (w *weld) members() {
	if w.has("Members") {
		return
	}
	yields := func() *jen.Statement {
		return jen.Func().Params(jen.String(), jen.Qual(hookPath, "Hook")).Bool()
	}
	var body []jen.Code
	for _, m := range w.c.Members {
		body = append(body, w.yield(m))
	}
	f := jen.Func().Params(jen.Id("yield").Add(yields())).Block(body...)
	w.f.Add(comment("Members yields the members that are not nil, in execution order, each with its name in paths.",
		w.fn("Members").Params().Qual("iter", "Seq2").Types(jen.String(), jen.Qual(hookPath, "Hook")).Block(jen.Return(f))))
}

// yield writes the part of one member.
func (w *weld) yield(m *model.Member) jen.Code {
	stops := func(name, member *jen.Statement, nilable bool) jen.Code {
		cond := jen.Op("!").Id("yield").Call(name, member)
		if nilable {
			cond = member.Clone().Op("!=").Nil().Op("&&").Add(cond)
		}
		return jen.If(cond).Block(jen.Return())
	}
	switch {
	case m.Kind == model.Group:
		name := jen.Lit(m.Field+"[").Op("+").Qual("strconv", "Itoa").Call(jen.Id("i")).Op("+").Lit("]")
		return jen.For(jen.List(jen.Id("i"), jen.Id("m")).Op(":=").Range().Add(w.field(m))).Block(stops(name, jen.Id("m"), true))
	case m.Nilable:
		return stops(jen.Lit(m.Field), w.field(m), true)
	default:
		return stops(jen.Lit(m.Field), jen.Op("&").Add(w.field(m)), false)
	}
}
