package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/model"
)

// closesWhatOpens tells whether a closing side that no member has must be there because some member has the opening one.
func (w *weld) closesWhatOpens(p *model.Point) bool {
	o := w.partner(p)
	if o == nil || !p.Reverse {
		return false
	}
	return slices.ContainsFunc(w.c.Members, func(m *model.Member) bool { return m.Has(o.Name) })
}

// pair returns the members that have either side of a bracket, in plan order; closing runs over the same ones backwards.
func (w *weld) pair(p *model.Point) []*model.Member {
	o := w.partner(p)
	var out []*model.Member
	for _, m := range w.c.Members {
		if m.Has(p.Name) || m.Has(o.Name) {
			out = append(out, m)
		}
	}
	if p.Reverse {
		slices.Reverse(out)
	}
	return out
}

// opening writes OnRegisterAgent and OnOpen: in order, and if one fails, those before it are closed in reverse order.
func (w *weld) opening(p *model.Point) {
	members, other := w.pair(p), w.partner(p)
	s := w.bracket(p)
	helper := w.helper(unexported(p.Name))
	w.table(w.global(p.Name), p, members)
	undo := selector(w.recv, w.undoName(other)).Call(append(w.common(p, other), jen.Id("b").Dot("Undo").Call())...)
	body := []jen.Code{
		jen.Id("b").Op(":=").Add(s.make),
		jen.For(jen.Id("b").Dot("Opening").Call()).Block(selector(w.recv, helper).Call(w.pass(s)...)),
	}
	if other.Signature.Results().Len() == 0 {
		body = append(body, jen.If(jen.Id("b").Dot("Err").Call().Op("!=").Nil()).Block(undo))
	} else {
		body = append(body,
			jen.If(jen.Id("b").Dot("Err").Call().Op("==").Nil()).Block(jen.Return(jen.Nil())),
			jen.If(jen.Id("err").Op(":=").Add(undo), jen.Id("err").Op("!=").Nil()).Block(
				jen.Return(jen.Qual("errors", "Join").Call(jen.Id("b").Dot("Err").Call(), jen.Id("err")))))
	}
	w.method(p, w.namesOf(members), append(body, jen.Return(jen.Id("b").Dot("Err").Call()))...)
	w.steps(helper, s, members)
}

func (w *weld) namesOf(members []*model.Member) string {
	out := ""
	for i, m := range members {
		if i > 0 {
			out += ", "
		}
		out += m.Field
	}
	return out
}

// bracket is the shape of one side.
func (w *weld) bracket(p *model.Point) shape {
	table := jen.Id(w.global(p.Name)).Index(jen.Op(":"))
	s := shape{p: p, acc: "b", typ: jen.Qual(compositePath, "Bracket"), done: "Closing"}
	s.make = jen.Qual(compositePath, "NewBracket").Call(pointID(p), table)
	s.step = func(call *jen.Statement) *jen.Statement { return jen.Id("b").Dot("Set").Call(call) }
	if p.Signature.Results().Len() == 0 {
		s.acc, s.typ, s.done, s.step = "f", jen.Qual(compositePath, "Fan"), "Done", nil
		s.make = jen.Qual(compositePath, "NewFan").Call(pointID(p), table)
	}
	return s
}

func (w *weld) undoName(p *model.Point) string { return w.helper(unexported(p.Name) + "From") }

// common are the arguments that both sides of a bracket have.
func (w *weld) common(p, other *model.Point) []jen.Code {
	var out []jen.Code
	for _, n := range paramNames(other.Signature) {
		if slices.Contains(paramNames(p.Signature), n) {
			out = append(out, identifier(n))
		}
	}
	return out
}

// closing writes OnUnregisterAgent and OnClose: all of them, in reverse order, from any position on.
func (w *weld) closing(p *model.Point) {
	members := w.pair(p)
	s := w.bracket(p)
	helper, from := w.helper(unexported(p.Name)), w.undoName(p)
	w.table(w.global(p.Name), p, members)
	all := selector(w.recv, from).Call(append(arguments(p.Signature), jen.Qual(compositePath, "Position").Values())...)
	if p.Signature.Results().Len() > 0 {
		all = jen.Return(all)
	}
	w.method(p, w.namesOf(members), all)

	body := []jen.Code{
		jen.Id(s.acc).Op(":=").Add(s.make),
		jen.Id(s.acc).Dot("Start").Call(jen.Id("from")),
		jen.For(closingCondition(s)).Block(selector(w.recv, helper).Call(w.pass(s)...)),
	}
	if s.step == nil {
		body = append(body, w.report(s))
	} else {
		body = append(body, jen.Return(jen.Id("b").Dot("Err").Call()))
	}
	var params []jen.Code
	for v := range p.Signature.Params().Variables() {
		params = append(params, identifier(v.Name()).Add(w.f.Type(v.Type())))
	}
	fn := w.fn(from).Params(append(params, jen.Id("from").Qual(compositePath, "Position"))...)
	if s.step != nil {
		fn = fn.Error()
	}
	w.f.Add(comment(from+" closes the members from this position on.", fn.Block(body...)))
	// A failure ends nothing: the walk goes on with the next member.
	closing := s
	if s.step != nil {
		closing.step = nil
		closing.wrap = func(call *jen.Statement) *jen.Statement { return jen.Id("b").Dot("Set").Call(call) }
	}
	w.steps(helper, closing, members)
}

func closingCondition(s shape) *jen.Statement {
	if s.done == "Closing" {
		return jen.Id(s.acc).Dot("Closing").Call()
	}
	return jen.Op("!").Id(s.acc).Dot(s.done).Call()
}
