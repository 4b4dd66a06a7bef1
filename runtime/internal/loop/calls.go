package loop

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/internal/toolrun"
)

// maxRounds is how often the hooks decide about one call whose arguments change, before it is
// denied.
const maxRounds = 3

// call is the state of one tool call.
type call struct {
	// runner is nil unless the call is bound.
	runner hook.Runner
	// run is nil until the call may run. The owner of an abandoned turn abandons it.
	run *toolrun.Run
	// at is the call as hooks see it, with its present arguments; first has the model's.
	at    *hook.ToolCall
	first hook.ToolCall
	// parsed: a repair gave the call arguments that are JSON. cutOff: the model's answer ended
	// at its token limit, perhaps within this call.
	parsed, cutOff bool
	// afterToolCalled is set before AfterTool is called.
	afterToolCalled bool
	// finished: finishCall has returned. resultEmitted: its result is emitted, which happens
	// after it is stored.
	finished, resultEmitted bool
	// startEmitted is about call_start. awaitsApproval: clients know that it waits for a person.
	startEmitted, awaitsApproval bool
	// mayHaveRun: an earlier process may have run it, and its result is unknown.
	mayHaveRun bool
	// masked: the store has its arguments with a secret masked, and it must not run.
	masked bool
	// end has no outcome while the call may still run. It does not change after it is emitted:
	// events share it.
	end hook.CallEnd
	// context is what AfterTool adds for the model.
	context message.List[string]
}

// setResult gives the call an outcome and a result. A result without a label has that of its tool, whatever the tool says of its
// end, and is the runtime's own if no tool ran.
func (c *call) setResult(o message.Outcome, r message.ToolResult) {
	if r.Trust == "" {
		switch o {
		case message.OutcomeDenied, message.OutcomeCancelled, message.OutcomeUnknown, message.OutcomeInvalid:
			r.Trust = message.TrustTrusted
		case message.OutcomeAnswered: // a hook's answer, which may be from anywhere
			r.Trust = message.TrustExternal
		default:
			r.Trust = message.Weakest(c.at.Tool().Trust)
		}
	}
	c.end.Outcome, c.end.Result = o, r
}

// hasOutcome reports whether the call has ended or will not run.
func (c *call) hasOutcome() bool { return c.end.Outcome != "" }

// newCalls returns the tool calls of a reply, in the model's order.
func (t *Turn) newCalls(reply message.ModelReply) []call {
	n := 0
	for range reply.Calls() {
		n++
	}
	if n == 0 {
		return nil
	}
	calls := make([]call, n)
	for i, b := range reply.Calls() {
		c := &calls[i]
		tool, _ := t.view.Find(b.Tool)
		c.masked = b.Masked
		c.cutOff = reply.Finish == message.FinishLength && i == n-1
		args := b.JSON
		if !c.cutOff && strings.TrimSpace(string(args)) == "" {
			args = "{}" // how some models call a tool without parameters
		}
		c.first = *hook.NewToolCall(hook.ToolCallData{
			Step: t.step, ID: b.CallID, Tool: tool, Index: i, Args: args, Original: b.JSON,
		})
		c.at = &c.first
	}
	return calls
}

// runCalls takes the calls of a reply through their gates, runs those that pass, and stores the
// reply with all results. It reports whether the turn continues.
func (t *Turn) runCalls(reply message.ModelReply, calls []call) (more bool) {
	t.calls += len(calls)
	t.openCalls = openCalls{content: reply.Content, calls: calls}
	t.updatePlace()
	t.emit(hook.Event{Kind: event.CallsBegin}.WithTools(t.toolNames(calls)))
	for i := range calls {
		if c := &calls[i]; !t.mustStop() {
			t.ensureBound(c)
		}
	}
	if !t.refuseUnreadable(reply, calls) {
		for i := range calls {
			t.gate(&calls[i])
		}
	}
	return t.finishCalls(reply, calls)
}

// refuseUnreadable refuses the calls whose arguments are no JSON, even if their owners bound
// them. The other calls run. After too many such replies in a row it ends the turn, refuses all
// calls and returns true. A reply that was cut off at its token limit does not count.
func (t *Turn) refuseUnreadable(reply message.ModelReply, calls []call) bool {
	bad := ""
	for i := range calls {
		c := &calls[i]
		if c.isJSON() {
			continue
		}
		bad = c.first.Name()
		if c.runner != nil {
			c.runner = nil
			c.setResult(message.OutcomeInvalid, noJSON())
		}
	}
	if bad == "" || reply.Finish == message.FinishLength {
		t.unreadableReplies = 0
		return false
	}
	if t.unreadableReplies++; t.unreadableReplies < t.env.Limits.Unreadable {
		return false
	}
	t.signal(hook.StopRetryLimit, "", fmt.Sprintf("%d replies in a row had arguments that are no JSON, the last for %s", t.unreadableReplies, bad))
	t.fail(fmt.Errorf("%w for %s, in %d replies in a row", ErrArguments, bad, t.unreadableReplies))
	for i := range calls {
		c := &calls[i]
		if c.isJSON() {
			c.setResult(message.OutcomeCancelled, message.FailedResult(message.FailCancelled, "not run: the arguments of another call of this reply could not be read"))
		}
		t.emitCall(event.CallStart, c, "")
	}
	return true
}

// isJSON reports whether the model's arguments are JSON, or were repaired.
func (c *call) isJSON() bool { return c.parsed || json.Valid([]byte(c.first.Args())) }

// mustStop reports whether no further call of the turn may run.
func (t *Turn) mustStop() bool { return t.ctx.Err() != nil || t.hasStop() }

// hasFailed reports whether the turn has failed.
func (t *Turn) hasFailed() bool { return t.hasSignal(hook.StopError) }

// gate takes one call through its gates: RewriteArgs, BeforeTool and Approve.
func (t *Turn) gate(c *call) {
	bound := c.runner != nil && !t.mustStop() && t.rewrite(c)
	c.startEmitted = true
	t.emit(t.callEvent(event.CallStart, c, ""))
	if bound {
		t.decide(c)
	}
}

// ensureBound binds the call unless it is bound or has an outcome. It reports whether the call
// is bound.
func (t *Turn) ensureBound(c *call) bool {
	return c.runner != nil || !c.hasOutcome() && t.bind(c, c.at)
}

// bind checks the scope and asks the tool's owner to bind the call. If that fails, it sets the
// result and returns false.
func (t *Turn) bind(c *call, at *hook.ToolCall) bool {
	c.at, c.runner, c.parsed = at, nil, false
	if _, s := t.view.Find(at.Name()); s != scope.Available {
		c.setResult(message.OutcomeUnknown, t.view.Refusal(at.Name(), s))
		return false
	}
	inv, owned, err := t.dispatch(at)
	switch {
	case err != nil:
		t.emitHookFailed(t.ctx, failure.Of(point.Dispatch, err))
		c.setResult(message.OutcomePanicked, message.FailedResult(message.FailPanic, "the tool's owner panicked while it read the arguments"))
		return false
	case !owned:
		c.setResult(message.OutcomeUnknown, t.view.Refusal(at.Name(), scope.NotRegistered))
		return false
	case inv.Err() != nil:
		c.setResult(message.OutcomeInvalid, t.badArguments(c, inv.Err()))
		return false
	case inv.Runner() == nil:
		c.setResult(message.OutcomeFailed, message.FailedResult(message.FailOperation, "the tool's owner cannot run it"))
		return false
	}
	if inv.Args() != at.Args() {
		c.at = at.WithArgs(inv.Args())
	}
	c.runner = inv.Runner()
	if t.explained[at.Name()] == at.ID() { // the call was repaired, so the model has not seen the schema
		delete(t.explained, at.Name())
	}
	return true
}

func (t *Turn) dispatch(at *hook.ToolCall) (inv hook.Invocation, owned bool, err error) {
	t.enterForeign(point.Dispatch)
	defer t.exitForeignRecovering(point.Dispatch, &err)
	if owner := t.given.Owner(at.Name()); owner != nil {
		inv, owned = owner.Dispatch(t.ctx, at)
	} else {
		inv, owned = t.hooks.Dispatch(t.ctx, at)
	}
	return inv, owned, nil
}

// badArguments is the result of a call whose arguments its owner refused. The first such call
// of a tool in the turn gets the schema too.
func (t *Turn) badArguments(c *call, err *hook.ArgError) message.ToolResult {
	name, id := c.at.Name(), c.at.ID()
	if first, known := t.explained[name]; known && first != id {
		short := *err
		short.Schema = ""
		err = &short
	} else if !known {
		if t.explained == nil {
			t.explained = map[string]string{}
		}
		t.explained[name] = id
	}
	r := err.Result()
	if !c.cutOff {
		return r
	}
	return message.FailedResult(r.Failure, "The answer was cut off at its token limit within this call: send less at once.\n"+r.Text())
}

// rewrite calls RewriteArgs and binds the call again if the arguments changed. It is false if
// the call has a result now.
func (t *Turn) rewrite(c *call) bool {
	t.enterForeign(point.RewriteArgs)
	args, err := t.hooks.RewriteArgs(t.ctx, c.at, c.at.Args())
	t.exitForeign()
	if err != nil {
		f := failure.Of(point.RewriteArgs, err)
		t.emitHookFailed(t.ctx, f)
		c.setResult(message.OutcomeDenied, message.FailedResult(message.FailDenied, f.Public()))
		return false
	}
	if args == c.at.Args() {
		return true
	}
	return t.bind(c, c.at.WithArgs(args))
}

// decide asks BeforeTool, and a person if BeforeTool says so, until the call may run or has a
// result.
func (t *Turn) decide(c *call) {
	var approved message.JSON
	asked := false
	for range maxRounds {
		t.enterForeign(point.BeforeTool)
		d, _ := t.hooks.BeforeTool(t.ctx, c.at)
		d = exitForeignDecided(t.ctx, t, d)
		c.at = c.at.Narrowed(d.Grant())
		if !t.applyToolDecision(c, d) {
			return
		}
		if asked && c.at.Args() == approved {
			return
		}
		var again bool
		if approved, again = t.approve(c, d); !again {
			return
		}
		asked = true
	}
	c.setResult(message.OutcomeDenied, message.FailedResult(message.FailDenied, "denied: no agreement on the arguments"))
}

// applyToolDecision applies the decision and reports whether a person has to be asked.
func (t *Turn) applyToolDecision(c *call, d hook.ToolDecision) (ask bool) {
	v := d.Verdict()
	if v.Kind != hook.AnswerAsk {
		c.end.By = v.By
	}
	switch {
	case v.Kind == hook.AnswerStop:
		t.signalStop(v)
		c.setResult(message.OutcomeDenied, denial(v.Reason))
	case v.Kind == hook.AnswerDeny:
		c.setResult(message.OutcomeDenied, denial(v.Reason))
	case c.at.Grant().Void:
		c.setResult(message.OutcomeDenied, denial("denied: nothing is left of what the call may do"))
	case v.Kind == hook.AnswerAnswer:
		c.setResult(message.OutcomeAnswered, d.Result())
	case v.Kind == hook.AnswerAsk:
		return true
	}
	return false
}

func denial(reason string) message.ToolResult {
	if reason == "" {
		reason = "denied"
	}
	return message.FailedResult(message.FailDenied, reason)
}

// approve asks a person for approval. If the person changed the arguments, approve binds and
// rewrites them, and returns the approved arguments and that BeforeTool has to decide again.
// Otherwise the call may run or has a result.
func (t *Turn) approve(c *call, asked hook.ToolDecision) (approved message.JSON, again bool) {
	defer t.env.Requests.Expect(t.thread.Log.Top().Conversation(), t.id, c.at.ID())()
	t.emitCall(event.ApprovalAsked, c, asked.Verdict().Reason)
	t.enterForeign(point.Approve)
	a, _ := t.hooks.Approve(t.ctx, c.at, asked)
	a = exitForeignDecided(t.ctx, t, a)
	v := a.Verdict()
	switch v.Kind {
	case hook.AnswerApprove:
		t.emitApproval(c, v)
		return "", false
	case hook.AnswerModify:
		if t.bind(c, c.at.WithArgs(a.Args())) {
			approved = c.at.Args()
			again = t.rewrite(c)
		}
		t.emitApproval(c, v)
		return approved, again
	case hook.AnswerNone:
		v = hook.Verdict{Kind: hook.AnswerRefuse, Reason: "refused: nobody is there to approve it"}
	}
	if v.Reason == "" {
		v.Reason = "refused"
	}
	c.end.By = v.By
	c.setResult(message.OutcomeDenied, denial(v.Reason))
	if t.ctx.Err() != nil {
		c.setResult(message.OutcomeCancelled, message.FailedResult(message.FailCancelled, "cancelled before it was approved"))
	}
	t.emitApproval(c, v)
	return "", false
}
