package runtime

import (
	"context"
	"fmt"
	"reflect"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/tool"
)

// SendAs is [Conversation.Send] with an answer of type T, a struct with the tags of package
// hook/tool. It asks for JSON of T's schema, in place of o.Format and the agent's format, and
// decodes the answer strictly. With subsystems/structured in the composite, the model gets a
// reply that does not fit back and can correct it, and models without a response format work
// too.
//
// If the error is nil, T is the answer of a completed turn. Otherwise T is zero, and the error
// is that of Send, the Err of the outcome, or an error that wraps ErrAnswer: the turn ended
// without an answer, or nobody had checked the answer and it does not fit. A T that cannot be
// an answer is an error before the turn.
func SendAs[T any](ctx context.Context, c *Conversation, in message.Input, o *TurnOptions) (T, hook.TurnOutcome, error) {
	var zero T
	value, err := tool.ValueOf[T]()
	if err != nil {
		return zero, hook.TurnOutcome{Stop: hook.StopError, Err: err}, err
	}
	opts := orZero(o)
	opts.Format = message.ResponseFormat{JSON: true, Schema: value.Schema(), Name: formatName(reflect.TypeFor[T]())}
	out, err := c.Send(ctx, in, &opts)
	switch {
	case err != nil:
		return zero, out, err
	case out.Err != nil:
		return zero, out, out.Err
	case out.Stop != hook.StopCompleted:
		return zero, out, fmt.Errorf("%w: the turn ended for the reason %s", ErrAnswer, out.Stop)
	}
	answer, err := value.Decode(message.JSON(out.Text()))
	if err != nil {
		return zero, out, fmt.Errorf("%w: %w; subsystems/structured in the composite has models correct such answers", ErrAnswer, err)
	}
	return answer, out, nil
}

// formatName is the name of the type, or "" if providers do not take it.
func formatName(t reflect.Type) string {
	if !message.ValidToolName(t.Name()) {
		return "" // no name, or that of a generic type
	}
	return t.Name()
}
