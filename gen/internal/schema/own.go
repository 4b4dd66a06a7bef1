package schema

import (
	"go/types"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// own reads a type that decodes itself by the named method. A //hook:schema above the field or the type describes its JSON; without
// one a type that reads text is a string.
func (b *builder) own(t types.Type, method string, field *types.Var, owner types.Type) *Value {
	text := b.described(field)
	if n, ok := t.(*types.Named); ok && text == "" {
		text = b.described(n.Obj())
	}
	switch {
	case text == "" && method == "UnmarshalText":
		return &Value{Kind: OwnText, Type: t}
	case text == "":
		b.report(diag.FieldDecodesItself, field.Pos(), b.name(owner), field.Name(), b.name(t)).Method = method
		return nil
	}
	shape, err := Shape(text)
	if err != nil {
		return nil // reported at the directive
	}
	if method == "UnmarshalJSON" {
		return &Value{Kind: Own, Type: t, Shape: shape}
	}
	if shape.Kind != String || shape.Pointer {
		b.report(diag.SchemaNoString, field.Pos(), b.name(owner), field.Name(), b.name(t))
		return nil
	}
	return &Value{Kind: OwnText, Type: t, Doc: shape.Doc, Enum: shape.Enum, Limits: shape.Limits}
}

// describes returns the description that a shape has for the field.
func (v *Value) describes() string {
	if v.Shape != nil {
		return v.Shape.Doc
	}
	return v.Doc
}

// described returns the schema that a directive gives to a field or type.
func (b *builder) described(o types.Object) string {
	if b.src.Schema == nil {
		return ""
	}
	return b.src.Schema(o)
}

// undescribable reports a directive without effect: the type of its field does not decode itself.
func (b *builder) undescribable(field *types.Var, owner types.Type) {
	t := types.Unalias(field.Type())
	for {
		switch u := t.(type) {
		case *types.Pointer:
			t = types.Unalias(u.Elem())
			continue
		case *types.Slice:
			t = types.Unalias(u.Elem())
			continue
		case *types.Map:
			t = types.Unalias(u.Elem())
			continue
		}
		break
	}
	if special(t) == nil && decodesItself(t) != "" || b.described(field) == "" {
		return
	}
	b.report(diag.UnusedFieldSchema, field.Pos(), b.name(owner), field.Name(), b.name(t))
}

// SelfDecoding reports whether a type decodes or encodes itself, so that a //hook:schema can describe its JSON.
func SelfDecoding(t types.Type) bool { return decodesItself(t) != "" || encodesItself(t) != "" }

// input reports an input type that decodes itself: generated code never calls its method.
func (b *builder) input(t types.Type, fn *types.Func) {
	if own := decodesItself(t); own != "" {
		b.report(diag.InputDecodesItself, fn.Pos(), b.name(t), fn.Name()).Method = own
	}
}
