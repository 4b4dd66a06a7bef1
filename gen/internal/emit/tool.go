package emit

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
	"github.com/grapnel-go/grapnel/gen/internal/model"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
	"github.com/grapnel-go/grapnel/internal/origin"
)

const (
	hookPath      = "github.com/grapnel-go/grapnel/hook"
	messagePath   = hookPath + "/message"
	pointPath     = hookPath + "/point"
	compositePath = "github.com/grapnel-go/grapnel/composite"
)

// Toolset is a subsystem with typed tools and the forms of their methods, in the same order.
type Toolset struct {
	*model.Subsystem
	Methods []*schema.Method
}

// NewToolset reads the methods of the subsystem's tools. If a problem is an error, nothing may be written.
func NewToolset(m *model.Model, s *model.Subsystem) (Toolset, []diag.Problem) {
	out := Toolset{Subsystem: s}
	var problems []diag.Problem
	src := schema.Source{Position: m.Position, Doc: m.FieldDoc, Word: m.TagWord, Ours: m.Ours, Open: m.Open, Schema: m.SchemaOf}
	for _, t := range s.Tools {
		method, found := schema.NewMethod(s.Pkg.Types, t.Method, src)
		out.Methods = append(out.Methods, method)
		problems = append(problems, found...)
	}
	return out, diag.Sort(problems)
}

// self writes the type of the receiver: a pointer if one of the author's methods has one.
func (s Toolset) self() *jen.Statement {
	typ := identifier(s.Name).Add(typeArguments(s.Named.TypeParams()))
	if s.Pointer {
		return jen.Op("*").Add(typ)
	}
	return typ
}

// params are the type parameters of the subsystem, which all declarations for its tools need too.
func (w *toolWriter) params() *types.TypeParamList { return w.s.Named.TypeParams() }

// Toolsets writes the generated part of a package's subsystems with typed tools: names, tools, Schema, Dispatch, a bind function
// and a call type per tool; then the shared decoders, and the guards.
func Toolsets(f *File, sets []Toolset) {
	e := newDecoders(f)
	for _, s := range sets {
		w := &toolWriter{f: f, e: e, s: s, recv: s.Receiver, tools: f.Unique(unexported(s.Name) + "Tools")}
		if taken(w.recv) {
			w.recv = unexported(s.Name)
		}
		if taken(w.recv) {
			w.recv += "s"
		}
		for _, t := range s.Tools {
			w.binds = append(w.binds, f.Unique("bind"+camel(t.Name)))
			w.calls = append(w.calls, f.Unique(unexported(camel(t.Name))+"Call"))
		}
		w.write()
	}
	for _, c := range e.code() {
		f.Add(c)
	}
	if len(sets) > 0 {
		f.Add(toolGuards(e, sets))
	}
}

// taken reports whether the receiver cannot have the name, because generated functions use it.
func taken(name string) bool {
	return local(name) || slices.Contains([]string{"", "_", "call", "tool", "c", "ctx", "env", "hook", "args", "composite", "context"}, name)
}

type toolWriter struct {
	f    *File
	e    *decoders
	s    Toolset
	recv string
	// tools is the name of the array of tools.
	tools string
	// binds and calls are the names of the bind functions and call types by tool.
	binds, calls []string
}

func (w *toolWriter) write() {
	if defs := w.constants(); len(defs) > 0 {
		w.f.Add(comment("Names of the tools of ["+w.s.Name+"].", jen.Const().Defs(defs...)))
	}
	for _, c := range []jen.Code{w.rev(), w.manifest(), w.array(), w.schema(), w.dispatch()} {
		w.f.Add(c)
	}
	for i, t := range w.s.Tools {
		w.f.Add(w.bind(i, t))
		w.f.Add(w.callType(i, t))
		w.f.Add(w.run(i, t))
	}
}

func (w *toolWriter) names() []string {
	names := make([]string, len(w.s.Tools))
	for i, t := range w.s.Tools {
		names[i] = t.Name
	}
	return names
}

// constants writes the constants that no earlier subsystem has.
func (w *toolWriter) constants() []jen.Code {
	var defs []jen.Code
	for _, t := range w.s.Tools {
		if !t.Shared {
			defs = append(defs, identifier(t.Const).Op("=").Lit(t.Name))
		}
	}
	return defs
}

func (w *toolWriter) rev() jen.Code {
	return comment(w.s.Name+"Rev identifies these points and tools; composites compile against it.",
		jen.Const().Add(identifier(w.s.RevName())).Op("=").Op(fmt.Sprintf("0x%08x", w.s.Rev())))
}

// manifest writes the constant that generated code of other modules reads.
func (w *toolWriter) manifest() jen.Code {
	text := fmt.Sprintf("hook1 rev=%08x tools=%s", w.s.Rev(), strings.Join(w.names(), ","))
	if d := w.s.Defaults.String(); d != "" {
		text += " " + d
	}
	return comment(w.s.Name+"Hook tells hookgen in other packages what ["+w.s.Name+"] has.",
		jen.Const().Add(identifier(w.s.ManifestName())).Op("=").Lit(text))
}

func (w *toolWriter) array() jen.Code {
	var elems []jen.Code
	for i, t := range w.s.Tools {
		elems = append(elems, multi(descriptor(t, w.s.Methods[i])))
	}
	return comment(w.tools+" are the tools of ["+w.s.Name+"], in the order of the source.",
		jen.Var().Add(identifier(w.tools)).Op("=").Index(jen.Op("...")).Qual(messagePath, "Tool").Add(multi(elems)))
}

// descriptor writes the fields of a message.Tool, one per line.
func descriptor(t *model.Tool, m *schema.Method) []jen.Code {
	var fields []jen.Code
	add := func(name string, value jen.Code) { fields = append(fields, jen.Id(name).Op(":").Add(value)) }
	add("Name", identifier(t.Const))
	if doc := origin.Text(t.Doc); doc != "" {
		add("Description", paragraphs(doc))
	}
	add("Input", schemaText(m.Input.Pieces()))
	if m.Output != nil {
		add("Output", schemaText(m.Output.Pieces()))
	}
	if a := annotations(t.Options); len(a) > 0 {
		add("Annotations", jen.Qual(messagePath, "Annotations").Values(a...))
	}
	if t.Options.Timeout > 0 {
		add("Timeout", duration(t.Options.Timeout))
	}
	if t.Options.Exclusive != "" {
		add("Exclusive", jen.Lit(t.Options.Exclusive))
	}
	if t.Options.MaxResult > 0 {
		add("MaxResult", jen.Lit(t.Options.MaxResult))
	}
	if t.Options.Trust != "" {
		add("Trust", jen.Qual(messagePath, "Trust"+strings.ToUpper(t.Options.Trust[:1])+t.Options.Trust[1:]))
	}
	if t.Options.Waits {
		add("Waits", jen.True())
	}
	return fields
}

// paragraphs writes a description, one literal per line.
func paragraphs(doc string) jen.Code {
	var out *jen.Statement
	lines := strings.SplitAfter(doc, "\n")
	for _, line := range lines {
		if out == nil {
			out = jen.Lit(line)
			continue
		}
		out.Op("+").Line().Lit(line)
	}
	return out
}

// multi writes a composite literal with one element per line.
func multi(elems []jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, elems...)
}

// schemaText writes the schema, one literal per property, so that a changed field is a changed line.
func schemaText(pieces []string) jen.Code {
	if len(pieces) == 2 {
		pieces = []string{strings.Join(pieces, "")}
	}
	out := rawText(pieces[0])
	for _, p := range pieces[1:] {
		out.Op("+").Line().Add(rawText(p))
	}
	return out
}

func annotations(o directive.Tool) []jen.Code {
	var out []jen.Code
	for _, a := range []struct {
		name string
		on   bool
	}{{"ReadOnly", o.ReadOnly}, {"Destructive", o.Destructive}, {"Idempotent", o.Idempotent}, {"OpenWorld", o.OpenWorld}} {
		if a.on {
			out = append(out, jen.Id(a.name).Op(":").True())
		}
	}
	return out
}

// duration writes a duration in its largest whole unit.
func duration(d time.Duration) *jen.Statement {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}} {
		if d%unit.of == 0 {
			return jen.Lit(int(d/unit.of)).Op("*").Qual("time", unit.name)
		}
	}
	return jen.Lit(int(d)).Op("*").Qual("time", "Nanosecond")
}

func (w *toolWriter) receiver() *jen.Statement {
	return jen.Params(identifier(w.recv).Add(w.s.self()))
}

func (w *toolWriter) schema() jen.Code {
	tools := func() *jen.Statement { return identifier(w.tools) }
	return comment("Schema implements [hook.Hook].",
		jen.Func().Add(w.receiver()).Id("Schema").Params().Index().Qual(messagePath, "Tool").Block(
			jen.Return(tools().Index(jen.Empty(), jen.Len(tools()), jen.Len(tools())))))
}

func (w *toolWriter) dispatch() jen.Code {
	var cases []jen.Code
	for i, t := range w.s.Tools {
		cases = append(cases, jen.Case(identifier(t.Const)).Block(
			jen.Return(jen.Id(w.binds[i]).Call(jen.Id(w.recv), jen.Id("call")), jen.True())))
	}
	return comment("Dispatch implements [hook.Hook].",
		jen.Func().Add(w.receiver()).Id("Dispatch").
			Params(jen.Id("_").Qual("context", "Context"), jen.Id("call").Op("*").Qual(hookPath, "ToolCall")).
			Params(jen.Qual(hookPath, "Invocation"), jen.Bool()).Block(
			jen.Switch(jen.Id("call").Dot("Name").Call()).Block(cases...),
			jen.Return(jen.Qual(hookPath, "Invocation").Values(), jen.False())))
}

func (w *toolWriter) bind(i int, t *model.Tool) jen.Code {
	decode := jen.Id("d").Dot("Nothing").Call()
	if in := w.s.Methods[i].Input; in != nil {
		decode = jen.Id(w.e.name(in, camel(t.Name)+"Input")).Call(jen.Op("&").Id("d"), jen.Op("&").Id("c").Dot("in"))
	}
	return comment(w.binds[i]+" decodes the arguments of "+t.Name+".",
		jen.Func().Id(w.binds[i]).Add(w.f.typeParameters(w.params())).Params(
			identifier(w.recv).Add(w.s.self()),
			jen.Id("call").Op("*").Qual(hookPath, "ToolCall"),
		).Qual(hookPath, "Invocation").Block(
			jen.Id("c").Op(":=").Op("&").Add(identifier(w.calls[i])).Add(typeArguments(w.params())).Values(jen.Id(w.recv).Op(":").Id(w.recv)),
			jen.Id("d").Op(":=").Qual(argsPath, "New").Call(jen.Id("call"), identifier(w.tools).Index(jen.Lit(i)).Dot("Input")),
			decode,
			jen.Return(jen.Id("d").Dot("Bind").Call(jen.Id("c"))),
		))
}

func (w *toolWriter) callType(i int, t *model.Tool) jen.Code {
	fields := []jen.Code{identifier(w.recv).Add(w.s.self())}
	if in := w.s.Methods[i].Input; in != nil {
		fields = append(fields, jen.Id("in").Add(w.f.Type(in.Type)))
	}
	return comment(w.calls[i]+" is a bound call of "+t.Name+".", jen.Type().Add(identifier(w.calls[i])).Add(w.f.typeParameters(w.params())).Struct(fields...))
}

// run writes the method that calls the tool. It passes a pointer to a copy, so that a second attempt has the same arguments.
func (w *toolWriter) run(i int, t *model.Tool) jen.Code {
	method := w.s.Methods[i]
	args := []jen.Code{jen.Id("ctx")}
	env := "_"
	if method.Env {
		env = "env"
		args = append(args, jen.Id("env"))
	}
	var body []jen.Code
	switch {
	case method.Input == nil:
	case method.Pointer:
		body = append(body, jen.Id("in").Op(":=").Id("c").Dot("in"))
		args = append(args, jen.Op("&").Id("in"))
	default:
		args = append(args, jen.Id("c").Dot("in"))
	}
	called := jen.Id("c").Dot(w.recv).Dot(t.Method.Name()).Call(args...)
	switch {
	case method.Out == nil:
		body = append(body, jen.Return(jen.Qual(compositePath, "Done").Call(called)))
	default:
		body = append(body, jen.Return(jen.Qual(compositePath, "Reply").Call(called)))
	}
	return comment("Run implements [hook.Runner].",
		jen.Func().Params(jen.Id("c").Op("*").Add(identifier(w.calls[i])).Add(typeArguments(w.params()))).Id("Run").Params(
			jen.Id("ctx").Qual("context", "Context"), jen.Id(env).Op("*").Qual(hookPath, "Env"),
		).Qual(messagePath, "ToolResult").Block(body...))
}

// toolGuards writes declarations that no longer compile when the sources change: the signatures of the methods, and the fields and
// tags of inputs and results.
func toolGuards(e *decoders, sets []Toolset) jen.Code {
	var defs, generic []jen.Code
	for _, s := range sets {
		for _, t := range s.Tools {
			if s.Named.TypeParams().Len() > 0 {
				generic = append(generic, genericGuard(e, s, t))
				continue
			}
			defs = append(defs, jen.Id("_").Add(e.f.Type(expression(s, t.Method))).Op("=").Add(method(s)).Dot(t.Method.Name()))
		}
	}
	for _, n := range guarded(e, sets) {
		defs = append(defs, jen.Id("_").Add(e.f.Type(n.Underlying())).Op("=").Add(identifier(n.Obj().Name())).Values())
	}
	out := jen.Comment("// What this file was generated from. If one of these lines does not compile, the code has changed since:").Line().
		Comment(`// run "go tool hookgen ./..." again.`)
	if len(defs) > 0 {
		out.Line().Var().Defs(defs...)
	}
	for _, g := range generic {
		out.Line().Add(g)
	}
	return out
}

// genericGuard writes the guard of a method of a generic type, in a function with its type parameters.
func genericGuard(e *decoders, s Toolset, t *model.Tool) jen.Code {
	params := t.Method.Signature().RecvTypeParams()
	typ := identifier(s.Name).Add(typeArguments(params))
	if s.Pointer {
		typ = jen.Op("*").Add(typ)
	}
	sig := t.Method.Signature()
	in := []jen.Code{typ.Clone()}
	for v := range sig.Params().Variables() {
		in = append(in, e.f.Type(v.Type()))
	}
	var out []jen.Code
	for v := range sig.Results().Variables() {
		out = append(out, e.f.Type(v.Type()))
	}
	want := jen.Func().Params(in...).Params(out...)
	return jen.Func().Id("_").Add(e.f.typeParameters(params)).Params().Block(
		jen.Var().Id("_").Add(want).Op("=").Parens(typ.Clone()).Dot(t.Method.Name()))
}

func method(s Toolset) *jen.Statement {
	if s.Pointer {
		return jen.Parens(s.self())
	}
	return s.self()
}

func expression(s Toolset, fn *types.Func) *types.Signature {
	var recv types.Type = s.Named
	if s.Pointer {
		recv = types.NewPointer(recv)
	}
	params := []*types.Var{types.NewParam(0, nil, "", recv)}
	for v := range fn.Signature().Params().Variables() {
		params = append(params, v)
	}
	return types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), fn.Signature().Results(), false)
}

// comment writes a line above a declaration. The text is this package's own, with identifiers and tool names.
func comment(text string, decl jen.Code) jen.Code {
	return jen.Comment("// " + oneLine(text)).Line().Add(decl)
}
