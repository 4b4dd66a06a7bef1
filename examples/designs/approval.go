package designs

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
)

// ErrSilent is what a [Way] returns that has nobody to ask.
var ErrSilent = errors.New("designs: nobody is there")

// Way asks a person whether the call may run: at a terminal, over an API, by a message. It ends with
// ctx, which ends when another way has the answer.
type Way func(ctx context.Context, call *hook.ToolCall) (yes bool, err error)

// Asking is the ApprovalHook of design 000, asked in several ways at once: whoever answers first has
// answered. A call about which nobody can be asked does not run.
//
//	000                         here
//	ApprovalHook::approve       Approve, which may wait for as long as the person needs
//	requires_approval           hook.AskTool of any BeforeTool, with a reason to show
//	Approved | Denied{reason}   hook.ApproveCall, hook.RefuseCall
//
//hook:subsystem
type Asking struct {
	hook.Nop
	Ways []Way
}

// BeforeTool asks about every call that is not read-only.
func (a *Asking) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	if call.Tool().Annotations.ReadOnly {
		return hook.ToolDecision{}, nil
	}
	return hook.AskTool("it may change something"), nil
}

// Approve asks in all ways at the same time.
func (a *Asking) Approve(ctx context.Context, call *hook.ToolCall, _ hook.ToolDecision) (hook.ApprovalDecision, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	type answer struct {
		yes bool
		err error
	}
	answers := make(chan answer, len(a.Ways)) // a late way ends although nobody listens
	for _, ask := range a.Ways {
		go func() {
			yes, err := ask(ctx, call)
			answers <- answer{yes, err}
		}()
	}
	for range a.Ways {
		select {
		case one := <-answers:
			switch {
			case one.err != nil: // another way may have somebody
			case one.yes:
				return hook.ApproveCall(), nil
			default:
				return hook.RefuseCall("a person said no"), nil
			}
		case <-ctx.Done():
			return hook.ApprovalDecision{}, ctx.Err()
		}
	}
	return hook.RefuseCall("nobody could be asked"), nil
}

// Asked is the hook with a tool.
//
//hook:composite
type Asked struct {
	Asking *Asking
	Shell  *Shell
}
