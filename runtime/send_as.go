package runtime

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// AnswerType is a type of answers: tool.ValueOf of package hook/tool makes one of a struct.
type AnswerType[T any] interface {
	// Schema is the JSON Schema of the type, and Name labels it; "" is no label.
	Schema() message.JSON
	Name() string
	// Decode reads an answer. It returns an error for one that does not fit.
	Decode(text message.JSON) (T, error)
}

// SendAs is [Conversation.Send] with an answer of type T. It asks for JSON of the type's
// schema, in place of the format of o.Model and the agent's format, and decodes the answer. With
// subsystems/structured in the composite, the model gets a reply that does not fit back and can
// correct it, and models without a response format work too.
//
// If the error is nil, T is the answer of a completed turn. Otherwise T is zero, and the error
// is that of Send, the Err of the outcome, or an error that wraps ErrAnswer: the turn ended
// without an answer, or nobody had checked the answer and it does not fit.
func SendAs[T any](ctx context.Context, c *Conversation, as AnswerType[T], in message.Input, o *TurnOptions) (T, hook.TurnOutcome, error) {
	var zero T
	opts := orZero(o)
	opts.Model.Format = message.ResponseFormat{JSON: true, Schema: as.Schema(), Name: as.Name()}
	out, err := c.Send(ctx, in, &opts)
	switch {
	case err != nil:
		return zero, out, err
	case out.Err != nil:
		return zero, out, out.Err
	case out.Stop != hook.StopCompleted:
		return zero, out, fmt.Errorf("%w: the turn ended for the reason %s", ErrAnswer, out.Stop)
	}
	answer, err := as.Decode(message.JSON(out.Text()))
	if err != nil {
		return zero, out, fmt.Errorf("%w: %w; subsystems/structured in the composite has models correct such answers", ErrAnswer, err)
	}
	return answer, out, nil
}
