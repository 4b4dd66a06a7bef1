// Package dialog runs turns for tests that want one error: that of a turn that did not
// begin, or else that of the turn.
package dialog

import (
	"cmp"
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
)

// Conversation returns the conversation of the agent of that name with the sender.
func Conversation(ctx context.Context, rt *runtime.Runtime, agent, sender string) (*runtime.Conversation, error) {
	a, err := rt.Agent(agent)
	if err != nil {
		return nil, err
	}
	return a.Conversation(ctx, sender)
}

// Send is [runtime.Conversation.Send].
func Send(ctx context.Context, c *runtime.Conversation, in message.Input, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
	out, err := c.Send(ctx, in, o)
	return out, cmp.Or(err, out.Err)
}

// Resume continues the interrupted turn and waits for its end. The end of ctx stops it.
func Resume(ctx context.Context, c *runtime.Conversation, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
	t, err := c.Resume(ctx, o)
	if err != nil {
		out := hook.TurnOutcome{Stop: hook.StopError, Err: err}
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			out.Stop = hook.StopCancelled
		}
		return out, err
	}
	defer context.AfterFunc(ctx, func() { t.Stop(context.Cause(ctx)) })()
	out, err := t.Wait(context.Background())
	return out, cmp.Or(err, out.Err)
}

// Steer says something to the turn that runs.
func Steer(ctx context.Context, c *runtime.Conversation, in message.Input) error {
	if t := c.Running(); t != nil {
		return t.Steer(ctx, in)
	}
	return runtime.ErrIdle
}

// Stop stops the turn that runs, as its user does. It reports whether there was one.
func Stop(c *runtime.Conversation) bool {
	t := c.Running()
	if t != nil {
		t.Stop(nil)
	}
	return t != nil
}
