package loop

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/bound"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
)

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

// emitResults emits the results of finished calls that are not emitted yet.
func (t *Turn) emitResults(calls []call) {
	for i := range calls {
		if c := &calls[i]; c.finished && !c.resultEmitted {
			t.emitResult(c)
		}
	}
}

func (t *Turn) emitResult(c *call) {
	c.resultEmitted = true
	t.emit(hook.Event{Kind: event.CallResult}.WithEnd(&c.end))
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
	return hook.ToolOutcome{Result: c.end.Result, Outcome: c.end.Outcome, Duration: c.end.Duration, Grant: c.grant}
}

// withheld is the result that replaces a withheld one.
func withheld(reason string) message.ToolResult {
	return message.FailedResult(message.FailDenied, "the result was withheld: "+reason)
}

// maxResult is the limit of a call's result in bytes: that of the tool, or else that of
// Options; a grant can only lower it. RewriteResult gets the cut result, and its own result is
// not cut again.
func (t *Turn) maxResult(c *call) int {
	n := c.at.Tool().MaxResult
	if n <= 0 {
		n = t.env.Limits.Result
	}
	if c.grant.MaxOutput > 0 {
		n = min(n, c.grant.MaxOutput)
	}
	return n
}
