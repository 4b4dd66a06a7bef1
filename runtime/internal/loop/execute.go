package loop

import (
	"context"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/runtime/internal/bound"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/internal/toolrun"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// finishCalls runs the calls without an outcome, and stores the reply with all results.
func (t *Turn) finishCalls(reply message.ModelReply, calls []call) (more bool) {
	t.refuseRest(calls)
	for i := range calls {
		if c := &calls[i]; c.hasOutcome() && !c.finished {
			t.finishCall(c)
		}
	}
	t.execute(reply, calls)
	t.addStepToHistory(reply, calls)
	t.openCalls.stored = true
	t.recordCalls(calls, t.hooks)
	stored := false
	t.commitThenEmit(func() {
		t.emitResults(calls)
		t.openCalls = openCalls{}
		t.emit(hook.Event{Kind: event.CallsComplete}.WithTools(t.toolNames(calls)))
	}, func() { stored = t.commit(false) })
	for i := range calls {
		for _, text := range calls[i].context.All() {
			t.history.addEphemeral(message.LabelContext, text)
		}
	}
	if t.ctx.Err() != nil {
		return t.signalCancelled()
	}
	return stored && !t.hasStop() && !t.hasFailed()
}

// refuseRest answers the calls that do not run because the turn is over.
func (t *Turn) refuseRest(calls []call) {
	text := ""
	switch {
	case t.ctx.Err() != nil:
		text = "cancelled before it started"
	case t.hasStop():
		text = "not run: the turn was stopped"
	case t.hasFailed():
		text = "not run: the turn has failed"
	default:
		return
	}
	for i := range calls {
		if !calls[i].hasOutcome() {
			calls[i].setResult(message.OutcomeCancelled, message.FailedResult(message.FailCancelled, text))
		}
	}
}

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
		c.setResult(end.Outcome, end.Result)
		c.end.Duration = end.Duration
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
		c.run.Place, c.run.Tool, c.run.Key = c.at, c.runner, t.callKey(c)
		next++
	}
	return runs
}

// journalStart journals the reply, the calls that are about to run, and the results of the
// others. If it returns false, no call may run.
func (t *Turn) journalStart(reply message.ModelReply, calls []call) bool {
	if !t.thread.Lease.Journals() {
		return true
	}
	usage, cost := t.spent()
	made := durable.Reply{Step: t.number, Usage: usage, Cost: cost, Calls: t.calls}
	entries := []store.Entry{made.Entry(t.assistantMessage(withArgs(reply.Content, calls)))}
	for i := range calls {
		if c := &calls[i]; c.hasOutcome() {
			entries = append(entries, c.resultEntry())
		} else {
			entries = append(entries, durable.StartEntry(c.at, t.callKey(c)))
		}
	}
	return t.journal(&t.forget, entries...)
}

// journalAndEmitResult journals the result of a call and emits it.
func (t *Turn) journalAndEmitResult(c *call) {
	if !t.thread.Lease.Journals() {
		t.emitResult(c)
		return
	}
	t.commitThenEmit(func() { t.emitResult(c) }, func() { t.journalResult(c) })
}

// journalResult journals a result while other calls of the step still run.
func (t *Turn) journalResult(c *call) {
	if t.thread.Lease.Journals() {
		t.journal(&t.forget, c.resultEntry())
	}
}

func (c *call) resultEntry() store.Entry {
	return durable.Result{Outcome: c.end.Outcome, Duration: c.end.Duration}.Entry(c.at.ID(), c.message())
}

// callKey is the idempotency key of the call. It is the same for every attempt, also in another
// process.
func (t *Turn) callKey(c *call) string { return t.id + "/" + c.at.ID() }

// finishCall handles the end of a call, however it ended: it cuts the result to size, and calls
// RewriteResult and AfterTool. The loop calls it once for each call, and then emitResults.
func (t *Turn) finishCall(c *call) {
	ctx, done := t.afterContext()
	defer done()
	if c.mayHaveRun && c.end.Outcome == message.OutcomeCancelled { // this process did not start it again
		c.setInterrupted()
	}
	r := bound.Result(c.end.Result, t.maxResult(c))
	c.end.Result = r
	t.enterForeign(point.RewriteResult)
	r, err := t.hooks.RewriteResult(ctx, c.at, r)
	t.exitForeign()
	if err != nil {
		f := failure.Of(point.RewriteResult, err)
		t.emitHookFailed(ctx, f)
		r = withheld(f.Public())
	}
	c.end.Result = r
	t.askAfterTool(ctx, c)
	c.end.Result = bound.Valid(c.end.Result)
	c.end.Call = c.at
	c.finished = true
}

// askAfterTool asks AfterTool.
func (t *Turn) askAfterTool(ctx context.Context, c *call) {
	if !t.hooks.Has(point.AfterTool) {
		return
	}
	c.afterToolCalled = true
	o := c.outcome()
	t.enterForeign(point.AfterTool)
	d, _ := t.hooks.AfterTool(ctx, c.at, o)
	d = exitForeignDecided(ctx, t, d)
	c.context = d.Context()
	switch v := d.Verdict(); v.Kind {
	case hook.AnswerStop:
		t.signalStop(v)
	case hook.AnswerWithhold:
		c.end.Result = withheld(v.Reason)
	}
}

func (c *call) outcome() hook.ToolOutcome {
	return hook.ToolOutcome{Result: c.end.Result, Outcome: c.end.Outcome, Duration: c.end.Duration, Grant: c.at.Grant()}
}

// withheld is the result that replaces a withheld one.
func withheld(reason string) message.ToolResult {
	r := message.FailedResult(message.FailDenied, "the result was withheld: "+reason)
	r.Trust = message.TrustTrusted
	return r
}

// maxResult is the limit of a call's result in bytes: that of the tool, or else that of
// Options; a grant can only lower it. RewriteResult gets the cut result, and its own result is
// not cut again.
func (t *Turn) maxResult(c *call) int {
	n := c.at.Tool().MaxResult
	if n <= 0 {
		n = t.env.Limits.Result
	}
	if most := c.at.Grant().MaxOutput; most > 0 {
		n = min(n, most)
	}
	return n
}

// addStepToHistory appends the reply and the results of its calls to the history, in call
// order.
func (t *Turn) addStepToHistory(reply message.ModelReply, calls []call) {
	t.history.add(t.assistantMessage(withArgs(reply.Content, calls)))
	for i := range calls {
		t.history.add(calls[i].message())
	}
}

// message is the message of the call's result for the history.
func (c *call) message() message.Message {
	return message.Message{Role: message.RoleTool, CallID: c.at.ID(), Tool: history.ToolName(c.at.Name()), Result: c.end.Result}
}

// withArgs replaces the model's arguments, and invalid tool names, by those that are stored.
func withArgs(content message.List[message.Block], calls []call) message.List[message.Block] {
	var changed []message.Block
	n := 0
	for i, b := range content.All() {
		if b.Kind != message.BlockToolCall {
			continue
		}
		args, name := calls[n].args(), history.ToolName(calls[n].at.Name())
		n++
		if args == b.JSON && name == b.Tool {
			continue
		}
		if changed == nil {
			changed = content.Slice()
		}
		changed[i].JSON, changed[i].Tool = args, name
	}
	if changed == nil {
		return content
	}
	return message.Freeze(changed)
}

// recordCalls records how the calls of the step ended, for the AfterStep of h.
func (t *Turn) recordCalls(calls []call, h *scope.Hooks) {
	if !h.Has(point.AfterStep) {
		return
	}
	ends := make([]hook.CallEnd, len(calls))
	for i := range calls {
		ends[i] = calls[i].end
	}
	t.stepRecord.Calls = message.Freeze(ends)
}

// assistantMessage makes a message of the answering agent.
func (t *Turn) assistantMessage(content message.List[message.Block]) message.Message {
	t.thread.guestSpoke = t.thread.guestSpoke || t.guestName() != ""
	return message.Message{Role: message.RoleAssistant, Content: content, From: t.guestName()}
}
