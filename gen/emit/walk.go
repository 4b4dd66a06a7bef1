package emit

import (
	"go/types"
	"slices"
	"time"

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
	switch {
	case p.Combine == "collect":
		if slices.ContainsFunc(members, func(m *model.Member) bool { return parallel(s, m) }) {
			body = slices.Insert(body, 2, jen.Code(jen.Id(s.acc).Dot("Wait").Call()))
		}
		body = append(body, jen.Return(jen.Id(s.acc).Dot("Contributed").Call()))
	case p.Signature.Results().Len() == 2:
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
	case "collect":
		t := p.Signature.Results().At(0).Type().Underlying().(*types.Slice).Elem()
		s.acc, s.typ = "all", jen.Qual(compositePath, "Collect").Types(w.f.Type(t))
		s.make = jen.Qual(compositePath, "NewCollect").Types(w.f.Type(t)).Call(pointID(p), table)
		s.step = func(call *jen.Statement) *jen.Statement { return jen.Id("all").Dot("Add").Call(call) }
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
		rows = append(rows, jen.Line().Values(asMember(m, p)...))
	}
	rows = append(rows, jen.Line())
	w.f.Add(jen.Var().Id(name).Op("=").Index(jen.Op("...")).Qual(compositePath, "Member").Values(rows...))
}

// asMember writes the member as the point sees it.
func asMember(m *model.Member, p *model.Point) []jen.Code {
	fields := []jen.Code{jen.Id("Path").Op(":").Lit(m.Field)}
	use := m.Tag.At(p.Name)
	switch use.Policy {
	case "failopen":
		fields = append(fields, jen.Id("Policy").Op(":").Qual(compositePath, "PolicyOpen"))
	case "failclosed":
		fields = append(fields, jen.Id("Policy").Op(":").Qual(compositePath, "PolicyClosed"))
	}
	if use.Timeout != 0 {
		fields = append(fields, jen.Id("Timeout").Op(":").Add(duration(time.Duration(use.Timeout))))
	}
	return fields
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
	if parallel(s, m) {
		s.step = nil // it is only started
	}
	next := jen.Id(s.acc).Dot("At").Op("=").Lit(i + 1)
	switch {
	case m.Kind == model.Group:
		return []jen.Code{w.eachOf(s, m)}
	case !m.Has(s.p.Name):
		return []jen.Code{next}
	case m.Kind == model.Interface && !s.p.Facade:
		return []jen.Code{next, w.asserted(s, m, w.field(m))}
	}
	var guard *jen.Statement
	if m.Optional() {
		guard = w.field(m).Op("!=").Nil()
	}
	return []jen.Code{next, ended(s, and(guard, w.matches(s, m)), w.call(s, m, w.field(m)))}
}

// parallel tells whether the member is started beside those behind it.
func parallel(s shape, m *model.Member) bool { return m.Tag.At(s.p.Name).Mode == "parallel" }

// beside tells whether nobody waits for the member.
func beside(s shape, m *model.Member) bool { return m.Tag.At(s.p.Name).Mode == "record" }

// background tells whether the member is told by a job.
func background(s shape, m *model.Member) bool { return m.Tag.At(s.p.Name).Mode == "background" }

// call writes the call of a member; one with a timeout, or that is not waited for, is called through the accumulator.
func (w *weld) call(s shape, m *model.Member, member *jen.Statement) *jen.Statement {
	through := ""
	switch {
	case parallel(s, m):
		through = "Go"
	case beside(s, m):
		through = "Beside"
	case background(s, m):
		through = "Background"
	case m.Tag.At(s.p.Name).Timeout != 0:
		through = "Timed"
	}
	timed := through != ""
	var args []jen.Code
	for _, n := range paramNames(s.p.Signature) {
		if n == s.value && !timed {
			args = append(args, jen.Id(s.acc).Dot("Value"))
			continue
		}
		args = append(args, identifier(n))
	}
	call := jen.Add(member).Dot(s.p.Name).Call(args...)
	if !timed {
		return call
	}
	params := []jen.Code{jen.Id("ctx").Qual("context", "Context")}
	var results []jen.Code
	for v := range s.p.Signature.Params().Variables() {
		if v.Name() == s.value {
			params = append(params, identifier(s.value).Add(w.f.Type(v.Type())))
		}
	}
	for v := range s.p.Signature.Results().Variables() {
		results = append(results, w.f.Type(v.Type()))
	}
	fn := jen.Func().Params(params...)
	switch len(results) {
	case 0:
		through := jen.Id(s.acc).Dot(through)
		switch {
		case beside(s, m):
			return through.Call(jen.Id("ctx"), selector(hostParam(s.p.Signature).Name(), "Host").Call(), fn.Block(call))
		case background(s, m):
			w.f.Import(viewPath, "view")
			written := jen.Qual(viewPath, s.p.Name).Call(args[1:]...)
			return through.Call(jen.Id("ctx"), jen.Id(w.recv), selector(hostParam(s.p.Signature).Name(), "Host").Call(), written, fn.Block(call))
		}
		return through.Call(jen.Id("ctx"), fn.Block(call))
	case 1:
		fn = fn.Add(results[0])
	default:
		fn = fn.Params(results...)
	}
	return jen.Id(s.acc).Dot(through).Call(jen.Id("ctx"), fn.Block(jen.Return(call)))
}

// matchName is the variable with the patterns of a member.
func (w *weld) matchName(m *model.Member) string { return w.global(exported(m.Field) + "Match") }

// matchers writes the patterns of the members that have some.
func (w *weld) matchers() {
	for _, m := range w.c.Members {
		if len(m.Tag.Match) == 0 {
			continue
		}
		var patterns []jen.Code
		for _, p := range m.Tag.Match {
			patterns = append(patterns, jen.Lit(p.String()))
		}
		name := w.matchName(m)
		w.f.Add(comment(name+" narrows where "+m.Field+" is called.",
			jen.Var().Id(name).Op("=").Qual(compositePath, "NewMatch").Call(patterns...)))
	}
}

// matches writes the question whether what the point is about matches; nil if the member is called for all.
func (w *weld) matches(s shape, m *model.Member) *jen.Statement {
	if len(m.Tag.Narrows(s.p.Planned())) == 0 {
		return nil
	}
	for v := range s.p.Signature.Params().Variables() {
		if isContext(v.Type()) {
			continue
		}
		about := identifier(v.Name())
		if v.Name() == s.value {
			about = jen.Op("&").Id(s.acc).Dot("Value")
		}
		return jen.Id(w.matchName(m)).Dot(s.p.Place()).Call(about)
	}
	return nil
}

func isContext(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Context" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "context"
}

// and joins conditions, of which each may be nil.
func and(conditions ...*jen.Statement) *jen.Statement {
	var out *jen.Statement
	for _, c := range conditions {
		switch {
		case c == nil:
		case out == nil:
			out = c
		default:
			out = out.Op("&&").Add(c)
		}
	}
	return out
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
	return jen.If(and(guard, s.step(call))).Block(jen.Return())
}

// asserted writes the call of a hook whose type is known only at run time.
func (w *weld) asserted(s shape, m *model.Member, hook *jen.Statement) jen.Code {
	init := jen.List(jen.Id("m"), jen.Id("ok")).Op(":=").Add(hook).Assert(jen.Qual(hookPath, s.p.Name))
	return w.behind(s, m, init, jen.Id("ok"))
}

// behind writes the call of a hook called m behind a condition on it.
func (w *weld) behind(s shape, m *model.Member, init, cond *jen.Statement) jen.Code {
	cond = and(cond, w.matches(s, m))
	call := w.call(s, m, jen.Id("m"))
	if s.step == nil {
		return jen.If(init, cond).Block(wrapped(s, call))
	}
	return jen.If(init, and(cond, s.step(call))).Block(jen.Return())
}

// eachOf writes the walk over a group.
func (w *weld) eachOf(s shape, m *model.Member) jen.Code {
	next := "Next"
	if s.p.Reverse {
		next = "NextReverse"
	}
	advance := func() *jen.Statement { return jen.Id(s.acc).Dot(next).Call(jen.Len(w.field(m))) }
	element := w.field(m).Index(jen.Id("i"))
	var body jen.Code
	if s.p.Facade {
		body = w.behind(s, m, jen.Id("m").Op(":=").Add(element), jen.Id("m").Op("!=").Nil())
	} else {
		body = w.asserted(s, m, element)
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
