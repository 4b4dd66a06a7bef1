package emit

import (
	"fmt"
	"go/types"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

const (
	argsPath   = "github.com/grapnel-go/grapnel/composite/args"
	regexpPath = "regexp"
)

// decoders writes the functions that decode the arguments of a package's tools, one per struct.
type decoders struct {
	f     *File
	names map[string]string
	todo  []pending
	vars  []jen.Code // compiled patterns
	// typed are the decoded structs of the package, for the guards.
	typed []*schema.Object
}

// pending is a function that is still to be written: for a struct, or for a type that decodes itself.
type pending struct {
	name   string
	object *schema.Object
	own    *schema.Value
}

func newDecoders(f *File) *decoders { return &decoders{f: f, names: map[string]string{}} }

// name returns the name of the function that decodes the object. A struct without a name uses the place of its use.
func (e *decoders) name(o *schema.Object, place string) string {
	return e.nameOf(o.Type, types.TypeString(o.Type, nil), place, pending{object: o})
}

// ownName returns the name of the function that decodes a type with its own UnmarshalJSON and checks it against a shape.
func (e *decoders) ownName(v *schema.Value) string {
	schemaless := *v
	schemaless.Pointer = false
	return e.nameOf(v.Type, types.TypeString(v.Type, nil)+" "+schemaless.JSON(), "", pending{own: v})
}

func (e *decoders) nameOf(t types.Type, key, place string, p pending) string {
	if name := e.names[key]; name != "" {
		return name
	}
	p.name = e.f.function("decode", t, place)
	e.names[key] = p.name
	e.todo = append(e.todo, p)
	return p.name
}

// code returns the requested functions in the order of the requests, with the variables that they need.
func (e *decoders) code() []jen.Code {
	var out []jen.Code
	for i := 0; i < len(e.todo); i++ { // writing one may request more
		p := e.todo[i]
		if p.own != nil {
			out = append(out, e.ownFunction(p.name, p.own))
			continue
		}
		out = append(out, e.function(p.name, p.object))
		e.typed = append(e.typed, p.object)
	}
	if len(e.vars) > 0 {
		out = append([]jen.Code{comment("The patterns of the arguments.", jen.Var().Defs(e.vars...))}, out...)
	}
	return out
}

func (e *decoders) function(name string, o *schema.Object) jen.Code {
	w := &writer{e: e, place: strings.TrimPrefix(name, "decode")}
	var body, cases, known []jen.Code
	for i, f := range o.Fields {
		dst := func() *jen.Statement { return selector("in", f.Go) }
		if f.Default != nil {
			body = append(body, dst().Op("=").Add(e.given(f)))
		}
		known = append(known, jen.Lit(f.Name))
		cases = append(cases, jen.Case(jen.Lit(f.Name)).Block(w.member(dst, i, f)...))
	}
	unknown := jen.Id("o").Dot("Unknown").Call(known...)
	loop := unknown
	if len(cases) > 0 {
		loop = jen.Switch(jen.Id("o").Dot("Key").Call()).Block(append(cases, jen.Default().Block(unknown))...)
	}
	body = append(body,
		jen.Id("o").Op(":=").Id("d").Dot("Object").Call(),
		jen.For(jen.Id("o").Dot("Next").Call()).Block(loop))
	for i, f := range o.Fields {
		if f.Required {
			body = append(body, jen.Id("o").Dot("Require").Call(jen.Lit(i), jen.Lit(f.Name)))
		}
	}
	return jen.Func().Id(name).Params(
		jen.Id("d").Op("*").Qual(argsPath, "Decoder"),
		jen.Id("in").Op("*").Add(e.f.Type(o.Type)),
	).Block(body...)
}

// writer writes the statements that decode and check one value.
type writer struct {
	e     *decoders
	place string
}

// member writes the statements for one member of the object.
func (w *writer) member(dst target, i int, f *schema.Field) []jen.Code {
	place := exported(lastName(f.Go))
	switch {
	case !f.NullIsAbsent():
		return append([]jen.Code{once("o", i)}, w.value(dst, "=", f.Value, place, 1)...)
	case f.Value.Pointer:
		return []jen.Code{given("o", i, w.pointer(dst, f.Value, place, 1))}
	}
	return []jen.Code{given("o", i, w.value(dst, "=", f.Value, place, 1))}
}

// once writes the check that a member occurs once.
func once(object string, i int) jen.Code { return jen.Id(object).Dot("Once").Call(jen.Lit(i)) }

// given writes the same check for an optional member, and decodes its value if there is one.
func given(object string, i int, read []jen.Code) jen.Code {
	return jen.If(jen.Id(object).Dot("Given").Call(jen.Lit(i))).Block(read...)
}

// target writes the destination of a value anew each time, because jen statements grow when they are used.
type target func() *jen.Statement

// value decodes v into dst, which op assigns or declares. Depth numbers the variables of nested lists.
func (w *writer) value(dst target, op string, v *schema.Value, place string, depth int) []jen.Code {
	if v.Pointer {
		return []jen.Code{jen.If(jen.Op("!").Id("d").Dot("Null").Call()).Block(w.pointer(dst, v, place, depth)...)}
	}
	if byPointer(v) {
		return w.fill(func() *jen.Statement { return jen.Op("&").Add(dst()) }, v, place)
	}
	switch v.Kind {
	case schema.List:
		return w.list(dst, op, v, place, depth)
	case schema.Map:
		return w.entries(dst, op, v, place, depth)
	}
	return append([]jen.Code{dst().Op(op).Add(w.read(v))}, w.checks(dst, v, place)...)
}

func (w *writer) pointer(dst target, v *schema.Value, place string, depth int) []jen.Code {
	if byPointer(v) {
		return append([]jen.Code{dst().Op("=").New(w.e.f.Type(v.Type))}, w.fill(dst, v, place)...)
	}
	plain := *v
	plain.Pointer = false
	name := numbered("v", depth)
	inner := func() *jen.Statement { return jen.Id(name) }
	return append(w.value(inner, ":=", &plain, place, depth+1), dst().Op("=").Op("&").Id(name))
}

func (w *writer) list(dst target, op string, v *schema.Value, place string, depth int) []jen.Code {
	a := numbered("a", depth)
	push := func(elem jen.Code) jen.Code { return dst().Op("=").Append(dst(), elem) }
	code := []jen.Code{
		jen.Id(a).Op(":=").Id("d").Dot("Array").Call(),
		dst().Op(op).Add(w.e.f.Type(v.Type)).Values(),
		jen.For(jen.Id(a).Dot("Next").Call()).Block(w.element(push, v.Elem, place, depth)...),
	}
	return append(code, counts(a, v)...)
}

func (w *writer) entries(dst target, op string, v *schema.Value, place string, depth int) []jen.Code {
	m, key, twice := numbered("m", depth), numbered("key", depth), numbered("twice", depth)
	name := jen.Id(m).Dot("Key").Call()
	if k := v.Type.Underlying().(*types.Map).Key(); !types.Identical(k, types.Typ[types.String]) {
		name = w.e.f.Type(k).Parens(name)
	}
	put := func(elem jen.Code) jen.Code { return dst().Index(jen.Id(key)).Op("=").Add(elem) }
	loop := []jen.Code{
		jen.Id(key).Op(":=").Add(name),
		jen.If(jen.List(jen.Id("_"), jen.Id(twice)).Op(":=").Add(dst()).Index(jen.Id(key)), jen.Id(twice)).
			Block(jen.Id(m).Dot("Twice").Call()),
	}
	return []jen.Code{
		jen.Id(m).Op(":=").Id("d").Dot("Object").Call(),
		dst().Op(op).Add(w.e.f.Type(v.Type)).Values(),
		jen.For(jen.Id(m).Dot("Next").Call()).Block(append(loop, w.element(put, v.Elem, place, depth)...)...),
	}
}

// element decodes one element and stores it; in one line, if nothing is to be checked.
func (w *writer) element(put func(jen.Code) jen.Code, v *schema.Value, place string, depth int) []jen.Code {
	item := numbered("item", depth)
	dst := func() *jen.Statement { return jen.Id(item) }
	single := !byPointer(v) && v.Kind != schema.List && v.Kind != schema.Map && !v.Pointer
	if single && len(w.checks(dst, v, place)) == 0 {
		return []jen.Code{put(w.read(v))}
	}
	op := ":="
	var code []jen.Code
	if v.Pointer || byPointer(v) {
		typ := w.e.f.Type(v.Type)
		if v.Pointer {
			typ = jen.Op("*").Add(typ)
		}
		op, code = "=", append(code, jen.Var().Id(item).Add(typ))
	}
	code = append(code, w.value(dst, op, v, place, depth+1)...)
	return append(code, put(jen.Id(item)))
}

// read writes the expression that decodes a value without parts.
func (w *writer) read(v *schema.Value) *jen.Statement {
	quoted := ""
	if v.Quoted {
		quoted = "Quoted"
	}
	call := func(method string, args ...jen.Code) *jen.Statement { return jen.Id("d").Dot(method).Call(args...) }
	switch v.Kind {
	case schema.Int:
		return w.convert(v, call(quoted+"Int", jen.Lit(v.Bits)), types.Typ[types.Int64])
	case schema.Uint:
		return w.convert(v, call(quoted+"Uint", jen.Lit(v.Bits)), types.Typ[types.Uint64])
	case schema.Float:
		return w.convert(v, call(quoted+"Float", jen.Lit(v.Bits)), types.Typ[types.Float64])
	case schema.Bool:
		return w.convert(v, call(quoted+"Bool"), types.Typ[types.Bool])
	case schema.Bytes:
		return call("Bytes")
	case schema.Time:
		return call("Time")
	case schema.Duration:
		return call("Duration")
	case schema.JSON:
		return call("Raw")
	case schema.Raw:
		return w.e.f.Type(v.Type).Parens(call("Raw"))
	case schema.Any:
		return call("Any")
	}
	return w.convert(v, call("String"), types.Typ[types.String])
}

func (w *writer) convert(v *schema.Value, read *jen.Statement, has types.Type) *jen.Statement {
	if types.Identical(v.Type, has) {
		return read
	}
	return w.e.f.Type(v.Type).Parens(read)
}

func (w *writer) checks(dst target, v *schema.Value, place string) []jen.Code {
	if len(v.Enum) > 0 {
		return []jen.Code{w.enum(dst, v)}
	}
	var code []jen.Code
	if v.Min != "" || v.Max != "" {
		code = append(code, bounds(dst, v))
	}
	text := func() *jen.Statement {
		if types.Identical(v.Type, types.Typ[types.String]) {
			return dst()
		}
		return jen.String().Parens(dst())
	}
	if v.MinLen != nil {
		code = append(code, jen.Id("d").Dot("MinLen").Call(text(), jen.Lit(*v.MinLen)))
	}
	if v.MaxLen != nil {
		code = append(code, jen.Id("d").Dot("MaxLen").Call(text(), jen.Lit(*v.MaxLen)))
	}
	if v.Pattern != "" {
		code = append(code, jen.Id("d").Dot("Pattern").Call(text(), jen.Id(w.pattern(v.Pattern, place))))
	}
	if v.Format != "" {
		code = append(code, jen.Id("d").Dot("Format").Call(text(), jen.Lit(v.Format)))
	}
	return code
}

// enum compares with the constants by name where they are visible, so that removing a constant breaks the build.
func (w *writer) enum(dst target, v *schema.Value) jen.Code {
	var values []jen.Code
	for _, l := range v.Enum {
		values = append(values, w.e.literal(l))
	}
	return jen.Switch(dst()).Block(
		jen.Case(values...),
		jen.Default().Block(refuse("must be one of "+schema.Words(v.Enum))),
	)
}

// literal writes a value as its constant, if the name of that means the same here.
func (e *decoders) literal(l schema.Literal) *jen.Statement {
	switch c := l.Const; {
	case c == nil || c.Pkg().Path() == e.f.Path() && local(c.Name()):
		return constant(l.Go)
	case c.Pkg().Path() == e.f.Path():
		return identifier(c.Name())
	default:
		return e.f.Qual(c.Pkg(), c.Name())
	}
}

func (e *decoders) given(f *schema.Field) *jen.Statement {
	if n, err := strconv.ParseInt(f.Default.Go, 10, 64); err == nil && f.Value.Kind == schema.Duration {
		return duration(time.Duration(n))
	}
	return e.literal(*f.Default)
}

func bounds(dst target, v *schema.Value) jen.Code {
	switch {
	case v.Max == "":
		return jen.If(dst().Op("<").Add(constant(v.Min))).Block(refuse("must be at least " + v.Min))
	case v.Min == "":
		return jen.If(dst().Op(">").Add(constant(v.Max))).Block(refuse("must be at most " + v.Max))
	}
	return jen.If(dst().Op("<").Add(constant(v.Min)).Op("||").Add(dst()).Op(">").Add(constant(v.Max))).
		Block(refuse("must lie between " + v.Min + " and " + v.Max))
}

func refuse(reason string) jen.Code { return jen.Id("d").Dot("Refuse").Call(jen.Lit(reason)) }

// pattern declares a compiled pattern and returns its variable.
func (w *writer) pattern(text, place string) string {
	name := w.e.f.Unique(unexported(w.place) + place + "Pattern")
	w.e.vars = append(w.e.vars, jen.Id(name).Op("=").Qual(regexpPath, "MustCompile").Call(rawText(text)))
	return name
}

var numeral = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// constant writes an untyped constant of the schema: a number, a quoted string, true or false. It panics for anything else, which
// might inject code.
func constant(text string) *jen.Statement {
	switch {
	case text == "true", text == "false":
		return jen.Id(text)
	case numeral.MatchString(text):
		return jen.Op(text)
	}
	s, err := strconv.Unquote(text)
	if err != nil {
		panic(fmt.Sprintf("emit: constant %q: neither number nor string", text))
	}
	return jen.Lit(s)
}

// local reports whether the name means something else inside generated functions.
func local(name string) bool {
	switch strings.TrimRight(name, "0123456789") {
	case "d", "o", "in", "a", "m", "v", "key", "twice", "item", "text", "num", "names", "at":
		return true
	}
	return false
}

func numbered(name string, depth int) string {
	if depth == 1 {
		return name
	}
	return name + strconv.Itoa(depth)
}
