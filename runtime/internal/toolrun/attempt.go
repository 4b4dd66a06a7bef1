package toolrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
)

// errTimeLimit is the cause of an attempt's context after the attempt's time limit.
var errTimeLimit = errors.New("runtime: the tool's time is over")

// attempts is a call as its wraps see it.
type attempts struct{ run *Run }

// Run implements [hook.ToolNext]: it makes one attempt. If the attempt may not start, it
// returns the result of the attempt before.
func (a attempts) Run(ctx context.Context) message.ToolResult {
	r := a.run
	r.attempts++
	if r.admit(ctx) {
		defer r.release()
		r.started = true
		r.last = r.attempt(ctx)
	} else if !r.started {
		r.last = r.notAdmitted()
	}
	return r.last
}

// attempt runs the tool within its time limit.
func (r *Run) attempt(ctx context.Context) message.ToolResult {
	env := hook.Env{Call: r.Place, Grant: r.Place.Grant(), Attempt: r.attempts, Key: r.Key}.WithProgress(r.report)
	if limit := shorter(r.Place.Tool().Timeout, r.Place.Grant().Timeout); limit > 0 {
		return r.limited(ctx, env, limit)
	}
	env.Deadline, _ = ctx.Deadline()
	return composite.Call{Env: env, Runner: r.Tool}.Run(ctx)
}

// shorter returns the smaller of two limits, where 0 is no limit.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// limited runs the tool on a goroutine of its own, so that a tool that ignores its context
// holds the call no longer than the grace period after its time limit.
func (r *Run) limited(ctx context.Context, env *hook.Env, limit time.Duration) message.ToolResult {
	limited, cancel := context.WithTimeoutCause(ctx, limit, errTimeLimit)
	defer cancel()
	late, stop := abandoned.Late(limited, r.env.Grace)
	defer stop()
	env.Deadline, _ = limited.Deadline()
	result, unlock := composite.PanicResult(), r.queue.unlock // the result if the tool ends the goroutine
	r.queue.unlock = func() {}
	call := abandoned.Go(&r.runner.abandoned, r.work(), func() error {
		defer unlock()
		result = composite.Call{Env: env, Runner: r.Tool}.Run(limited)
		return nil
	})
	timedOut := fmt.Sprintf("timed out after %s", limit)
	switch {
	case !errors.Is(call.Wait(late), abandoned.ErrStillRuns):
		return inTime(limited, result, timedOut)
	case ctx.Err() != nil:
		return message.FailedResult(message.FailCancelled, "interrupted: the tool did not end when the turn was cancelled; what it did is not known")
	}
	return message.FailedResult(message.FailTimeout, timedOut+"; it did not end, and what it did is not known")
}

// inTime marks a failed result as a timeout if the time limit has passed. It keeps the text
// of the tool, unless the result is just cancelled.
func inTime(limited context.Context, r message.ToolResult, timedOut string) message.ToolResult {
	if !r.IsError() || !errors.Is(context.Cause(limited), errTimeLimit) {
		return r
	}
	if r.Failure == message.FailCancelled {
		return message.FailedResult(message.FailTimeout, timedOut)
	}
	r.Failure = message.FailTimeout
	return r
}
