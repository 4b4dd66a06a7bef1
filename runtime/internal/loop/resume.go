package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
)

// Resume continues the interrupted turn. Of in only Observe and Tools count.
func (th *Thread) Resume(ctx context.Context, h *Handle, in Input) hook.TurnOutcome {
	t := th.newTurn(ctx, h)
	t.job = turnJob{run: (*Turn).runInterrupted, input: Input{Observe: in.Observe, Tools: in.Tools}, interrupted: th.Lease.Journal(), resume: true}
	return t.drive(ctx).out
}

// runInterruptedChild is runInterrupted for a child.
func (t *Turn) runInterruptedChild() hook.TurnOutcome {
	return t.withSubagentEvents(t.job.input.Message, t.runInterrupted)
}

// Settle ends the interrupted turn without resuming it. If ctx ends, the turn's hooks get the
// grace period. After an error the turn is still interrupted: the store failed, or ctx ended
// before the gates had decided about the input. The settled turn has a handle of its own: that
// of the turn that follows has not begun yet.
func (th *Thread) Settle(ctx context.Context) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel() // ends hooks that hang
	t := th.newTurn(lasting, new(Handle))
	t.job = turnJob{run: (*Turn).runInterrupted, interrupted: th.Lease.Journal()}
	return t.drive(ctx).settleError()
}

// settleChild is Settle for a child of parent. about names the call that started the child.
func (th *Thread) settleChild(ctx context.Context, parent *Turn, about hook.EventDetail) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	t := th.newTurn(lasting, new(Handle))
	t.parent, t.depth = parent, parent.depth+1
	was := th.Lease.Journal()
	t.id = cmp.Or(was.ID, t.id) // earlier events of the turn have this id
	in := inputOf(was, th.Lease.History(), was.From)
	t.job = turnJob{run: (*Turn).runInterruptedChild, input: Input{Message: in}, interrupted: was, child: &about}
	return t.drive(ctx).settleError()
}

// ReleaseIfCancelled is called between Settle and the next turn. If ctx has ended, it releases
// the lease and returns the cause.
func (th *Thread) ReleaseIfCancelled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return errors.Join(context.Cause(ctx), th.Lease.Release(context.WithoutCancel(ctx)))
}

// settleError is nil if the end of the settled turn is stored. Then the lease stays for the next
// turn. Otherwise it has all errors of the turn, also those of the write of its end.
func (t *Turn) settleError() error {
	if !t.endStored {
		return fmt.Errorf("end the turn that was interrupted: %w", cmp.Or(joinErrors(t.errs), t.out.Err, errEndNotStored))
	}
	t.thread.Lease.Renew()
	return nil
}

// runInterrupted is the loop of an interrupted turn. ask says whether the model is asked again
// before the turn ends.
func (t *Turn) runInterrupted() hook.TurnOutcome {
	was := t.job.interrupted
	t.thread.Lease.ForgetJournal()
	t.restore(was)
	ask := t.job.resume && was.End == nil && !t.endsPartial() && (was.Guest == "" || t.setGuest(was.Guest) == nil)
	t.setModel(message.Model{Format: was.Format}.Merge(was.Model))
	t.giveAgain(was, t.job.input.Tools)
	in := inputOf(was, t.history.stored, t.firstMessage)
	t.enter(in, t.job.input.Observe)
	t.handle.steers.openWith(was.Steers)
	t.startEmitted = true
	if t.job.resume {
		t.markBegun(t.thread.Log.Last())
	}
	t.emit(hook.Event{Kind: event.TurnStart, Text: in.Text()})
	if len(was.Input) > 0 {
		t.resumeInput(was, in, ask)
	} else {
		t.resumeSteps(was, ask)
	}
	t.interrupted = nil
	out := t.finish()
	t.leave()
	return out
}

// resumeInput takes the input through the gates, which it had not passed, also if the model is
// not asked: otherwise the input would be lost. It counts as resuming, because a gate may be
// what ended the process.
func (t *Turn) resumeInput(was *durable.Interrupted, in message.Input, ask bool) {
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
	case more && ask && t.addContext():
		t.runSteps()
	case more && !ask:
		t.signalNotResumed()
	}
}

// resumeSteps resumes a turn whose input is in the history.
func (t *Turn) resumeSteps(was *durable.Interrupted, ask bool) {
	if ask || len(was.Steers) > 0 { // the gates see the steers
		ask = t.beginSession() && ask
	}
	t.settleChildren(was)
	ask = ask && t.mayResume(t.env.Limits.Resumes) && t.journalResume() && t.addContext()
	t.forget = append(t.forget, was.Numbers...)
	more := ask
	if was.Message.Role != "" {
		more = t.endInterruptedStep(was, ask) && ask
	}
	t.interrupted = nil
	switch {
	case t.restoreEnd(was):
	case !ask:
		t.signalNotResumed()
	case more || ask && t.askStop():
		t.runSteps()
	}
}

// restoreEnd gives the turn the end that its journal has, or that follows from a stored answer.
// It is false if the turn has neither.
func (t *Turn) restoreEnd(was *durable.Interrupted) bool {
	if was.End != nil {
		t.restoreAnswer()
		t.applyEnd(was.End)
		return true
	}
	return was.Message.Role == "" && len(was.Steers) == 0 && t.core().answered(t) && t.restoreAnswer()
}

// signalAbandoned adds the reason for which an abandoned turn ends.
func (t *Turn) signalAbandoned() {
	switch {
	case t.interrupted != nil && t.restoreEnd(t.interrupted):
	case t.ctx.Err() != nil:
		t.signalCancelled()
	case t.interrupted != nil:
		t.signalNotResumed()
	}
}

// staysInterrupted reports whether an abandoned turn can be resumed once more: no gate has
// decided about its input, and the turn itself was not cancelled. Options.Limits.Resumes limits
// how often that happens.
func (t *Turn) staysInterrupted() bool {
	return t.interrupted != nil && t.interrupted.End == nil && t.ctx.Err() == nil && !t.stored &&
		t.history.stored.Len() == t.thread.Lease.History().Len()
}

// mayResume reports whether the turn was resumed fewer than limit times. If not, the turn fails.
func (t *Turn) mayResume(limit int) bool {
	if t.resumed < limit {
		return true
	}
	return t.fail(fmt.Errorf("%w %d times and was resumed as often", errGone, t.resumed+1))
}

// journalResume journals that the turn is resumed once more.
func (t *Turn) journalResume() bool {
	t.resumed++
	return t.journal(&t.entries, t.turnEntry())
}

// applyEnd adds the signals and errors of a journaled end.
func (t *Turn) applyEnd(end *durable.End) {
	t.signals = append(t.signals, end.Signals...)
	for _, text := range end.Errors {
		t.errs = append(t.errs, endError(text))
	}
}

// endError returns the error with the text: a sentinel if callers may test for it.
func endError(text string) error {
	for _, err := range []error{ErrStopped, ErrClosed, ErrAgentClosing, context.Canceled, context.DeadlineExceeded} {
		if err.Error() == text {
			return err
		}
	}
	return errors.New(text)
}

// endsPartial reports whether the turn ends with half an answer, because it was cancelled.
func (t *Turn) endsPartial() bool {
	n := t.history.stored.Len()
	return n > t.firstMessage && t.history.stored.At(n-1).Partial
}

// restoreAnswer sets final from the history. It reports whether the answer is complete, so that
// only the end of the turn is missing.
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

// signalNotResumed ends the turn as interrupted, unless it failed or was denied.
func (t *Turn) signalNotResumed() {
	if t.hasFailed() || t.hasSignal(hook.StopDenied) {
		return
	}
	t.errs = append(t.errs, errGone)
	t.signal(hook.StopCancelled, "", "interrupted: the process that ran the turn has ended")
}

// restore gives t the identity and the state of the interrupted turn.
func (t *Turn) restore(was *durable.Interrupted) {
	if was.ID != "" {
		t.id, t.started, t.resumed, t.eventsBefore = was.ID, was.Started, was.Resumed, was.Event
		t.firstMessage = min(was.From, t.history.stored.Len())
	}
	was.DropEnd(t.history.stored.Len())
	t.interrupted = was
	t.entries, t.stored = was.TurnNumbers, len(was.Input) == 0
	t.usage, t.cost, t.calls = was.Reply.Usage, was.Reply.Cost, was.Reply.Calls
	t.money.Resume(was.Token, was.Reply.Cost)
	for _, m := range t.history.stored.From(t.firstMessage).All() {
		if m.Role == message.RoleAssistant {
			t.number++
		}
	}
	t.restorePlan(was.Loop)
}

// inputOf returns the input of the interrupted turn: from the journal, or if the history has it
// already, from the message with the index from on.
func inputOf(was *durable.Interrupted, history message.Messages, from int) message.Input {
	if len(was.Input) > 0 {
		return message.Input{Messages: message.Freeze(was.Input)}
	}
	var in []message.Message
	for _, m := range history.From(min(from, history.Len())).All() {
		if m.Role != message.RoleUser {
			break
		}
		in = append(in, m)
	}
	return message.Input{Messages: message.Freeze(in)}
}

// endInterruptedStep ends the step whose calls had begun. With ask it runs the calls again that
// may run twice.
func (t *Turn) endInterruptedStep(was *durable.Interrupted, ask bool) (more bool) {
	t.beginStep()
	more = t.endInterruptedCalls(was, ask)
	return t.finishStep() && more
}

// restoreCalls restores the calls that had begun, with what the journal says of them. If the
// loop is abandoned later, its owner finds in openCalls which of them have run.
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

// restoreAbandonedCalls calls restoreCalls for an abandoned turn whose loop has not done so.
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

func (t *Turn) endInterruptedCalls(was *durable.Interrupted, ask bool) (more bool) {
	reply, calls := t.restoreCalls(was)
	t.emit(hook.Event{Kind: event.CallsBegin}.WithTools(t.toolNames(calls)))
	for i := range calls {
		c := &calls[i]
		switch {
		case c.hasOutcome():
		case c.masked:
			t.endMasked(c)
		case ask && was.Starts[c.at.ID()].Again && !slices.Contains(t.ungiven, c.at.Name()) && t.bind(c, c.at):
			t.emitCall(event.CallStart, c, "")
			t.decide(c)
		case !c.hasOutcome():
			c.setInterrupted()
		}
	}
	return t.finishCalls(reply, calls)
}

// endMasked answers a call whose arguments the store has only masked, and tells people of it. Such
// a call never runs again: not even a person can approve it.
func (t *Turn) endMasked(c *call) {
	c.setResult(message.OutcomeInterrupted, message.FailedResult(message.FailCancelled,
		"interrupted, and not run again: the store has this call only with a secret in its arguments masked. Look what it did, and ask the person whether to make the call anew"))
	t.emit(hook.Diagnostic{Code: event.CodeCallMasked, Visibility: event.VisibleUser, Text: fmt.Sprintf(
		"a call of %s was interrupted and is not run again: its arguments had a secret, which was masked in the store. Shall the agent make the call anew?", c.at.Name())}.Event())
}

// setInterrupted answers a call whose effect is unknown.
func (c *call) setInterrupted() {
	c.setResult(message.OutcomeInterrupted, message.FailedResult(message.FailCancelled,
		"interrupted: the turn broke off while the tool ran; what it did is not known, so look before you call it again"))
}
