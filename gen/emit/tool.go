package emit

import (
	"fmt"
	"go/types"
	"hash/fnv"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/directive"
	"github.com/grapnel-go/grapnel/gen/schema"
)

const (
	hookPath      = "github.com/grapnel-go/grapnel/hook"
	compositePath = "github.com/grapnel-go/grapnel/composite"
)

// Toolset is a subsystem with static tools, as its generated part is written from it.
type Toolset struct {
	// Type is the subsystem's type; it is not generic.
	Type *types.TypeName
	// Recv is the name of the receiver that the author uses; "" is the first letter of the type.
	Recv  string
	Tools []Tool
}

// Tool is one tool of a Toolset.
type Tool struct {
	// Method has one of the forms of a typed tool.
	Method *types.Func
	// Name is the tool's whole name, prefix included.
	Name    string
	Doc     string
	Options directive.Tool
	// Input is nil for a tool without arguments.
	Input *schema.Object
	// Pointer: the method takes a pointer to the input.
	Pointer bool
	// Env: the method takes a *hook.Env.
	Env bool
}

// ToolConst is the name of the constant that holds a tool's name: ToolNoteAdd for note_add.
func ToolConst(tool string) string { return "Tool" + camel(tool) }

// Rev identifies a set of tools by their names in order; a composite that was generated for another one does not compile.
func Rev(tools []string) uint16 {
	h := fnv.New32a()
	for _, t := range tools {
		_, _ = h.Write([]byte(t + "\n")) // a hash never fails
	}
	sum := h.Sum32()
	return uint16(sum ^ sum>>16)
}

// Toolsets writes the generated part of all subsystems of one package, the decoders that they share at the end.
func Toolsets(f typer, sets []Toolset) []jen.Code {
	e := newDecoders(f)
	var out []jen.Code
	for _, s := range sets {
		w := &toolWriter{f: f, e: e, s: s, recv: s.Recv}
		if w.recv == "" || local(w.recv) || w.recv == "call" || w.recv == "c" || w.recv == "ctx" {
			w.recv = strings.ToLower(s.Type.Name()[:1]) + "s"
		}
		for _, t := range s.Tools {
			w.binds = append(w.binds, f.Unique("bind"+camel(t.Name)))
			w.calls = append(w.calls, f.Unique(unexported(camel(t.Name))+"Call"))
		}
		out = append(out, w.code()...)
	}
	out = append(out, e.code()...)
	return append(out, guards(e, sets)...)
}

// toolWriter writes one subsystem.
type toolWriter struct {
	f    typer
	e    *decoders
	s    Toolset
	recv string
	// binds and calls are the names of the bind functions and call types, by tool.
	binds, calls []string
}

func (w *toolWriter) code() []jen.Code {
	out := []jen.Code{w.constants(), jen.Line(), w.manifest(), jen.Line(), w.array(), jen.Line(), w.schema(), jen.Line(), w.dispatch()}
	for i, t := range w.s.Tools {
		out = append(out, jen.Line(), w.bind(i, t), jen.Line(), w.callType(i, t), jen.Line(), w.run(i, t))
	}
	return out
}

func (w *toolWriter) constants() jen.Code {
	var defs []jen.Code
	for _, t := range w.s.Tools {
		defs = append(defs, identifier(ToolConst(t.Name)).Op("=").Lit(t.Name))
	}
	return comment("Names of the tools of ["+w.s.Type.Name()+"].", jen.Const().Defs(defs...))
}

// manifest writes what generated code of other packages reads without the source.
func (w *toolWriter) manifest() jen.Code {
	names := make([]string, len(w.s.Tools))
	for i, t := range w.s.Tools {
		names[i] = t.Name
	}
	name, rev := w.s.Type.Name(), fmt.Sprintf("%04x", Rev(names))
	return jen.Add(
		comment(name+"Rev identifies this set of tools; composites compile against it.",
			jen.Const().Add(identifier(name+"Rev")).Op("=").Op("0x"+rev)),
		jen.Line().Line(),
		comment(name+"Hook tells hookgen in other packages what ["+name+"] has.",
			jen.Const().Add(identifier(name+"Hook")).Op("=").Lit("hook1 rev="+rev+" tools="+strings.Join(names, ","))),
	)
}

func (w *toolWriter) tools() string { return unexported(w.s.Type.Name()) + "Tools" }

func (w *toolWriter) array() jen.Code {
	var elems []jen.Code
	for _, t := range w.s.Tools {
		elems = append(elems, multi(descriptor(t)))
	}
	return comment(w.tools()+" are the tools of ["+w.s.Type.Name()+"], in the order of the source.",
		jen.Var().Add(identifier(w.tools())).Op("=").Index(jen.Op("...")).Qual(hookPath, "Tool").Add(multi(elems)))
}

// descriptor writes the fields of one hook.Tool, one on each line.
func descriptor(t Tool) []jen.Code {
	var fields []jen.Code
	add := func(name string, value jen.Code) { fields = append(fields, jen.Id(name).Op(":").Add(value)) }
	add("Name", jen.Id(ToolConst(t.Name)))
	if doc := schema.Text(t.Doc); doc != "" {
		add("Description", paragraphs(doc))
	}
	add("Input", schemaText(t.Input))
	if a := annotations(t.Options); len(a) > 0 {
		add("Annotations", jen.Qual(hookPath, "Annotations").Values(a...))
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
	if t.Options.Waits {
		add("Waits", jen.True())
	}
	return fields
}

// paragraphs writes a description, one literal for each of its lines.
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

// multi writes a composite literal with one element on each line.
func multi(elems []jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, elems...)
}

// schemaText writes the schema, one literal for each property, so that a change of one field is a change of one line.
func schemaText(o *schema.Object) jen.Code {
	pieces := o.Pieces()
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

// duration writes a duration in its greatest whole unit.
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
	return jen.Params(identifier(w.recv).Op("*").Add(identifier(w.s.Type.Name())))
}

func (w *toolWriter) schema() jen.Code {
	tools := func() *jen.Statement { return identifier(w.tools()) }
	return comment("Schema implements [hook.Hook].",
		jen.Func().Add(w.receiver()).Id("Schema").Params().Index().Qual(hookPath, "Tool").Block(
			jen.Return(tools().Index(jen.Empty(), jen.Len(tools()), jen.Len(tools())))))
}

func (w *toolWriter) dispatch() jen.Code {
	var cases []jen.Code
	for i, t := range w.s.Tools {
		cases = append(cases, jen.Case(jen.Id(ToolConst(t.Name))).Block(
			jen.Return(jen.Id(w.binds[i]).Call(jen.Id(w.recv), jen.Id("call")), jen.True())))
	}
	return comment("Dispatch implements [hook.Hook].",
		jen.Func().Add(w.receiver()).Id("Dispatch").
			Params(jen.Id("_").Qual("context", "Context"), jen.Id("call").Op("*").Qual(hookPath, "ToolCall")).
			Params(jen.Qual(hookPath, "Invocation"), jen.Bool()).Block(
			jen.Switch(jen.Id("call").Dot("Name").Call()).Block(cases...),
			jen.Return(jen.Qual(hookPath, "Invocation").Values(), jen.False())))
}

func (w *toolWriter) bind(i int, t Tool) jen.Code {
	decode := jen.Id("d").Dot("Nothing").Call()
	if t.Input != nil {
		decode = jen.Id(w.e.name(t.Input, camel(t.Name)+"Input")).Call(jen.Op("&").Id("d"), jen.Op("&").Id("c").Dot("in"))
	}
	return comment(w.binds[i]+" decodes the arguments of "+t.Name+".",
		jen.Func().Id(w.binds[i]).Params(
			jen.Id(w.recv).Op("*").Add(identifier(w.s.Type.Name())),
			jen.Id("call").Op("*").Qual(hookPath, "ToolCall"),
		).Qual(hookPath, "Invocation").Block(
			jen.Id("c").Op(":=").Op("&").Add(identifier(w.calls[i])).Values(jen.Id(w.recv).Op(":").Id(w.recv)),
			jen.Id("d").Op(":=").Qual(argsPath, "New").Call(jen.Id("call"), identifier(w.tools()).Index(jen.Lit(i)).Dot("Input")),
			decode,
			jen.Return(jen.Id("d").Dot("Bind").Call(jen.Id("c"))),
		))
}

func (w *toolWriter) callType(i int, t Tool) jen.Code {
	fields := []jen.Code{jen.Id(w.recv).Op("*").Add(identifier(w.s.Type.Name()))}
	if t.Input != nil {
		fields = append(fields, jen.Id("in").Add(w.f.Type(t.Input.Type)))
	}
	return comment(w.calls[i]+" is a bound call of "+t.Name+".", jen.Type().Add(identifier(w.calls[i])).Struct(fields...))
}

// run writes the method that calls the tool. A pointer points to a copy: a second attempt begins with the same arguments.
func (w *toolWriter) run(i int, t Tool) jen.Code {
	args := []jen.Code{jen.Id("ctx")}
	env := "_"
	if t.Env {
		env = "env"
		args = append(args, jen.Id("env"))
	}
	var body []jen.Code
	switch {
	case t.Input == nil:
	case t.Pointer:
		body = append(body, jen.Id("in").Op(":=").Id("c").Dot("in"))
		args = append(args, jen.Op("&").Id("in"))
	default:
		args = append(args, jen.Id("c").Dot("in"))
	}
	helper := "Reply"
	if t.Method.Signature().Results().Len() == 1 {
		helper = "Done"
	}
	called := jen.Id("c").Dot(w.recv).Dot(t.Method.Name()).Call(args...)
	body = append(body, jen.Return(jen.Qual(compositePath, helper).Call(called)))
	return comment("Run implements [hook.Runner].",
		jen.Func().Params(jen.Id("c").Op("*").Add(identifier(w.calls[i]))).Id("Run").Params(
			jen.Id("ctx").Qual("context", "Context"), jen.Id(env).Op("*").Qual(hookPath, "Env"),
		).Qual(hookPath, "ToolResult").Block(body...))
}

// guards writes what this file was generated from, in a form that does not compile once it is something else.
func guards(e *decoders, sets []Toolset) []jen.Code {
	var defs []jen.Code
	for _, s := range sets {
		recv := jen.Op("*").Add(identifier(s.Type.Name()))
		for _, t := range s.Tools {
			defs = append(defs, jen.Id("_").Func().Add(signatureCode(recv, t.Method.Signature(), e.f.Path())).
				Op("=").Parens(jen.Op("*").Add(identifier(s.Type.Name()))).Dot(t.Method.Name()))
		}
	}
	for _, o := range e.typed {
		if n, ok := o.Type.(*types.Named); ok && n.TypeArgs().Len() == 0 && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == e.f.Path() {
			defs = append(defs, jen.Id("_").Add(e.f.Type(n.Underlying())).Op("=").Add(identifier(n.Obj().Name())).Values())
		}
	}
	return []jen.Code{jen.Line(), jen.Comment("// What this file was generated from. If one of these lines does not compile, the code has changed since:"),
		jen.Comment(`// run "go generate ./..." again.`), jen.Var().Defs(defs...)}
}

// comment writes one line above a declaration. The text is this package's own, with names that are identifiers or tool names.
func comment(text string, decl jen.Code) jen.Code {
	return jen.Comment("// " + oneLine(text)).Line().Add(decl)
}
