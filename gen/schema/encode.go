package schema

import (
	"go/types"
	"slices"
	"strings"
)

// encoding returns how generated code writes a result, in the bytes of encoding/json; nil where that is left to encoding/json
// itself: text and results that are no JSON of ours, types that are known only at run time, that refer to themselves or encode
// themselves as text, types of other modules, which may change without this code, and what is seldom in a result (keys that are
// no strings, pointers to pointers, structs embedded by pointer, and some options of tags).
//
// In the value, Pointer is set for a pointer only: a slice or map is null when it is nil without it. Kind Own is what has a
// MarshalJSON that encoding/json calls whatever the place.
func (b *builder) encoding(t types.Type) *Value {
	switch fullName(types.Unalias(t)) {
	case "github.com/grapnel-go/grapnel/hook.ToolResult", "github.com/grapnel-go/grapnel/hook.JSON":
		return nil
	}
	if types.Identical(t, types.Typ[types.String]) || Parametric(t) {
		return nil
	}
	return (&encodings{b: b}).value(t)
}

// encodings is the walk through one result.
type encodings struct {
	b    *builder
	open []types.Type
}

// value reads a type; nil if it, or something in it, is left to encoding/json.
func (w *encodings) value(t types.Type) *Value {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		v := w.value(p.Elem())
		if v == nil || v.Pointer {
			return nil
		}
		v.Pointer = true
		return v
	}
	v := &Value{Type: t}
	switch own := encodesItself(t); {
	case own == "MarshalJSON" && types.NewMethodSet(t).Lookup(nil, own) != nil:
		v.Kind = Own
		return v
	case own != "" || !w.settled(t) || fullName(t) == "encoding/json.Number":
		return nil
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if v.basic(u) {
			return v
		}
	case *types.Struct:
		return w.structure(v)
	case *types.Slice:
		if types.Identical(u.Elem(), types.Typ[types.Uint8]) {
			v.Kind = Bytes
			return v
		}
		if b, ok := u.Elem().Underlying().(*types.Basic); ok && b.Kind() == types.Uint8 {
			return nil // bytes of a named type
		}
		return w.elem(v, List, u.Elem())
	case *types.Array:
		return w.elem(v, List, u.Elem())
	case *types.Map:
		key, ok := u.Key().Underlying().(*types.Basic)
		if ok && key.Info()&types.IsString != 0 && w.settled(u.Key()) && encodesItself(u.Key()) == "" {
			return w.elem(v, Map, u.Elem())
		}
	}
	return nil
}

// settled reports whether a named type is of this module or of the standard library: one of another module may change, with the
// module, into something that is written in another way.
func (w *encodings) settled(t types.Type) bool {
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil || w.b.src.Ours == nil {
		return true
	}
	if first, _, _ := strings.Cut(n.Obj().Pkg().Path(), "/"); !strings.Contains(first, ".") {
		return true
	}
	return w.b.src.Ours(n.Obj())
}

func (w *encodings) elem(v *Value, kind Kind, elem types.Type) *Value {
	v.Kind, v.Elem = kind, w.value(elem)
	if v.Elem == nil {
		return nil
	}
	return v
}

func (w *encodings) structure(v *Value) *Value {
	if w.b.unnameableWithin(v.Type) || slices.ContainsFunc(w.open, func(o types.Type) bool { return types.Identical(o, v.Type) }) {
		return nil
	}
	w.open = append(w.open, v.Type)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	v.Kind, v.Struct = Struct, &Object{Type: v.Type}
	all := allWritten(v.Type, nil, false)
	for i := range all {
		if !dominates(all, i) {
			continue
		}
		f := w.field(v.Type, all[i])
		if f == nil {
			return nil
		}
		v.Struct.Fields = append(v.Struct.Fields, f)
	}
	return v
}

func (w *encodings) field(owner types.Type, c written) *Field {
	f := &Field{Name: c.name, Go: c.path(owner, w.b.pkg), OmitEmpty: c.has("omitempty"), OmitZero: c.has("omitzero")}
	if c.maybe || !c.v.Exported() || !w.reachable(c, f.Go) {
		return nil
	}
	f.Value = w.value(c.v.Type())
	if f.Value == nil {
		return nil
	}
	_, array := c.v.Type().Underlying().(*types.Array)
	_, isStruct := c.v.Type().Underlying().(*types.Struct)
	f.IsZero = f.OmitZero && isZeroer(c.v.Type())
	if f.OmitEmpty && array || f.OmitZero && !f.IsZero && (array || isStruct) {
		return nil
	}
	if c.has("string") {
		if f.Value.Kind == String {
			return nil
		}
		quoteOutput(f.Value)
	}
	return f
}

// reachable reports whether the generated package may write the path to the field.
func (w *encodings) reachable(c written, path string) bool {
	return !strings.Contains(path, ".") || !slices.ContainsFunc(c.through, func(v *types.Var) bool {
		return !v.Exported() && v.Pkg() != w.b.pkg
	})
}

// isZeroer reports whether encoding/json asks the type whether a value is zero.
func isZeroer(t types.Type) bool {
	if types.IsInterface(t) {
		return false
	}
	if _, pointer := types.Unalias(t).(*types.Pointer); !pointer {
		t = types.NewPointer(t)
	}
	m := types.NewMethodSet(t).Lookup(nil, "IsZero")
	if m == nil {
		return false
	}
	sig := m.Obj().(*types.Func).Signature()
	return sig.Params().Len() == 0 && sig.Results().Len() == 1 && types.Identical(sig.Results().At(0).Type(), types.Typ[types.Bool])
}
