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
	"github.com/grapnel-go/grapnel/runtime/store"
)

// runStep runs the next step and reports whether another one follows.
func (t *Turn) runStep() (more bool) {
	t.beginStep()
	more = t.doStep()
	return t.finishStep() && more
}

// doStep makes one model call and handles its reply.
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
	return t.core().handle(t, reply, calls)
}

// beginStep begins the next step and emits step_start.
func (t *Turn) beginStep() {
	t.number++
	t.step = hook.NewStep(t.place, t.number, t.cfg.Model.Name)
	t.stepRecord = stepRecord{began: t.env.Now(), errsBefore: len(t.errs)}
	t.thread.Log.SetStep(t.number)
	t.inStep, t.afterStepCalled = true, false
	t.emit(hook.Event{Kind: event.StepStart})
}

// finishStep asks AfterStep, which may end the turn, and emits step_end.
func (t *Turn) finishStep() (more bool) {
	more = t.askAfterStep()
	t.inStep, t.response.control, t.response.noTools = false, false, false
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

// askAfterStep asks AfterStep about the step, however it ended.
func (t *Turn) askAfterStep() bool {
	if !t.hooks.Has(point.AfterStep) {
		return true
	}
	ctx, done := t.afterContext()
	defer done()
	t.updatePlace()
	o := t.stepOutcome()
	t.afterStepCalled = true
	t.markCharged(o.Cost)
	t.enterForeign(point.AfterStep)
	d, _ := t.hooks.AfterStep(ctx, t.step, o)
	return t.applyStepDecision(exitForeignDecided(ctx, t, d))
}

// stepOutcome is the outcome of the step if it ends now.
func (t *Turn) stepOutcome() hook.StepOutcome {
	r := &t.stepRecord
	r.Duration, r.Cost = t.env.Now().Sub(r.began), t.uncharged()
	switch {
	case len(t.errs) > r.errsBefore:
		r.Err = joinErrors(t.errs[r.errsBefore:])
	case t.ctx.Err() != nil && r.Finish == "":
		r.Err = context.Cause(t.ctx)
	}
	return r.StepOutcome
}

// applyStepDecision applies a hook's decision about a step. It is false if the turn stops.
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
		if reply.Finish == message.FinishFilter || t.response.noTools { // the rest of the reply was withheld, or no call was asked for
			reply.Content = withoutCalls(reply.Content)
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
	switch {
	case v.Err != nil:
		return fmt.Errorf("%w: %s: %w", ErrRejected, v.By, v.Err)
	case v.By == "":
		return fmt.Errorf("%w: %s", ErrRejected, v.Reason)
	}
	return fmt.Errorf("%w: %s: %s", ErrRejected, v.By, v.Reason)
}

// handleReply does what the reply asks for: it answers the user, or calls tools.
func (t *Turn) handleReply(reply message.ModelReply, calls []call) (more bool) {
	t.final = message.List[message.Block]{} // earlier text is no longer the answer
	if len(calls) > 0 {
		return t.runCalls(reply, calls)
	}
	if history.Blank(reply.Content) && (reply.Finish != message.FinishPause || reply.Content.Len() == 0) {
		if t.addLateSteers() {
			return true
		}
		t.signalBlank(reply.Finish)
		return false
	}
	return t.storeReply(t.assistantMessage(reply.Content), reply.Finish)
}

// signalBlank adds the reason why a turn ends with a reply that says nothing.
func (t *Turn) signalBlank(finish message.FinishReason) {
	if finish == message.FinishFilter {
		t.signalFinish(finish)
		return
	}
	t.signal(hook.StopNoAction, "", "")
}

// storeReply stores a reply without calls. It is the turn's last message unless a steer has
// arrived. The same write stores why the turn ends: otherwise a crash after it would leave a
// turn that looks completed.
func (t *Turn) storeReply(m message.Message, finish message.FinishReason) (more bool) {
	t.history.add(m)
	if finish == message.FinishPause { // the model goes on with its answer
		more = true
		t.addSteers(false)
	} else if more = t.addLateSteers(); !more {
		t.signalFinish(finish)
	}
	a := store.Append{TurnEnds: !more && !t.endsLater()}
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

// endsLater reports whether the write of the last message does not end the turn. Where events are
// stored, the write of turn_end does; a hook may continue the turn; and the jobs that AfterTurn
// queues are stored with the end.
func (t *Turn) endsLater() bool {
	return t.thread.Log.Keeps() || t.hooks.MayContinue() || t.thread.Lease.Journals() && t.hooks.Has(point.AfterTurn)
}

// signalFinish adds the reason if the model stopped before the end of its answer.
func (t *Turn) signalFinish(finish message.FinishReason) {
	switch finish {
	case message.FinishLength:
		t.signal(hook.StopMaxTokens, "", "")
	case message.FinishFilter:
		t.signal(hook.StopRefused, "", refused)
	}
}

// refused is what people read about a turn that ended with StopRefused.
const refused = "the model refused to answer, or its provider withheld the answer"

// addLateSteers adds steers that have arrived meanwhile, and reports whether it added any. If
// not, it closes the queue, unless OnStop may continue the turn.
func (t *Turn) addLateSteers() bool { return t.addSteers(!t.hooks.Has(point.OnStop)) }

// keepPartial stores the text of a reply that was cancelled, if RewriteReply and AfterModel let
// it pass.
func (t *Turn) keepPartial(reply message.ModelReply) {
	if history.Blank(reply.Content) || t.response.control {
		return
	}
	ctx, done := t.afterContext()
	defer done()
	reply, err := t.rewriteReply(ctx, reply)
	if err != nil {
		t.emitHookFailed(ctx, failure.Of(point.RewriteReply, err))
		return
	}
	reply.Content = withoutCalls(reply.Content) // a hook may have added calls, which would get no result
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

// repairIDs gives a new id to every call without an id, with one that some provider refuses, or
// with one that is in use. It runs before anything is shown of the calls.
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

// takeIDs marks the ids of an accepted reply as used by the history. It replaces unusable ids
// that a hook has added.
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
