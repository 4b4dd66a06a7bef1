package tool

import (
	"fmt"
	"reflect"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Value is a struct type as JSON, by the rules for arguments of tools: the same tags, the same
// schema and the same strict decoder. Make it with [ValueOf]. It never changes, and is safe for
// concurrent use.
type Value[T any] struct{ in input }

// ValueOf reads the type T, a struct. The error says which field has a type or a tag that
// arguments cannot have.
func ValueOf[T any]() (*Value[T], error) {
	in, err := inputOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, fmt.Errorf("tool: %w", err)
	}
	return &Value[T]{in}, nil
}

// Schema returns the JSON Schema of the type.
func (v *Value[T]) Schema() message.JSON { return v.in.text }

// Decode reads one JSON value. The error is a *[hook.ArgError] with the place, and T is zero
// then.
func (v *Value[T]) Decode(text message.JSON) (T, error) {
	var out T
	call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: v.in.typ.String()}, Args: text, Original: text})
	d := args.New(call, v.in.text)
	v.in.read(&d, reflect.ValueOf(&out).Elem())
	if err := d.Bind(nil).Err(); err != nil {
		var zero T
		return zero, err
	}
	return out, nil
}
