// Package points has every point of package hook for tests, mostly generated: a hook that passes each call to one function, a
// function that calls a point, and the answers of a decider. A point with a new type of place or value needs a line in Places or
// sample.
package points

import (
	"context"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

//go:generate go run ../../../gen/internal/pointgen points ../../../hook

// Decision is the answer of a decider.
type Decision interface{ Verdict() hook.Verdict }

// Hook has every point. The zero Hook leaves everything as it is.
type Hook struct {
	hook.Nop
	// Do is called at every point outside the methods of [hook.Hook] with the arguments, the place first. It returns the answer;
	// nil is no opinion, no contribution, or the unchanged value. Answers of observers and wraps are dropped, and errors at points
	// that return none.
	Do func(ctx context.Context, p hook.Point, shown ...any) (any, error)
}

var _ All = Hook{}

func (h Hook) do(ctx context.Context, p hook.Point, shown ...any) (any, error) {
	if h.Do == nil {
		return nil, nil
	}
	return h.Do(ctx, p, shown...)
}

// answered converts the answer to the type of its point; none for nil.
func answered[T any](none T) func(v any, err error) (T, error) {
	return func(v any, err error) (T, error) {
		if t, ok := v.(T); ok {
			return t, err
		}
		return none, err
	}
}

// OnOpen implements hook.OnOpen.
func (h Hook) OnOpen(ctx context.Context, host hook.Host) error {
	_, err := h.do(ctx, point.OnOpen, host)
	return err
}

// OnClose implements hook.OnClose.
func (h Hook) OnClose(ctx context.Context) error {
	_, err := h.do(ctx, point.OnClose)
	return err
}

// WrapModel implements hook.WrapModel.
func (h Hook) WrapModel(ctx context.Context, step *hook.Step, req message.ModelRequest, next hook.ModelNext) message.ModelStream {
	_, _ = h.do(ctx, point.WrapModel, step, req)
	return next.Stream(ctx)
}

// WrapTool implements hook.WrapTool.
func (h Hook) WrapTool(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	_, _ = h.do(ctx, point.WrapTool, call)
	return next.Run(ctx)
}

// given returns the value of type T, or the zero value.
func given[T any](values []any) (t T) {
	for _, v := range values {
		if t, ok := v.(T); ok {
			return t
		}
	}
	return t
}

// sample returns a value for the parameter of an answer, with the name or the number in it.
func sample[T any](name string, n int) (t T) {
	switch p := any(&t).(type) {
	case *string:
		*p = name
	case *message.JSON:
		*p = message.JSON(name)
	case *time.Duration:
		*p = time.Duration(n)
	case *message.ModelReply:
		p.Model = name
	case *message.ToolResult:
		*p = message.TextResult(name)
	case *hook.Grant:
		*p = hook.Grant{Root: "/" + name, MaxOutput: 10 + n}
	case *hook.StopReason:
		*p = []hook.StopReason{hook.StopTokenLimit, hook.StopFinishReason, hook.StopStepsLimit, ""}[n%4]
	}
	return t
}

// Places returns the places of one call and the values for [Ask]. The values have text as their texts.
func Places(host hook.Host, tool, text string) []any {
	cfg := hook.AgentConfig{Name: "agent"}.WithHost(host)
	conversation := hook.NewConversation(hook.ConversationData{ID: "c", Agent: &cfg, Host: host})
	session, _ := hook.NewSession(hook.SessionData{Conversation: conversation, ID: "s"})
	input := message.TextInput(text)
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conversation, Session: session, ID: "t", Input: input})
	step := hook.NewStep(turn, 1, "m")
	call := hook.NewToolCall(hook.ToolCallData{Step: step, ID: "1", Tool: message.Tool{Name: tool}, Args: `{"path":"p"}`})
	return []any{
		&cfg, conversation, session, turn, step, call, input, message.JSON(text), message.ModelRequest{System: text},
		message.ModelReply{Model: text}, message.ModelFailure{Model: text}, message.TextResult(text), hook.InvalidCall{Reason: text},
		hook.AskTool("?"), hook.ToolOutcome{Outcome: message.OutcomeExecuted}, hook.Compacted{Summary: text},
	}
}

// Text returns the text in a value of [Places], "" if the value has none.
func Text(v any) string {
	switch v := v.(type) {
	case message.Input:
		return v.Text()
	case message.JSON:
		return string(v)
	case message.ModelRequest:
		return v.System
	case message.ModelReply:
		return v.Model
	case message.ToolResult:
		return v.Text()
	case hook.Compacted:
		return v.Summary
	case hook.ToolOutcome:
		return string(v.Outcome)
	case Decision:
		return v.Verdict().By
	case interface{ Name() string }:
		return v.Name()
	case interface{ ID() string }:
		return v.ID()
	}
	return ""
}

// SetText returns a value of a rewriter with another text. It panics if the type has none.
func SetText[T any](v T, text string) T {
	switch p := any(&v).(type) {
	case *message.Input:
		*p = message.TextInput(text)
	case *message.JSON:
		*p = message.JSON(text)
	case *message.ModelRequest:
		p.System = text
	case *message.ModelReply:
		p.Model = text
	case *message.ToolResult:
		*p = message.TextResult(text)
	default:
		panic(fmt.Sprintf("points: SetText does not know %T", v))
	}
	return v
}
