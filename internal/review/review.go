// Package review has a model review what others have written.
package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/fence"
)

// Question is one request for a verdict.
type Question struct {
	// Model reviews; "" is the agent's.
	Model string
	// Instructions are the reviewer's. Data is a value whose JSON is the message: no text in it can end it, and so
	// speak to the reviewer from outside.
	Instructions string
	Data         any
	// Timeout bounds the review.
	Timeout time.Duration
}

// Error is why there is no verdict.
type Error struct {
	// Reason is one sentence for people. It quotes nothing of what was reviewed.
	Reason string
	// Err is the cause; nil if the reviewer has answered.
	Err error
}

// Error returns the reason.
func (e *Error) Error() string { return e.Reason }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Ask puts the question through the host, whose turn pays for it. The answer is a JSON object of T's members, which may stand in one
// Markdown fence; check says what is wrong with it and quotes nothing. The error is an *Error.
func Ask[T any](ctx context.Context, host hook.Host, q Question, check func(T) error) (T, error) {
	var none T
	data, err := json.Marshal(q.Data)
	if err != nil {
		return none, &Error{"it cannot be given to the reviewer", err}
	}
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	reply, err := host.CallModel(ctx, message.ModelRequest{
		Model: message.Model{Name: q.Model}, System: q.Instructions, Messages: message.MessagesOf(message.UserText(string(data))),
	})
	switch {
	case errors.Is(err, hook.ErrBudget):
		return none, &Error{"the turn may spend no more, so nobody has reviewed it", err}
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return none, &Error{fmt.Sprintf("the review did not end within %s", q.Timeout), err}
	case err != nil:
		return none, &Error{"the review failed: " + Cut(err.Error(), 300), err}
	case reply.Finish != message.FinishStop:
		return none, &Error{Reason: "the review broke off"}
	}
	v, err := message.DecodeStrict[T](message.JSON(fence.Trim(reply.Text())))
	if err != nil {
		err = errors.New("it is not the JSON object that was asked for")
	} else {
		err = check(v)
	}
	if err != nil {
		return none, &Error{"the verdict cannot be read: " + err.Error(), err}
	}
	return v, nil
}

// Cut returns at most n bytes of the text, with a mark where it was cut.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + " […]"
}
