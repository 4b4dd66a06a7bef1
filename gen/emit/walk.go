package emit

import (
	"go/types"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/model"
)

// shape is how one rule walks over its members.
type shape struct {
	p *model.Point
	// acc is the variable, typ its type and make the expression that makes it.
	acc  string
	typ  *jen.Statement
	make *jen.Statement
	// step wraps the call of a member into what ends the walk: g.Answer(call), or nil if nothing does.
	step func(call *jen.Statement) *jen.Statement
	// wrap is what becomes of a call that ends nothing; nil for the call itself.
	wrap func(call *jen.Statement) *jen.Statement
	// done is the method that tells whether the walk is over.
	done string
	// value is the parameter that is handed from member to member, or "".
	value string
}

// walk writes gates, folds and fans: a method that owns the state, and one with the switch over the members, which is entered
// again behind a member that panicked.
func (w *weld) walk(p *model.Point) {
	members := w.at(p)
	s := w.shape(p)
	helper := w.helper(unexported(p.Name))
	w.table(w.global(p.Name), p, members)
	body := []jen.Code{
		jen.Id(s.acc).Op(":=").Add(s.make),
		jen.For(jen.Op("!").Id(s.acc).Dot(s.done).Call()).Block(selector(w.recv, helper).Call(w.pass(s)...)),
	}
	if r := w.report(s); r != nil {
		body = append(body, r)
	}
	switch p.Signature.Results().Len() {
	case 2:
		if s.value == "" {
			body = append(body, jen.Return(jen.Id(s.acc).Dot("Decision").Call(), jen.Nil()))
		} else {
			body = append(body, jen.Return(jen.Id(s.acc).Dot("Value"), jen.Id(s.acc).Dot("Err").Call()))
		}
	}
	w.method(p, w.callers(p), body...)
	w.steps(helper, s, members)
}

// shape chooses the accumulator of a point's rule.
func (w *weld) shape(p *model.Point) shape {
	table := jen.Id(w.global(p.Name)).Index(jen.Op(":"))
	s := shape{p: p, done: "Done"}
	switch p.Combine {
	case "gate", "judge", "first":
		d := p.Signature.Results().At(0).Type()
		s.acc, s.typ = "g", jen.Qual(compositePath, "Gate").Types(w.f.Type(d))
		s.make = jen.Qual(compositePath, "NewGate").Types(w.f.Type(d)).Call(pointID(p), table)
		s.step = func(call *jen.Statement) *jen.Statement { return jen.Id("g").Dot("Answer").Call(call) }
	case "fold", "chain":
		t := p.Signature.Results().At(0).Type()
		s.acc, s.typ, s.value = "f", jen.Qual(compositePath, "Fold").Types(w.f.Type(t)), lastParam(p.Signature)
		s.make = jen.Qual(compositePath, "NewFold").Call(pointID(p), table, identifier(s.value))
		s.step = func(call *jen.Statement) *jen.Statement { return jen.Id("f").Dot("Set").Call(call) }
	default:
		s.acc, s.typ = "f", jen.Qual(compositePath, "Fan")
		s.make = jen.Qual(compositePath, "NewFan").Call(pointID(p), table)
	}
	return s
}

func lastParam(sig *types.Signature) string { return sig.Params().At(sig.Params().Len() - 1).Name() }

// table writes the members of a point with their policies.
func (w *weld) table(name string, p *model.Point, members []*model.Member) {
	rows := []jen.Code{}
	for _, m := range members {
		fields := []jen.Code{jen.Id("Path").Op(":").Lit(m.Field)}
		switch m.Tag.At(p.Name).Policy {
		case "failopen":
			fields = append(fields, jen.Id("Policy").Op(":").Qual(compositePath, "PolicyOpen"))
		case "failclosed":
			fields = append(fields, jen.Id("Policy").Op(":").Qual(compositePath, "PolicyClosed"))
		}
		rows = append(rows, jen.Line().Values(fields...))
	}
	rows = append(rows, jen.Line())
	w.f.Add(jen.Var().Id(name).Op("=").Index(jen.Op("...")).Qual(compositePath, "Member").Values(rows...))
}

// pass writes the arguments for the helper: the parameters, without the value that the accumulator has, and the accumulator.
func (w *weld) pass(s shape) []jen.Code {
	var out []jen.Code
	for _, n := range paramNames(s.p.Signature) {
		if n != s.value {
			out = append(out, identifier(n))
		}
	}
	return append(out, jen.Op("&").Id(s.acc))
}

// report emits failures that the result does not carry, to the host of the place.
func (w *weld) report(s shape) jen.Code {
	place := hostParam(s.p.Signature)
	if place == nil {
		return nil
	}
	failed := jen.Id(s.acc).Dot("Failed").Call()
	if _, ok := types.Unalias(place.Type()).(*types.Pointer); ok && s.p.Facade {
		failed = failed.Op("&&").Add(identifier(place.Name())).Op("!=").Nil()
	}
	return jen.If(failed).Block(
		jen.Id(s.acc).Dot("Report").Call(jen.Id("ctx"), selector(place.Name(), "Host").Call()))
}

// hostParam returns the parameter that knows the host.
func hostParam(sig *types.Signature) *types.Var {
	for v := range sig.Params().Variables() {
		obj, _, _ := types.LookupFieldOrMethod(v.Type(), true, nil, "Host")
		if f, ok := obj.(*types.Func); ok && f.Signature().Params().Len() == 0 && f.Signature().Results().Len() == 1 {
			return v
		}
	}
	return nil
}

// steps writes the method with the switch.
func (w *weld) steps(name string, s shape, members []*model.Member) {
	var params []jen.Code
	for v := range s.p.Signature.Params().Variables() {
		if v.Name() != s.value {
			params = append(params, identifier(v.Name()).Add(w.f.Type(v.Type())))
		}
	}
	params = append(params, jen.Id(s.acc).Op("*").Add(s.typ))
	var cases []jen.Code
	for i, m := range members {
		code := w.step(s, m, i)
		if i < len(members)-1 {
			code = append(code, jen.Fallthrough())
		}
		cases = append(cases, jen.Case(jen.Lit(i)).Block(code...))
	}
	w.f.Add(w.fn(name).Params(params...).Block(
		jen.Defer().Id(s.acc).Dot("Recover").Call(),
		jen.Switch(jen.Id(s.acc).Dot("At")).Block(cases...),
	))
}

// step writes the call of one member.
func (w *weld) step(s shape, m *model.Member, i int) []jen.Code {
	next := jen.Id(s.acc).Dot("At").Op("=").Lit(i + 1)
	switch {
	case m.Kind == model.Group:
		return []jen.Code{w.eachOf(s, m)}
	case !m.Has(s.p.Name):
		return []jen.Code{next}
	case m.Kind == model.Interface && !s.p.Facade:
		return []jen.Code{next, w.asserted(s, w.field(m))}
	}
	var guard *jen.Statement
	if m.Optional() {
		guard = w.field(m).Op("!=").Nil()
	}
	return []jen.Code{next, ended(s, guard, w.call(s, w.field(m)))}
}

// call writes the call of a member.
func (w *weld) call(s shape, member *jen.Statement) *jen.Statement {
	var args []jen.Code
	for _, n := range paramNames(s.p.Signature) {
		if n == s.value {
			args = append(args, jen.Id(s.acc).Dot("Value"))
			continue
		}
		args = append(args, identifier(n))
	}
	return jen.Add(member).Dot(s.p.Name).Call(args...)
}

// wrapped writes what becomes of a call that ends nothing.
func wrapped(s shape, call *jen.Statement) *jen.Statement {
	if s.wrap == nil {
		return call
	}
	return s.wrap(call)
}

// ended writes the call behind a guard; if its answer ends the walk, the method returns.
func ended(s shape, guard, call *jen.Statement) jen.Code {
	if s.step == nil {
		if guard == nil {
			return wrapped(s, call)
		}
		return jen.If(guard).Block(wrapped(s, call))
	}
	cond := s.step(call)
	if guard != nil {
		cond = guard.Op("&&").Add(cond)
	}
	return jen.If(cond).Block(jen.Return())
}

// asserted writes the call of a hook whose type is known only at run time.
func (w *weld) asserted(s shape, hook *jen.Statement) jen.Code {
	init := jen.List(jen.Id("m"), jen.Id("ok")).Op(":=").Add(hook).Assert(jen.Qual(hookPath, s.p.Name))
	if s.step == nil {
		return jen.If(init, jen.Id("ok")).Block(wrapped(s, w.call(s, jen.Id("m"))))
	}
	return jen.If(init, jen.Id("ok").Op("&&").Add(s.step(w.call(s, jen.Id("m"))))).Block(jen.Return())
}

// eachOf writes the walk over a group.
func (w *weld) eachOf(s shape, m *model.Member) jen.Code {
	next := "Next"
	if s.p.Reverse {
		next = "NextReverse"
	}
	advance := func() *jen.Statement { return jen.Id(s.acc).Dot(next).Call(jen.Len(w.field(m))) }
	element := w.field(m).Index(jen.Id("i"))
	body := w.asserted(s, element)
	if s.p.Facade {
		init := jen.Id("m").Op(":=").Add(element)
		cond := jen.Id("m").Op("!=").Nil()
		call := w.call(s, jen.Id("m"))
		if s.step == nil {
			body = jen.If(init, cond).Block(wrapped(s, call))
		} else {
			body = jen.If(init, cond.Op("&&").Add(s.step(call))).Block(jen.Return())
		}
	}
	return jen.For(
		jen.List(jen.Id("i"), jen.Id("ok")).Op(":=").Add(advance()), jen.Id("ok"),
		jen.List(jen.Id("i"), jen.Id("ok")).Op("=").Add(advance()),
	).Block(body)
}

// partner returns the point that closes what p opens, or the other way round.
func (w *weld) partner(p *model.Point) *model.Point {
	other := map[string]string{"register": "unregister", "unregister": "register", "open": "close", "close": "open"}[p.Combine]
	i := slices.IndexFunc(w.points, func(o *model.Point) bool { return o.Combine == other })
	if other == "" || i < 0 {
		return nil
	}
	return w.points[i]
}
