package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Resume continues the interrupted turn.
func (th *Thread) Resume(ctx context.Context, h *Handle, observe func(hook.Event)) hook.TurnOutcome {
	t := th.newTurn(ctx, h)
	t.job = turnJob{run: (*Turn).runInterrupted, input: Input{Observe: observe}, interrupted: th.Lease.Journal(), resume: true}
	return t.drive(ctx).out
}

// runInterrupted is the loop of an interrupted turn.
func (t *Turn) runInterrupted() hook.TurnOutcome {
	return t.resume(t.job.interrupted, t.job.resume, t.job.input.Observe)
}

// runInterruptedChild is goOnWith for a child.
func (t *Turn) runInterruptedChild() hook.TurnOutcome {
	return t.withSubagentEvents(t.job.input.Message, t.runInterrupted)
}

// Settle brings the interrupted turn to its end without going on with it. After an error
// the turn is still interrupted: the store failed, or the caller gave up before a gate had
// judged the input. The turn's hooks get the grace period of a caller who gives up.
func (th *Thread) Settle(ctx context.Context, h *Handle) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel() // for a hook that was left behind
	t := th.newTurn(lasting, h)
	t.job = turnJob{run: (*Turn).runInterrupted, interrupted: th.Lease.Journal()}
	return t.drive(ctx).settleError()
}

// settleChild is Settle for a child of the turn, which the call has started.
func (th *Thread) settleChild(ctx context.Context, h *Handle, parent *Turn, about hook.EventDetail) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	t := th.newTurn(lasting, h)
	t.parent, t.depth = parent, parent.depth+1
	was := th.Lease.Journal()
	t.id = cmp.Or(was.ID, t.id) // the events in front of the turn name it
	in := message.Input{Messages: message.Freeze(was.Input)}
	if len(was.Input) == 0 {
		in = inputAt(th.Lease.History(), was.From)
	}
	t.job = turnJob{run: (*Turn).runInterruptedChild, input: Input{Message: in}, interrupted: was, child: &about}
	return t.drive(ctx).settleError()
}

// ReleaseIfCancelled is why no turn follows the settled one: the caller has given up meanwhile.
func (th *Thread) ReleaseIfCancelled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return errors.Join(context.Cause(ctx), th.Lease.Release(context.WithoutCancel(ctx)))
}

func (t *Turn) settleError() error {
	if !t.endStored {
		return fmt.Errorf("end the turn that was interrupted: %w", t.out.Err)
	}
	t.thread.Lease.Renew() // the next turn follows under the same lease
	return nil
}

// resume ends the interrupted turn; on says that the model is asked again first.
func (t *Turn) resume(was *durable.Interrupted, on bool, observe func(hook.Event)) hook.TurnOutcome {
	t.thread.Lease.ForgetJournal()
	t.restore(was)
	on = on && was.End == nil && !t.endsPartial() && (was.Guest == "" || t.setGuest(was.Guest) == nil)
	in := inputAt(t.history.stored, t.firstMessage)
	if len(was.Input) > 0 {
		in = message.Input{Messages: message.Freeze(was.Input)}
	}
	t.enter(in, observe)
	t.handle.steers.openWith(was.Steers)
	t.startEmitted = true
	if t.job.resume {
		t.markBegun(t.thread.Log.Last())
	}
	t.emit(hook.Event{Kind: event.TurnStart, Text: in.Text()})
	if len(was.Input) > 0 {
		t.resumeInput(was, in, on)
	} else {
		t.resumeSteps(was, on)
	}
	t.interrupted = nil
	out := t.finish()
	t.leave()
	return out
}

// resumeInput takes the input through the gates, which it had not passed: also where the
// model is not asked, so that what was said is not lost. That counts as resuming, because
// a gate may be what kills the process.
func (t *Turn) resumeInput(was *durable.Interrupted, in message.Input, on bool) {
	t.forget = was.Numbers
	if was.End != nil {
		t.applyEnd(was.End)
		return
	}
	if !t.mayResume(max(1, t.env.Limits.Resumes)) || !t.journalResume() {
		return
	}
	more := t.acceptInput(in)
	t.interrupted = nil
	switch {
	case more && on && t.addContext():
		t.runSteps()
	case more && !on:
		t.signalNotResumed()
	}
}

// resumeSteps goes on behind the input, which is history.
func (t *Turn) resumeSteps(was *durable.Interrupted, on bool) {
	if on || len(was.Steers) > 0 { // hooks see what was said to the turn
		on = t.beginSession() && on
	}
	t.settleChildren(was)
	on = on && t.mayResume(t.env.Limits.Resumes) && t.journalResume() && t.addContext()
	t.forget = append(t.forget, was.Numbers...)
	more := on
	if was.Message.Role != "" {
		more = t.endInterruptedStep(was, on) && on
	}
	t.interrupted = nil
	switch {
	case t.restoreEnd(was):
	case !on:
		t.signalNotResumed()
	case more || on && t.askStop():
		t.runSteps()
	}
}

// restoreEnd gives the turn the end that the journal or its answer says it has, if any.
func (t *Turn) restoreEnd(was *durable.Interrupted) bool {
	if was.End != nil {
		t.restoreAnswer()
		t.applyEnd(was.End)
		return true
	}
	return was.Message.Role == "" && len(was.Steers) == 0 && t.restoreAnswer()
}

// signalAbandoned notes why the turn ends, whose loop was left behind.
func (t *Turn) signalAbandoned() {
	switch {
	case t.interrupted != nil && t.restoreEnd(t.interrupted):
	case t.ctx.Err() != nil:
		t.signalCancelled()
	case t.interrupted != nil:
		t.signalNotResumed()
	}
}

// staysInterrupted reports whether the turn, whose loop was left behind, is left to who
// takes it up next: no gate has judged its input, and it was not the turn that was
// cancelled. How often that happens is limited by Options.Limits.Resumes.
func (t *Turn) staysInterrupted() bool {
	return t.interrupted != nil && t.interrupted.End == nil && t.ctx.Err() == nil && !t.stored &&
		t.history.stored.Len() == t.thread.Lease.History().Len()
}

// mayResume reports whether the turn was resumed less often than that.
func (t *Turn) mayResume(limit int) bool {
	if t.resumed < limit {
		return true
	}
	return t.fail(fmt.Errorf("%w %d times and was resumed as often", errGone, t.resumed+1))
}

// journalResume journals that the turn is gone on with once more.
func (t *Turn) journalResume() bool {
	t.resumed++
	return t.write(func(events []store.Event, states []hook.StateValue) error {
		seqs, err := t.thread.Lease.Note(t.noCancel, store.Note{Entries: []store.Entry{t.turnEntry()}, Events: events, States: states})
		t.entries = append(t.entries, seqs...)
		return err
	})
}

// applyEnd gives the turn the end that it was about to have.
func (t *Turn) applyEnd(end *durable.End) {
	t.signals = append(t.signals, end.Signals...)
	for _, text := range end.Errors {
		t.errs = append(t.errs, endError(text))
	}
}

// endError is the error of the text: where callers test for one, that one.
func endError(text string) error {
	for _, err := range []error{ErrStopped, ErrClosed, ErrAgentClosing, context.Canceled, context.DeadlineExceeded} {
		if err.Error() == text {
			return err
		}
	}
	return errors.New(text)
}

// endsPartial reports whether the history ends with half an answer: its turn was cancelled.
func (t *Turn) endsPartial() bool {
	n := t.history.stored.Len()
	return n > t.firstMessage && t.history.stored.At(n-1).Partial
}

// restoreAnswer reports whether the turn has its answer, so that only its end is missing.
func (t *Turn) restoreAnswer() bool {
	n := t.history.stored.Len()
	if n <= t.firstMessage || t.hasFailed() {
		return false
	}
	said := t.history.stored.At(n - 1)
	if said.Role != message.RoleAssistant {
		return false
	}
	t.final = said.Content
	return !said.Partial
}

// signalNotResumed notes that the turn ends without being resumed.
func (t *Turn) signalNotResumed() {
	if t.hasFailed() || t.hasSignal(hook.StopDenied) {
		return
	}
	t.errs = append(t.errs, errGone)
	t.signal(hook.StopCancelled, "", "interrupted: the process that ran the turn has ended")
}

// restore makes t the turn that was interrupted.
func (t *Turn) restore(was *durable.Interrupted) {
	if was.ID != "" {
		t.id, t.started, t.resumed, t.eventsBefore = was.ID, was.Started, was.Resumed, was.Event
		t.firstMessage = min(was.From, t.history.stored.Len())
	}
	was.DropEnd(t.history.stored.Len())
	t.interrupted = was
	t.entries, t.stored = was.TurnNumbers, len(was.Input) == 0
	t.usage, t.cost, t.calls = was.Reply.Usage, was.Reply.Cost, was.Reply.Calls
	for _, m := range t.history.stored.From(t.firstMessage).All() {
		if m.Role == message.RoleAssistant {
			t.number++
		}
	}
}

// inputAt is what a turn began with that begins at that message of the history.
func inputAt(history message.Messages, from int) message.Input {
	var in []message.Message
	for _, m := range history.From(min(from, history.Len())).All() {
		if m.Role != message.RoleUser {
			break
		}
		in = append(in, m)
	}
	return message.Input{Messages: message.Freeze(in)}
}

// endInterruptedStep ends the step whose calls had begun.
func (t *Turn) endInterruptedStep(was *durable.Interrupted, on bool) (more bool) {
	t.beginStep()
	more = t.endInterruptedCalls(was, on)
	return t.finishStep() && more
}

// restoreCalls makes the calls that had begun those of the turn, with all that the journal
// says of them: whoever ends the turn from now on knows which of them have run.
func (t *Turn) restoreCalls(was *durable.Interrupted) (message.ModelReply, []call) {
	reply := message.ModelReply{Content: was.Message.Content, Model: t.cfg.Model.Name, Finish: message.FinishTools}
	calls := t.newCalls(reply)
	for i := range calls {
		c := &calls[i]
		t.thread.ids[c.at.ID()] = accepted
		c.startEmitted = true
		r, hasResult := was.Results[c.at.ID()]
		if c.mayHaveRun = !hasResult; c.mayHaveRun {
			continue
		}
		c.setResult(r.Outcome, r.Message.Result)
		c.end.Duration, c.end.Call, c.finished, c.resultEmitted, c.afterToolCalled = r.Duration, c.at, true, true, true
	}
	t.openCalls, t.callsRestored = openCalls{content: reply.Content, calls: calls}, true
	return reply, calls
}

// restoreAbandonedCalls is recall for a turn whose loop was left behind before that.
func (t *Turn) restoreAbandonedCalls() {
	if t.interrupted == nil || t.interrupted.Message.Role == "" || t.callsRestored {
		return
	}
	if !t.inStep {
		t.beginStep()
	}
	_, calls := t.restoreCalls(t.interrupted)
	t.emit(hook.Event{Kind: event.CallsBegin}.WithTools(t.toolNames(calls)))
}

// endInterruptedCalls ends the calls that had begun.
func (t *Turn) endInterruptedCalls(was *durable.Interrupted, on bool) (more bool) {
	reply, calls := t.restoreCalls(was)
	t.emit(hook.Event{Kind: event.CallsBegin}.WithTools(t.toolNames(calls)))
	for i := range calls {
		c := &calls[i]
		switch {
		case c.hasOutcome():
		case on && was.Starts[c.at.ID()].Again && t.bind(c, c.at):
			t.emitCall(event.CallStart, c, "")
			t.decide(c)
		case !c.hasOutcome():
			c.setInterrupted()
		}
	}
	return t.finishCalls(reply, calls)
}

// setInterrupted answers a call of which nobody knows what it did.
func (c *call) setInterrupted() {
	c.setResult(message.OutcomeInterrupted, message.FailedResult(message.FailCancelled,
		"interrupted: the turn broke off while the tool ran; what it did is not known, so look before you call it again"))
}
