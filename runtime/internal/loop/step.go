package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// runStep runs one step and reports whether another one follows.
func (t *Turn) runStep() (more bool) {
	t.beginStep()
	more = t.doStep()
	return t.finishStep() && more
}

// doStep does what a step is for.
func (t *Turn) doStep() (more bool) {
	if t.ctx.Err() != nil {
		t.idleSteps++
		return t.signalCancelled()
	}
	t.addSteers(false)
	if t.hooks.SeesRequest() {
		t.updatePlace()
	}
	if !t.askBeforeStep() {
		t.idleSteps++
		return false
	}
	reply, calls, ok := t.acceptedReply()
	if !ok {
		return false
	}
	return t.handleReply(reply, calls)
}

// beginStep and leaveStep tell everybody that the next step begins and has ended.
// What begins between both is judged by AfterStep, which may end the turn.
func (t *Turn) beginStep() {
	t.number++
	t.step = hook.NewStep(t.place, t.number, t.cfg.Model.Name)
	t.stepRecord = stepRecord{began: t.env.Now(), errsBefore: len(t.errs)}
	t.thread.Log.SetStep(t.number)
	t.inStep, t.afterStepCalled = true, false
	t.emit(hook.Event{Kind: event.StepStart})
}

func (t *Turn) finishStep() (more bool) {
	more = t.askAfterStep()
	t.inStep = false
	t.emit(hook.Event{Kind: event.StepEnd})
	t.thread.Log.SetStep(0)
	return more
}

// askBeforeStep asks BeforeStep.
func (t *Turn) askBeforeStep() bool {
	t.enterForeign(point.BeforeStep)
	d, _ := t.hooks.BeforeStep(t.ctx, t.step)
	return t.applyStepDecision(exitForeignDecided(t.ctx, t, d))
}

// askAfterStep asks AfterStep about the step, whatever has become of it.
func (t *Turn) askAfterStep() bool {
	if !t.hooks.Has(point.AfterStep) {
		return true
	}
	ctx, done := t.afterContext()
	defer done()
	t.updatePlace()
	o := t.stepOutcome()
	t.afterStepCalled = true
	t.enterForeign(point.AfterStep)
	d, _ := t.hooks.AfterStep(ctx, t.step, o)
	return t.applyStepDecision(exitForeignDecided(ctx, t, d))
}

// stepOutcome is how the step ended, as it ends now.
func (t *Turn) stepOutcome() hook.StepOutcome {
	r := &t.stepRecord
	r.Duration = t.env.Now().Sub(r.began)
	switch {
	case len(t.errs) > r.errsBefore:
		r.Err = joinErrors(t.errs[r.errsBefore:])
	case t.ctx.Err() != nil && r.Finish == "":
		r.Err = context.Cause(t.ctx)
	}
	return r.StepOutcome
}

// applyStepDecision does what a hook decided about a step. It returns false if that is
// to stop.
func (t *Turn) applyStepDecision(d hook.StepDecision) bool {
	switch v := d.Verdict(); {
	case v.Kind != hook.AnswerStop:
		return true
	case v.Failure != nil && t.ctx.Err() != nil:
		return t.signalCancelled()
	case v.Failure != nil:
		t.errs = append(t.errs, v.Failure)
		fallthrough
	default:
		t.signals = append(t.signals, hook.StopSignal{Reason: v.Stop, By: v.By, Text: v.Reason, Context: d.Context()})
	}
	return false
}

// recordCalls keeps how the calls of the step ended, for the AfterStep of h.
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

// acceptedReply asks the model until the hooks accept its reply and its calls.
func (t *Turn) acceptedReply() (message.ModelReply, []call, bool) {
	t.attempts = attempts{}
	for {
		reply, ok := t.ask()
		if !ok {
			return reply, nil, false
		}
		t.stepRecord.Finish = reply.Finish
		v := t.askAfterModel(reply)
		switch v.Kind {
		case hook.AnswerRetry:
			if t.retryReply(v) {
				continue
			}
			return reply, nil, false
		case hook.AnswerReject:
			return reply, nil, t.fail(rejection(v))
		case hook.AnswerStop:
			t.signalStop(v)
		}
		t.showHeld(reply)
		reply.Content = t.takeIDs(reply.Content)
		calls := t.newCalls(reply)
		if v = t.repairCalls(calls); v.Kind != hook.AnswerRetry {
			return reply, calls, true
		}
		t.freeIDs(reply)
		if !t.retryReply(v) {
			return reply, nil, false
		}
	}
}

// askAfterModel asks AfterModel about the reply.
func (t *Turn) askAfterModel(reply message.ModelReply) hook.Verdict {
	if !t.hooks.Has(point.AfterModel) {
		return hook.Verdict{}
	}
	ctx, done := t.afterContext()
	defer done()
	t.enterForeign(point.AfterModel)
	d, _ := t.hooks.AfterModel(ctx, t.step, reply)
	return exitForeignDecided(ctx, t, d).Verdict()
}

// rejection is the error of a step that a hook has rejected.
func rejection(v hook.Verdict) error {
	if v.Failure != nil {
		return v.Failure
	}
	if v.By == "" {
		return fmt.Errorf("%w: %s", ErrRejected, v.Reason)
	}
	return fmt.Errorf("%w: %s: %s", ErrRejected, v.By, v.Reason)
}

// handleReply does what the reply asks for: it answers the user, or calls tools.
func (t *Turn) handleReply(reply message.ModelReply, calls []call) (more bool) {
	t.final = message.List[message.Block]{} // what was said before is the answer no more
	if len(calls) > 0 {
		return t.runCalls(reply, calls)
	}
	if history.Blank(reply.Content) {
		if t.addLateSteers() {
			return true
		}
		t.signal(hook.StopNoAction, "", "")
		return false
	}
	return t.storeReply(t.assistantMessage(reply.Content), reply.Finish) // without any other reason to stop it is completed
}

// storeReply stores the message: as the turn's last one, unless something was said meanwhile
// that the model has yet to read. How the turn ends with it is stored in the same write:
// a process that dies then leaves no turn that looks completed.
func (t *Turn) storeReply(m message.Message, finish message.FinishReason) (more bool) {
	t.history.add(m)
	if more = t.addLateSteers(); !more {
		t.signalFinish(finish)
	}
	a := store.Append{TurnEnds: !more && !t.thread.Log.Keeps() && !t.hooks.MayContinue()} // where events are kept, the last one ends the turn
	if t.thread.Lease.Journals() && !more && !a.TurnEnds && len(t.activeSignals()) > 0 {
		a.Entries = []store.Entry{t.endEntry()}
	}
	if !t.append(a) {
		return false
	}
	if more = more && t.ctx.Err() == nil; !more {
		t.final = m.Content
	}
	return more
}

// signalFinish notes why a model stopped that had not said everything.
func (t *Turn) signalFinish(finish message.FinishReason) {
	switch finish {
	case message.FinishLength:
		t.signal(hook.StopMaxTokens, "", "")
	case message.FinishFilter:
		t.signal(hook.StopFinishReason, "", string(finish))
	}
}

// addLateSteers adds what was said meanwhile to the history, and reports whether anything
// was. If not, nothing can be said any more unless a hook may have the turn go on.
func (t *Turn) addLateSteers() bool { return t.addSteers(!t.hooks.Has(point.OnStop)) }

// assistantMessage is a message of the agent that answers.
func (t *Turn) assistantMessage(content message.List[message.Block]) message.Message {
	t.thread.guestSpoke = t.thread.guestSpoke || t.guestName() != ""
	return message.Message{Role: message.RoleAssistant, Content: content, From: t.guestName()}
}

// keepPartial stores what a cancelled model had said so far, if the hooks that
// every reply has to pass let it pass.
func (t *Turn) keepPartial(reply message.ModelReply) {
	if history.Blank(reply.Content) {
		return
	}
	ctx, done := t.afterContext()
	defer done()
	reply, err := t.rewriteReply(ctx, reply)
	if err != nil {
		t.emitHookFailed(ctx, failure.Of(point.RewriteReply, err))
		return
	}
	reply.Content = withoutCalls(reply.Content) // a hook may have put one in, which nobody would answer
	switch t.askAfterModel(reply).Kind {
	case hook.AnswerRetry, hook.AnswerReject:
		return
	}
	if history.Blank(reply.Content) {
		return
	}
	t.showHeld(reply)
	said := t.assistantMessage(reply.Content)
	said.Partial = true
	t.storeReply(said, "")
}

func withoutCalls(content message.List[message.Block]) message.List[message.Block] {
	isCall := func(b message.Block) bool { return b.Kind == message.BlockToolCall }
	return message.Freeze(slices.DeleteFunc(content.Slice(), isCall))
}

// repairIDs gives an id to every call that has none, one that some provider
// refuses, or one that the conversation or the reply has had, before anybody has
// seen the reply.
func (t *Turn) repairIDs() {
	t.thread.replies++
	c := &t.response.collector
	for i := range c.Calls() {
		call := c.Call(i)
		if !history.ValidID(call.CallID) || t.thread.hasID(call.CallID) {
			call.CallID = t.thread.newID()
		}
		t.thread.ids[call.CallID] = t.thread.replies
	}
}

// takeIDs makes the ids of an accepted reply the history's, and repairs those
// that a hook has put in.
func (t *Turn) takeIDs(content message.List[message.Block]) message.List[message.Block] {
	var repaired []message.Block
	for i, b := range content.All() {
		if b.Kind != message.BlockToolCall {
			continue
		}
		if reply, known := t.thread.ids[b.CallID]; !history.ValidID(b.CallID) || known && reply == accepted {
			if repaired == nil {
				repaired = content.Slice()
			}
			b.CallID = t.thread.newID()
			repaired[i] = b
		}
		t.thread.ids[b.CallID] = accepted
	}
	if repaired == nil {
		return content
	}
	return message.Freeze(repaired)
}
