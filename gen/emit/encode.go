package emit

import (
	"go/types"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/schema"
)

const replyPath = "github.com/grapnel-go/grapnel/composite/reply"

// encoders writes the functions that write the results of a package's tools, one for each struct.
type encoders struct {
	f     *File
	names map[string]string
	todo  []pending
}

func newEncoders(f *File) *encoders { return &encoders{f: f, names: map[string]string{}} }

// name returns the name of the function that writes the object. One without a name of its own is called after the place where it
// is used.
func (e *encoders) name(o *schema.Object, place string) string {
	key := types.TypeString(o.Type, nil)
	if name := e.names[key]; name != "" {
		return name
	}
	name := e.f.function("encode", o.Type, place)
	e.names[key] = name
	e.todo = append(e.todo, pending{name: name, object: o})
	return name
}

// code returns the functions that were asked for, in the order in which they were.
func (e *encoders) code() []jen.Code {
	var out []jen.Code
	for i := 0; i < len(e.todo); i++ { // writing one may ask for more
		out = append(out, e.function(e.todo[i].name, e.todo[i].object))
	}
	return out
}

// result writes the statements that return the result of a call, of which v says how it is written.
func (e *encoders) result(called *jen.Statement, v *schema.Value, place string) []jen.Code {
	w := &resultWriter{e: e, place: place}
	out := func() *jen.Statement { return jen.Id("out") }
	body := []jen.Code{
		jen.List(out(), jen.Err()).Op(":=").Add(called),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Qual(compositePath, "Failed").Call(jen.Err()))),
		encoder().Op(":=").Qual(replyPath, "New").Call(),
	}
	body = append(body, w.value(encoder, out, v, 1)...)
	return append(body, jen.Return(encoder().Dot("Result").Call()))
}

func encoder() *jen.Statement { return jen.Id("e") }

// function writes one encoder.
func (e *encoders) function(name string, o *schema.Object) jen.Code {
	body := []jen.Code{encoder().Dot("Object").Call()}
	for _, f := range o.Fields {
		w := &resultWriter{e: e, place: strings.TrimPrefix(name, "encode") + exported(lastName(f.Go))}
		dst := func() *jen.Statement { return selector("out", f.Go) }
		at := func() *jen.Statement { return encoder().Dot("Name").Call(jen.Lit(f.Name)) }
		if unless := present(dst, f); unless != nil {
			body = append(body, jen.If(unless).Block(w.set(at, dst, f.Value, 1)...))
			continue
		}
		body = append(body, w.value(at, dst, f.Value, 1)...)
	}
	return jen.Func().Id(name).Params(
		encoder().Op("*").Qual(replyPath, "Encoder"),
		jen.Id("out").Op("*").Add(e.f.Type(o.Type)),
	).Block(append(body, encoder().Dot("EndObject").Call())...)
}

// present writes the condition under which a field is written; nil if it always is.
func present(dst target, f *schema.Field) *jen.Statement {
	var filled *jen.Statement
	if f.OmitEmpty || f.OmitZero && !f.IsZero {
		filled = notEmpty(dst, f)
	}
	if !f.IsZero {
		return filled
	}
	if f.Value.Pointer {
		filled = dst().Op("!=").Nil()
	}
	return and(filled, jen.Op("!").Add(dst()).Dot("IsZero").Call())
}

// notEmpty writes that a value is not empty, or not zero, which differ for slices and maps only; nil if its type has no value
// that is.
func notEmpty(dst target, f *schema.Field) *jen.Statement {
	if f.Value.Pointer {
		return dst().Op("!=").Nil()
	}
	switch u := f.Value.Type.Underlying().(type) {
	case *types.Slice, *types.Map:
		if !f.OmitEmpty {
			return dst().Op("!=").Nil()
		}
		return jen.Len(dst()).Op("!=").Lit(0)
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			return dst()
		case u.Info()&types.IsString != 0:
			return dst().Op("!=").Lit("")
		}
		return dst().Op("!=").Lit(0)
	}
	return nil
}

// resultWriter writes the statements that write one value.
type resultWriter struct {
	e     *encoders
	place string
}

// value writes v, which stands in dst, to what at returns: the encoder, behind a name or a comma if there must be one. Depth tells
// apart the variables of lists in lists.
func (w *resultWriter) value(at, dst target, v *schema.Value, depth int) []jen.Code {
	var missing *jen.Statement // the condition under which it is null
	if v.Pointer {
		missing = dst().Op("==").Nil()
	}
	if list := v.Kind == schema.List && isSlice(v.Type) || v.Kind == schema.Map; list {
		if v.Pointer {
			pointer := dst
			dst = func() *jen.Statement { return jen.Op("*").Add(pointer()) }
			plain := *v
			plain.Pointer = false
			v = &plain
		}
		missing = either(missing, dst().Op("==").Nil())
	}
	if missing == nil {
		return w.set(at, dst, v, depth)
	}
	var code []jen.Code
	if began := at(); len(*began) > 1 {
		code = append(code, began)
	}
	return append(code, jen.If(missing).Block(encoder().Dot("Null").Call()).Else().Block(w.set(encoder, dst, v, depth)...))
}

// either joins two conditions, of which the first may be nil.
func either(first, second *jen.Statement) *jen.Statement {
	if first == nil {
		return second
	}
	return first.Op("||").Add(second)
}

// set is value for what is not nil.
func (w *resultWriter) set(at, dst target, v *schema.Value, depth int) []jen.Code {
	if v.Kind == schema.Struct {
		ptr := dst()
		if !v.Pointer {
			ptr = jen.Op("&").Add(ptr)
		}
		return []jen.Code{jen.Id(w.e.name(v.Struct, w.place)).Call(at(), ptr)}
	}
	if v.Kind == schema.Own {
		return []jen.Code{at().Dot("Marshal").Call(dst())}
	}
	if v.Pointer {
		plain := *v
		plain.Pointer = false
		return w.value(at, func() *jen.Statement { return jen.Op("*").Add(dst()) }, &plain, depth)
	}
	switch v.Kind {
	case schema.List:
		return w.wrapped(at, "Array", w.list(dst, v, depth))
	case schema.Map:
		return w.wrapped(at, "Object", w.entries(dst, v, depth))
	}
	return []jen.Code{w.plain(at, dst, v)}
}

// wrapped writes the brackets of a list or of a map.
func (w *resultWriter) wrapped(at target, kind string, loop jen.Code) []jen.Code {
	return []jen.Code{at().Dot(kind).Call(), loop, encoder().Dot("End" + kind).Call()}
}

func (w *resultWriter) list(dst target, v *schema.Value, depth int) jen.Code {
	next := func() *jen.Statement { return encoder().Dot("Next").Call() }
	if v.Elem.Kind == schema.Struct && !v.Elem.Pointer { // by its address, not copied
		i := numbered("i", depth)
		elem := func() *jen.Statement { return indexed(dst, i) }
		return jen.For(jen.Id(i).Op(":=").Range().Add(dst())).Block(w.value(next, elem, v.Elem, depth+1)...)
	}
	item := numbered("item", depth)
	elem := func() *jen.Statement { return jen.Id(item) }
	return jen.For(jen.List(jen.Id("_"), jen.Id(item)).Op(":=").Range().Add(dst())).Block(w.value(next, elem, v.Elem, depth+1)...)
}

// entries writes the entries of a map by their keys, sorted as encoding/json does.
func (w *resultWriter) entries(dst target, v *schema.Value, depth int) jen.Code {
	key, item := numbered("key", depth), numbered("item", depth)
	text := jen.Id(key)
	if k := v.Type.Underlying().(*types.Map).Key(); !types.Identical(k, types.Typ[types.String]) {
		text = jen.String().Parens(jen.Id(key))
	}
	at := func() *jen.Statement { return encoder().Dot("Key").Call(text.Clone()) }
	elem := func() *jen.Statement { return indexed(dst, key) }
	var loop []jen.Code
	if w.parts(v.Elem) { // which is looked at more than once
		loop = append(loop, jen.Id(item).Op(":=").Add(elem()))
		elem = func() *jen.Statement { return jen.Id(item) }
	}
	return jen.For(jen.List(jen.Id("_"), jen.Id(key)).Op(":=").Range().Qual("slices", "Sorted").Call(jen.Qual("maps", "Keys").Call(dst()))).
		Block(append(loop, w.value(at, elem, v.Elem, depth+1)...)...)
}

// parts reports whether the code that writes the value takes its address or names it more than once.
func (w *resultWriter) parts(v *schema.Value) bool {
	return v.Pointer || v.Kind == schema.Struct || v.Kind == schema.List || v.Kind == schema.Map
}

// plain writes a value without parts.
func (w *resultWriter) plain(at, dst target, v *schema.Value) *jen.Statement {
	quoted := ""
	if v.Quoted {
		quoted = "Quoted"
	}
	switch v.Kind {
	case schema.Int:
		return at().Dot(quoted + "Int").Call(converted(dst, v, types.Int64))
	case schema.Uint:
		return at().Dot(quoted + "Uint").Call(converted(dst, v, types.Uint64))
	case schema.Float:
		return at().Dot(quoted+"Float").Call(converted(dst, v, types.Float64), jen.Lit(v.Bits))
	case schema.Bool:
		return at().Dot(quoted + "Bool").Call(converted(dst, v, types.Bool))
	case schema.Bytes:
		return at().Dot("Bytes").Call(dst())
	}
	return at().Dot("String").Call(converted(dst, v, types.String))
}

// converted writes the value as one of the predeclared type.
func converted(dst target, v *schema.Value, to types.BasicKind) *jen.Statement {
	t := types.Typ[to]
	if types.Identical(v.Type, t) {
		return dst()
	}
	return jen.Id(t.Name()).Parens(dst())
}

// indexed writes an element of what stands in dst, which may be behind a pointer.
func indexed(dst target, index string) *jen.Statement {
	list := dst()
	if strings.HasPrefix(list.GoString(), "*") {
		list = jen.Parens(list)
	}
	return list.Index(jen.Id(index))
}

func isSlice(t types.Type) bool {
	_, ok := t.Underlying().(*types.Slice)
	return ok
}
