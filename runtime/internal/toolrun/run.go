package toolrun

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
)

// Run is one call whose tool is known. Set the exported fields, hand it to [Runner.RunAll],
// and do not copy or change it after that. The goroutine of an abandoned call keeps it
// until the call ends.
type Run struct {
	// Place is the call as hooks and the tool see it. Its grant bounds the attempts.
	Place *hook.ToolCall
	// Tool runs the call.
	Tool hook.Runner
	// Key is the same for every attempt at the call, also in another process.
	Key string

	runner *Runner
	env    Env
	task   abandoned.Task
	// hasSlot: an attempt has a slot. The attempt at its end, or Abandon, sets it to false
	// and gives the slot back.
	hasSlot atomic.Bool

	// Only the goroutine of the call writes the fields below, until the task has ended.

	attempts int
	// started: an attempt was admitted. last is the result of the last such attempt.
	started bool
	last    message.ToolResult
	queue   queue
	end     composite.Completion
}

var _ hook.Runner = (*Run)(nil)

// Abandon abandons the call, unless it has ended, and returns the state before. A call that
// waited never begins. A call that runs gives its slot back. Any goroutine may call it at
// any time.
func (r *Run) Abandon() abandoned.State {
	was := r.task.Abandon()
	if was == abandoned.Running {
		r.freeSlot()
	}
	return was
}

// End returns how the call ended. Call it only after Abandon has returned
// [abandoned.Ended].
func (r *Run) End() composite.Completion { return r.end }

// Run implements [hook.Runner] for [composite.DispatchAll]: it runs the whole call.
func (r *Run) Run(ctx context.Context, _ *hook.Env) message.ToolResult {
	if !r.task.Begin(&r.runner.abandoned, r.work()) {
		return cancelled("")
	}
	began := time.Now()
	result, returned := message.ToolResult{}, false
	defer func() {
		if !returned { // the tool or a wrap ended the goroutine
			result = composite.PanicResult()
		}
		r.end = r.completion(result, time.Since(began))
		r.task.End()
	}()
	result = r.env.Hooks.WrapTool(ctx, r.Place, attempts{r})
	returned = true
	return result
}

// completion describes a call that returned the result after the time took. Queued time does
// not count. A call without an attempt that started was cancelled.
func (r *Run) completion(result message.ToolResult, took time.Duration) composite.Completion {
	switch {
	case r.started:
		return composite.Completion{Result: result, Outcome: result.Outcome(), Duration: took - r.queue.waited}
	case r.queue.crowded:
		return composite.Completion{Result: result, Outcome: result.Outcome()}
	}
	return composite.Completion{Result: result, Outcome: message.OutcomeCancelled}
}

// report emits the progress of the call. An abandoned call
// emits none, because the conversation may have another turn by then.
func (r *Run) report(text string) {
	if r.task.State() == abandoned.Abandoned {
		return
	}
	r.Place.Host().Emit(r.env.Events, hook.Event{Kind: event.CallProgress, Text: text}.
		WithDetail(hook.EventDetail{CallID: r.Place.ID(), Tool: r.Place.Name()}))
}

// work is the kind under which an abandoned call is counted.
func (r *Run) work() abandoned.Work { return abandoned.Work{Tool: r.Place.Name()} }

// cancelled is the result of a call that never started; why may be "".
func cancelled(why string) message.ToolResult {
	return message.FailedResult(message.FailCancelled, "cancelled before it started"+why)
}
