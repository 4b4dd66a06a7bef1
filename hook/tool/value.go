package tool

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Value is a struct type as JSON, by the rules for arguments of tools: the same tags, the same
// schema and the same strict decoder. Make it with [ValueOf]; runtime.SendAs takes it as the
// type of an answer. It never changes, and is safe for concurrent use.
type Value[T any] struct{ in input }

// ValueOf returns the type T, a struct, as JSON. It reads the type once. It panics on a mistake
// in the program: T is no struct, or a field has a type or a tag that arguments cannot have.
func ValueOf[T any]() *Value[T] {
	in, err := inputOf(reflect.TypeFor[T]())
	if err != nil {
		panic(fmt.Sprintf("tool: ValueOf: %v", err))
	}
	return &Value[T]{in}
}

// Name is the name of the type, for providers that want one for a schema; "" if it is none that
// they take.
func (v *Value[T]) Name() string {
	if name := v.in.typ.Name(); message.ValidToolName(name) {
		return name
	}
	return "" // the type is generic, or has no name
}

// Schema returns the JSON Schema of the type.
func (v *Value[T]) Schema() message.JSON { return v.in.text }

// Decode reads one JSON value. The error is a *[hook.ArgError] with the place, and T is zero
// then.
func (v *Value[T]) Decode(text message.JSON) (T, error) {
	var out, zero T
	name := v.in.typ.String()
	if strings.TrimSpace(string(text)) == "" { // as arguments it would be {}
		return zero, &hook.ArgError{Tool: name, Reason: "must be a JSON object", Schema: v.in.text}
	}
	call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: name}, Args: text, Original: text})
	d := args.New(call, v.in.text)
	v.in.read(&d, reflect.ValueOf(&out).Elem())
	if err := d.Bind(nil).Err(); err != nil {
		return zero, err
	}
	return out, nil
}
