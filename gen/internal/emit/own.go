package emit

import (
	"go/types"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

// byPointer reports whether the decoding function gets a pointer to the value.
func byPointer(v *schema.Value) bool {
	return v.Kind == schema.Struct || v.Kind == schema.Own || v.Kind == schema.OwnText
}

func (w *writer) fill(ptr target, v *schema.Value, place string) []jen.Code {
	switch v.Kind {
	case schema.Struct:
		return []jen.Code{jen.Id(w.e.name(v.Struct, w.place+place)).Call(jen.Id("d"), ptr())}
	case schema.Own:
		return []jen.Code{jen.Id(w.e.ownName(v)).Call(jen.Id("d"), ptr())}
	}
	plain := schema.Value{Kind: schema.String, Type: types.Typ[types.String], Enum: v.Enum, Limits: v.Limits}
	text := func() *jen.Statement { return jen.Id("text") }
	code := []jen.Code{text().Op(":=").Id("d").Dot("String").Call()}
	code = append(code, w.checks(text, &plain, place)...)
	if len(code) == 1 {
		return []jen.Code{jen.Id("d").Dot("Text").Call(jen.Id("d").Dot("String").Call(), ptr())}
	}
	return append(code, jen.Id("d").Dot("Text").Call(text(), ptr()))
}

// ownFunction writes the function that checks the shape of a value and passes it to its UnmarshalJSON.
func (e *decoders) ownFunction(name string, v *schema.Value) jen.Code {
	w := &writer{e: e, place: strings.TrimPrefix(name, "decode")}
	body := []jen.Code{jen.Id("at").Op(":=").Id("d").Dot("Mark").Call()}
	body = append(body, w.shape(v.Shape, "", 1)...)
	body = append(body, jen.Id("d").Dot("Unmarshal").Call(jen.Id("at"), jen.Id("in")))
	return jen.Func().Id(name).Params(
		jen.Id("d").Op("*").Qual(argsPath, "Decoder"), jen.Id("in").Op("*").Add(e.f.Type(v.Type)),
	).Block(body...)
}

// shape writes the statements that check a value and keep nothing of it. Depth numbers the variables of nested values.
func (w *writer) shape(v *schema.Value, place string, depth int) []jen.Code {
	if v.Pointer {
		plain := *v
		plain.Pointer = false
		return []jen.Code{jen.If(jen.Op("!").Id("d").Dot("Null").Call()).Block(w.shape(&plain, place, depth)...)}
	}
	switch v.Kind {
	case schema.Union:
		return []jen.Code{w.union(v, place, depth)}
	case schema.Struct:
		return w.shapeObject(v, depth)
	case schema.Map:
		return w.shapeMap(v, place, depth)
	case schema.List:
		return w.shapeList(v, place, depth)
	case schema.Any:
		return []jen.Code{jen.Id("_").Op("=").Id("d").Dot("Raw").Call()}
	}
	name := map[schema.Kind]string{schema.String: "text", schema.Int: "num", schema.Float: "num", schema.Bool: "v"}[v.Kind]
	read := func() *jen.Statement { return jen.Id(numbered(name, depth)) }
	checks := w.checks(read, v, place)
	if len(checks) == 0 {
		return []jen.Code{jen.Id("_").Op("=").Add(w.read(v))}
	}
	return append([]jen.Code{read().Op(":=").Add(w.read(v))}, checks...)
}

func (w *writer) union(v *schema.Value, place string, depth int) jen.Code {
	var cases []jen.Code
	var names []string
	for _, form := range v.Forms {
		key := map[schema.Kind]rune{
			schema.String: '"', schema.Int: '0', schema.Float: '0', schema.Bool: 't', schema.List: '[', schema.Map: '{', schema.Struct: '{',
		}[form.Kind]
		names = append(names, map[rune]string{'"': "a string", '0': "a number", 't': "true or false", '[': "an array", '{': "an object"}[key])
		cases = append(cases, jen.Case(jen.LitRune(key)).Block(w.shape(form, place, depth+1)...))
	}
	cases = append(cases, jen.Default().Block(jen.Id("d").Dot("Want").Call(jen.Lit(strings.Join(names, " or ")))))
	return jen.Switch(jen.Id("d").Dot("Peek").Call()).Block(cases...)
}

func (w *writer) shapeObject(v *schema.Value, depth int) []jen.Code {
	o := numbered("o", depth)
	var cases, known []jen.Code
	for i, f := range v.Struct.Fields {
		known = append(known, jen.Lit(f.Name))
		read := w.shape(f.Value, identifierOf(f.Name), depth+1)
		code := append([]jen.Code{once(o, i)}, read...)
		if !f.Required && !f.Value.Pointer && f.Value.Kind != schema.Any { // the schema has no null for it
			code = []jen.Code{given(o, i, read)}
		}
		cases = append(cases, jen.Case(jen.Lit(f.Name)).Block(code...))
	}
	loop := jen.Id(o).Dot("Unknown").Call(known...)
	if len(cases) > 0 {
		loop = jen.Switch(jen.Id(o).Dot("Key").Call()).Block(append(cases, jen.Default().Block(loop))...)
	}
	code := []jen.Code{
		jen.Id(o).Op(":=").Id("d").Dot("Object").Call(),
		jen.For(jen.Id(o).Dot("Next").Call()).Block(loop),
	}
	for i, f := range v.Struct.Fields {
		if f.Required {
			code = append(code, jen.Id(o).Dot("Require").Call(jen.Lit(i), jen.Lit(f.Name)))
		}
	}
	return code
}

func (w *writer) shapeMap(v *schema.Value, place string, depth int) []jen.Code {
	m, names := numbered("m", depth), numbered("names", depth)
	key := func() *jen.Statement { return jen.Id(names).Index(jen.Id(m).Dot("Key").Call()) }
	return []jen.Code{
		jen.Id(m).Op(":=").Id("d").Dot("Object").Call(),
		jen.Id(names).Op(":=").Map(jen.String()).Bool().Values(),
		jen.For(jen.Id(m).Dot("Next").Call()).Block(append([]jen.Code{
			jen.If(key()).Block(jen.Id(m).Dot("Twice").Call()),
			key().Op("=").True(),
		}, w.shape(v.Elem, place, depth+1)...)...),
	}
}

func (w *writer) shapeList(v *schema.Value, place string, depth int) []jen.Code {
	a := numbered("a", depth)
	code := []jen.Code{
		jen.Id(a).Op(":=").Id("d").Dot("Array").Call(),
		jen.For(jen.Id(a).Dot("Next").Call()).Block(w.shape(v.Elem, place, depth+1)...),
	}
	return append(code, counts(a, v)...)
}

func counts(a string, v *schema.Value) []jen.Code {
	var code []jen.Code
	if v.MinItems != nil {
		code = append(code, jen.Id(a).Dot("AtLeast").Call(jen.Lit(*v.MinItems)))
	}
	if v.MaxItems != nil {
		code = append(code, jen.Id(a).Dot("AtMost").Call(jen.Lit(*v.MaxItems)))
	}
	return code
}

// identifierOf makes a part of a Go name from the name of a member.
func identifierOf(name string) string {
	return exported(strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, name))
}

func paramNames(sig *types.Signature) []string {
	var names []string
	for v := range sig.Params().Variables() {
		names = append(names, v.Name())
	}
	return names
}
