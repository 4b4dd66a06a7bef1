package loop

import (
	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/toolrun"
)

// execute runs the calls without an outcome and finishes each as it ends. It stores and emits
// each result except the last one: the caller then stores the whole step.
func (t *Turn) execute(reply message.ModelReply, calls []call) {
	left := 0
	for i := range calls {
		if !calls[i].hasOutcome() {
			left++
		}
	}
	if left == 0 {
		return
	}
	noted := false
	t.commitThenEmit(func() { t.emitResults(calls) }, func() { noted = t.journalStart(reply, calls) })
	if !noted {
		t.refuseRest(calls)
		for i := range calls {
			if c := &calls[i]; !c.finished {
				t.finishCall(c)
			}
		}
		return
	}
	runs := t.runs(calls, left)
	env := toolrun.Env{Hooks: t.hooks.Composite, Events: t.noCancel, Grace: t.grace()}
	t.env.Tools.RunAll(t.ctx, env, runs, func(i int, end composite.Completion) {
		c := &calls[runs[i].Place.Index()]
		c.end.Outcome, c.end.Result, c.end.Duration = end.Outcome, end.Result, end.Duration
		t.finishCall(c)
		if left--; left > 0 {
			t.journalAndEmitResult(c)
		}
	})
}

// runs returns the runs of the n calls without an outcome.
func (t *Turn) runs(calls []call, n int) []toolrun.Run {
	runs, next := make([]toolrun.Run, n), 0
	for i := range calls {
		c := &calls[i]
		if c.hasOutcome() {
			continue
		}
		c.run = &runs[next]
		c.run.Place, c.run.Tool, c.run.Grant, c.run.Key = c.at, c.runner, c.grant, t.callKey(c)
		next++
	}
	return runs
}

// journalAndEmitResult journals the result of a call and emits it.
func (t *Turn) journalAndEmitResult(c *call) {
	if !t.thread.Lease.Journals() {
		t.emitResult(c)
		return
	}
	t.commitThenEmit(func() { t.emitResult(c) }, func() { t.journalResult(c) })
}

// callKey is the idempotency key of the call. It is the same for every attempt, also in another
// process.
func (t *Turn) callKey(c *call) string { return t.id + "/" + c.at.ID() }
