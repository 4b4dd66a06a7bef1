package schema

import (
	"go/types"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/origin"
)

// output reads the result of a tool as encoding/json writes it: a nil slice, map or pointer is null unless the tag leaves it out,
// a duration is a number, and a type that encodes itself may be anything without a //hook:schema. Constants are no enum here,
// because a result may have other values.
//
// It returns nil if the result is no JSON, has a type that is known only at run time, or refers to itself, which a schema without
// references cannot describe.
func (b *builder) output(t types.Type, fn *types.Func) *Value {
	switch fullName(types.Unalias(t)) {
	case "github.com/grapnel-go/grapnel/hook/message.ToolResult", "github.com/grapnel-go/grapnel/hook/message.JSON":
		return nil
	}
	if types.Identical(t, types.Typ[types.String]) {
		return nil
	}
	w := &outputs{b: b, fn: fn}
	v := w.value(t, "")
	if v == nil || w.recursive || v.Kind == Any {
		return nil
	}
	return v
}

// outputs describes one result.
type outputs struct {
	b    *builder
	fn   *types.Func
	open []types.Type
	// recursive: a type refers to itself.
	recursive bool
}

// value describes a type; where is the path of fields to it, for problems. It returns nil after it has reported a problem.
func (w *outputs) value(t types.Type, where string) *Value {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		v := w.value(p.Elem(), where)
		if v != nil && v.Kind != Any {
			v.Pointer = true
		}
		return v
	}
	if v := w.known(t, where); v != nil {
		return v
	}
	v := &Value{Type: t}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if !v.basic(u) {
			return w.refuse(t, where)
		}
		return v
	case *types.Interface:
		v.Kind = Any
		return v
	case *types.Struct:
		return w.structure(v, where)
	case *types.Slice:
		if basic, ok := u.Elem().Underlying().(*types.Basic); ok && basic.Kind() == types.Uint8 && encodesItself(u.Elem()) == "" {
			v.Kind, v.Pointer = Bytes, true
			return v
		}
		return w.elem(v, List, u.Elem(), true, where)
	case *types.Array:
		n := int(u.Len())
		v.MinItems, v.MaxItems = &n, &n
		return w.elem(v, List, u.Elem(), false, where)
	case *types.Map:
		if !encodableKey(u.Key()) {
			break
		}
		return w.elem(v, Map, u.Elem(), true, where)
	}
	return w.refuse(t, where)
}

// known returns the value of a type that encoding/json treats specially or that encodes itself, or nil.
func (w *outputs) known(t types.Type, where string) *Value {
	switch fullName(t) {
	case "time.Time":
		return &Value{Kind: Time, Type: t}
	case "encoding/json.Number":
		return &Value{Kind: Float, Type: t}
	}
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil && n.TypeArgs().Len() == 1 &&
		n.Obj().Pkg().Path()+"."+n.Obj().Name() == "github.com/grapnel-go/grapnel/hook/message.List" {
		return w.elem(&Value{Type: t}, List, n.TypeArgs().At(0), false, where)
	}
	own := encodesItself(t)
	if own == "" {
		return nil
	}
	if byValue := types.NewMethodSet(t).Lookup(nil, own) != nil; !byValue {
		return &Value{Kind: Any, Type: t} // encoding/json calls the method only if it can take the address
	}
	if n, ok := t.(*types.Named); ok {
		if shape, err := Shape(w.b.described(n.Obj())); err == nil {
			return &Value{Kind: Own, Type: t, Shape: shape}
		}
	}
	if own == "MarshalText" {
		return &Value{Kind: String, Type: t}
	}
	return &Value{Kind: Any, Type: t}
}

func (w *outputs) elem(v *Value, kind Kind, elem types.Type, null bool, where string) *Value {
	v.Kind, v.Pointer, v.Elem = kind, null, w.value(elem, where+"[]")
	if v.Elem == nil {
		return nil
	}
	return v
}

func (w *outputs) refuse(t types.Type, where string) *Value {
	place := "the result of " + w.fn.Name()
	if where != "" {
		place = where + " of " + place
	}
	if b, ok := t.(*types.Basic); ok && b.Kind() == types.Invalid {
		w.b.report(diag.InvalidResult, w.fn.Pos(), place)
		return nil
	}
	w.b.report(diag.ImpossibleResult, w.fn.Pos(), place, w.b.name(t))
	return nil
}

// encodableKey reports whether encoding/json writes the keys of such a map.
func encodableKey(t types.Type) bool {
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&(types.IsString|types.IsInteger) != 0 {
		return true
	}
	return types.NewMethodSet(t).Lookup(nil, "MarshalText") != nil
}

func (w *outputs) structure(v *Value, where string) *Value {
	if slices.ContainsFunc(w.open, func(o types.Type) bool { return types.Identical(o, v.Type) }) {
		w.recursive = true
		return &Value{Kind: Any, Type: v.Type}
	}
	w.open = append(w.open, v.Type)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	v.Kind, v.Struct = Struct, &Object{Type: v.Type}
	all := allWritten(v.Type, nil, false)
	for i := range all {
		if !dominates(all, i) {
			continue
		}
		if f := w.field(all[i], where); f != nil {
			v.Struct.Fields = append(v.Struct.Fields, f)
		}
	}
	return v
}

// written is a field that encoding/json may write.
type written struct {
	candidate
	// optional: it is promoted through a pointer that may be nil.
	optional bool
	// tagOptions are separated by commas.
	tagOptions string
}

func (c written) has(option string) bool {
	return slices.Contains(strings.Split(c.tagOptions, ","), option)
}

// dominates reports whether encoding/json writes field i and not another one of its name: the shallowest wins, then the one with a
// tag; if two remain neither is written.
func dominates(all []written, i int) bool {
	c := all[i]
	for j, o := range all {
		if j == i || o.name != c.name {
			continue
		}
		if len(o.through) < len(c.through) || len(o.through) == len(c.through) && (o.tagged || !c.tagged) {
			return false
		}
	}
	return true
}

// allWritten returns the fields of the struct in the order of declaration, embedded structs in place.
func allWritten(t types.Type, through []*types.Var, optional bool) []written {
	var out []written
	s := t.Underlying().(*types.Struct)
	for i := range s.NumFields() {
		v, tag := s.Field(i), reflect.StructTag(s.Tag(i))
		text := tag.Get("json")
		deep, pointer := structOf(v.Type())
		if text == "-" || !v.Exported() && (!v.Embedded() || deep == nil) {
			continue
		}
		name, options, _ := strings.Cut(text, ",")
		if !validTagName(name) {
			name = ""
		}
		if v.Embedded() && name == "" && deep != nil {
			if !slices.Contains(through, v) {
				out = append(out, allWritten(deep, append(through[:len(through):len(through)], v), optional || pointer)...)
			}
			continue
		}
		c := written{candidate: candidate{v: v, through: through, name: name, tagged: name != "", hook: tag.Get("hook")}, optional: optional, tagOptions: options}
		if name == "" {
			c.name = v.Name()
		}
		out = append(out, c)
	}
	return out
}

// structOf returns the struct that an embedded type is or points to, or nil.
func structOf(t types.Type) (types.Type, bool) {
	t = types.Unalias(t)
	p, pointer := t.(*types.Pointer)
	if pointer {
		t = types.Unalias(p.Elem())
	}
	if _, ok := t.Underlying().(*types.Struct); ok {
		return t, pointer
	}
	return nil, pointer
}

// validTagName reports whether encoding/json accepts the name of a tag.
func validTagName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

func (w *outputs) field(c written, where string) *Field {
	if where != "" {
		where += "."
	}
	empty, zero := c.has("omitempty"), c.has("omitzero")
	if zero && neverWritten(c.v.Type()) {
		return nil // it is always nil
	}
	v := w.value(c.v.Type(), where+c.v.Name())
	if v == nil {
		return nil
	}
	if c.has("string") {
		quoteOutput(v)
	}
	v.Pointer = v.Pointer && (!empty && !zero || nilBehind(c.v.Type()))
	f := &Field{Name: c.name, Value: v, Required: !c.optional && !empty && !zero}
	if w.b.src.Doc != nil {
		f.Doc = origin.Text(w.b.src.Doc(c.v))
	}
	return f
}

// nilBehind reports whether a non-nil pointer may point to something that is written as null.
func nilBehind(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	switch p.Elem().Underlying().(type) {
	case *types.Slice, *types.Map, *types.Pointer:
		return true
	}
	return false
}

// neverWritten reports whether encoding/json fails for every value of the type but nil.
func neverWritten(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Signature, *types.Chan:
		return true
	}
	return false
}

// quoteOutput applies the json option string, which encoding/json ignores for other kinds.
func quoteOutput(v *Value) {
	switch v.Kind {
	case Int, Uint, Float, Bool:
		v.Quoted = true
	}
}
