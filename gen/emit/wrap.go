package emit

import (
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/model"
)

// wraps writes WrapTool and WrapModel: the chain is one value with an index, so that it costs one allocation.
func (w *weld) wraps(p *model.Point) {
	members := w.at(p)
	kind := strings.TrimPrefix(p.Name, "Wrap") + "Wraps" // ToolWraps, ModelWraps
	chain := w.global(p.Name)
	names := paramNames(p.Signature)
	var parts []jen.Code
	for _, n := range names[1:] {
		parts = append(parts, jen.Id(exported(n)).Op(":").Add(identifier(n)))
	}
	params := w.c.Named.TypeParams()
	args := typeArguments(params)
	levels := kind == "ToolWraps"
	init := []jen.Code{jen.Id("w")}
	fields := []jen.Code{jen.Qual(compositePath, kind), identifier(w.recv).Add(w.self())}
	if levels {
		init = append(init, jen.Id("w").Dot("levels").Index(jen.Op(":")))
		fields = append(fields, jen.Id("levels").Index(jen.Lit(len(members))).Qual(compositePath, "ToolLevel"))
	}
	at := p.Name + "At"
	w.method(p, w.callers(p),
		jen.Id("w").Op(":=").Op("&").Id(chain).Add(args).Values(jen.Id(w.recv).Op(":").Id(w.recv)),
		jen.Id("w").Dot(kind).Op("=").Qual(compositePath, kind).Values(parts...),
		jen.Id("w").Dot("Init").Call(init...),
		jen.Return(jen.Id("w").Dot(at).Call(jen.Id("ctx"), jen.Lit(0))))
	w.f.Add(comment(chain+" is one pass through the wraps of "+w.c.Name+".", jen.Type().Id(chain).Add(w.f.typeParameters(params)).Struct(fields...)))

	var cases []jen.Code
	for i, m := range members {
		cases = append(cases, jen.Case(jen.Lit(i)).Block(w.wrap(p, m, i, levels)...))
	}
	result := w.f.Type(p.Signature.Results().At(0).Type())
	w.f.Add(comment(at+" runs the chain from this position on.",
		jen.Func().Params(jen.Id("w").Op("*").Id(chain).Add(args)).Id(at).
			Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("at").Int()).Params(jen.Id("out").Add(result)).Block(
			jen.Switch(jen.Id("at")).Block(cases...),
			jen.Return(jen.Id("w").Dot("End").Call(jen.Id("ctx"))))))
}

// wrap writes one position of the chain.
func (w *weld) wrap(p *model.Point, m *model.Member, i int, levels bool) []jen.Code {
	field := jen.Id("w").Dot(w.recv).Dot(m.Field)
	through := jen.Return(jen.Id("w").Dot(p.Name+"At").Call(jen.Id("ctx"), jen.Lit(i+1)))
	if levels {
		through = jen.Return(jen.Id("w").Dot("Through").Call(jen.Id("ctx"), jen.Lit(i)))
	}
	var args []jen.Code
	names := paramNames(p.Signature)
	for _, n := range names[1 : len(names)-1] {
		args = append(args, jen.Id("w").Dot(exported(n)))
	}
	args = append(args, jen.Id("w").Dot("Rest").Call(jen.Lit(i)))

	use := m.Tag.At(p.Name)
	closed := p.Closed
	if use.Policy != "" {
		closed = use.Policy == "failclosed"
	}
	recover := jen.Defer().Id("w").Dot("Recover").Call(
		jen.Id("ctx"), jen.Lit(i), jen.Lit(m.Field), jen.Lit(closed), jen.Op("&").Id("out"))
	call := func(member *jen.Statement) []jen.Code {
		return within(p, m, levels, jen.Add(member).Dot(p.Name).Call(append([]jen.Code{jen.Id("ctx")}, args...)...))
	}
	var other *jen.Statement
	if len(m.Tag.Narrows(p.Planned())) > 0 {
		other = jen.Op("!").Id(w.matchName(m)).Dot(p.Place()).Call(jen.Id("w").Dot(exported(names[1])))
	}
	switch m.Kind {
	case model.Group:
		owner := jen.Qual(compositePath, "Member").Values(asMember(m, p)...)
		args = append([]jen.Code{jen.Id("ctx"), owner, field}, args...)
		code := []jen.Code{recover, jen.Return(jen.Qual(compositePath, p.Name+"Group").Call(args...))}
		if other != nil {
			code = append([]jen.Code{jen.If(other).Block(through)}, code...)
		}
		return code
	case model.Interface:
		return append([]jen.Code{
			jen.List(jen.Id("m"), jen.Id("ok")).Op(":=").Add(field).Assert(jen.Qual(hookPath, p.Name)),
			jen.If(or(jen.Op("!").Id("ok"), other)).Block(through),
			recover,
		}, call(jen.Id("m"))...)
	}
	code := append([]jen.Code{recover}, call(field)...)
	var absent *jen.Statement
	if m.Optional() {
		absent = jen.Add(field).Op("==").Nil()
	}
	if skip := or(absent, other); skip != nil {
		code = append([]jen.Code{jen.If(skip).Block(through)}, code...)
	}
	return code
}

// within writes the call of a wrap, with a context that ends where the tag has a timeout.
func within(p *model.Point, m *model.Member, levels bool, call *jen.Statement) []jen.Code {
	timeout := time.Duration(m.Tag.At(p.Name).Timeout)
	context := func() *jen.Statement { return jen.Id("ctx").Qual("context", "Context") }
	switch {
	case !levels && timeout != 0:
		stream := jen.Qual(hookPath, "ModelStream")
		call = jen.Qual(compositePath, "TimedStream").Call(jen.Id("ctx"), duration(timeout),
			jen.Func().Params(context()).Add(stream).Block(jen.Return(call)))
		fallthrough
	case !levels:
		return []jen.Code{jen.Return(jen.Id("w").Dot("Isolate").Call(jen.Lit(m.Field), call))}
	case timeout != 0:
		return []jen.Code{
			jen.List(jen.Id("ctx"), jen.Id("cancel")).Op(":=").Qual("context", "WithTimeout").Call(jen.Id("ctx"), duration(timeout)),
			jen.Defer().Id("cancel").Call(),
			jen.Return(call),
		}
	}
	return []jen.Code{jen.Return(call)}
}

// or joins conditions, of which each may be nil.
func or(a, b *jen.Statement) *jen.Statement {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return a.Op("||").Add(b)
}
