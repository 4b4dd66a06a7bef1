package loop

import (
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/planning"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// planAndExecute is the loop that plans first; see package planning. Results of steps and the
// answer are in the history. Plans and decisions are not: the journal has the state of the plan,
// written with the messages that change it, so that a resumed turn repeats no step of the plan.
type planAndExecute struct{}

// planState is the state of planAndExecute.
type planState struct {
	plan planning.State
	// planChanged: the journal does not have the state yet.
	planChanged bool
}

func (planAndExecute) request(t *Turn, req message.ModelRequest) message.ModelRequest {
	ask := t.plan.Ask()
	t.response.control, t.response.noTools = ask.Control, ask.NoTools
	if ask.NoTools { // some providers want the tools of calls in the history to be named
		req.Model.Choice = message.ToolChoice{Mode: message.ToolChoiceNone}
	}
	if !ask.Answer {
		req.Model.Format = ask.Format
	}
	if ask.Prompt != "" { // it is the last message, so that earlier ones stay as they are from call to call
		req.Messages = req.Messages.Fork().Append(ephemeral("plan", ask.Prompt))
	}
	return req
}

func (planAndExecute) handle(t *Turn, reply message.ModelReply, calls []call) (more bool) {
	t.final = message.List[message.Block]{}
	switch t.plan.Phase {
	case planning.Planning, planning.Deciding:
		if reply.Finish == message.FinishFilter {
			t.signalFinish(reply.Finish)
			return false
		}
		return t.handleControl(reply.Text())
	case planning.Executing:
		t.plan.Called()
		t.changePlan()
		if len(calls) == 0 && !ends(reply.Finish) {
			return t.finishPlanStep(reply)
		}
	case planning.Answering:
		if !history.Blank(reply.Content) && reply.Finish != message.FinishPause {
			t.plan.Continued()
			t.changePlan()
		}
	}
	return t.handleReply(reply, calls)
}

func (planAndExecute) answered(t *Turn) bool {
	return t.plan.Phase == planning.Planning || t.plan.Phase == planning.Answered // without a plan the turn has not used this loop
}

// ends reports whether a reply with that finish ends the turn in every loop, or continues.
func ends(finish message.FinishReason) bool {
	return finish == message.FinishLength || finish == message.FinishFilter || finish == message.FinishPause
}

// handleControl reads a plan or a decision, and stores what follows from it.
func (t *Turn) handleControl(text string) (more bool) {
	before := t.plan.Markdown()
	var failed error
	if t.plan.Phase == planning.Planning {
		failed = t.plan.Plan(text)
	} else if _, err := t.plan.Decide(text); err != nil {
		t.emit(hook.Event{Kind: event.Diagnostic, Text: "the decision about the plan could not be read: " + err.Error()})
	}
	if failed != nil {
		return t.fail(failed)
	}
	t.changePlan()
	stored := true
	t.commitThenEmit(func() { t.emitPlan(before) }, func() {
		if e, ok := t.planEntry(); ok {
			stored = t.journal(&t.entries, e)
			t.planChanged = !stored
		}
	})
	return stored && t.continues()
}

// finishPlanStep stores the result of a step of the plan. A step may end without a text.
func (t *Turn) finishPlanStep(reply message.ModelReply) (more bool) {
	before := t.plan.Markdown()
	t.plan.StepDone()
	t.changePlan()
	said := !history.Blank(reply.Content)
	if said {
		t.history.add(t.assistantMessage(reply.Content))
	}
	t.addSteers(false)
	stored := false
	t.commitThenEmit(func() { t.emitPlan(before) }, func() { stored = t.append(store.Append{}) })
	if more = stored && t.continues(); !more && said {
		t.final = reply.Content
	}
	return more
}

// continues reports whether the turn goes on after a step, and signals a cancellation.
func (t *Turn) continues() bool {
	if t.ctx.Err() != nil {
		return t.signalCancelled()
	}
	return !t.hasStop() && !t.hasFailed()
}

// emitPlan emits the plan unless it reads as before.
func (t *Turn) emitPlan(before string) {
	if now := t.plan.Markdown(); now != before {
		t.emit(hook.Event{Kind: event.PlanUpdated, Text: now})
	}
}

// changePlan notes that the plan's state has changed.
func (t *Turn) changePlan() { t.plan.Number, t.planChanged = t.number, true }

// planEntry is the journal entry of the plan's state; false if the journal has it.
func (t *Turn) planEntry() (store.Entry, bool) {
	if !t.planChanged || !t.thread.Lease.Journals() {
		return store.Entry{}, false
	}
	return durable.LoopEntry(t.plan.JSON()), true
}

// restorePlan restores the state that the journal has of the plan.
func (t *Turn) restorePlan(state message.JSON) {
	if state == "" || t.cfg.Loop != message.LoopPlanAndExecute {
		return
	}
	t.plan = planning.Restore(state)
	t.number = max(t.number, t.plan.Number)
}
