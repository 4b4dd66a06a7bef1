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
	t.job = turnJob{do: (*Turn).goOnWith, in: Input{Observe: observe}, was: th.Lease.Journal(), on: true}
	return t.drive(ctx).out
}

// goOnWith is the loop of an interrupted turn.
func (t *Turn) goOnWith() hook.TurnOutcome { return t.goOn(t.job.was, t.job.on, t.job.in.Observe) }

// goOnAsChild is goOnWith for a child.
func (t *Turn) goOnAsChild() hook.TurnOutcome { return t.asChild(t.job.in.Message, t.goOnWith) }

// Settle brings the interrupted turn to its end without going on with it. After an error
// the turn is still interrupted: the store failed, or the caller gave up before a gate had
// judged the input. The turn's hooks get the grace period of a caller who gives up.
func (th *Thread) Settle(ctx context.Context, h *Handle) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel() // for a hook that was left behind
	t := th.newTurn(lasting, h)
	t.job = turnJob{do: (*Turn).goOnWith, was: th.Lease.Journal()}
	return t.drive(ctx).settled()
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
	t.job = turnJob{do: (*Turn).goOnAsChild, in: Input{Message: in}, was: was, child: &about}
	return t.drive(ctx).settled()
}

// GivenUp is why no turn follows the settled one: the caller has given up meanwhile.
func (th *Thread) GivenUp(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return errors.Join(context.Cause(ctx), th.Lease.Release(context.WithoutCancel(ctx)))
}

func (t *Turn) settled() error {
	if !t.ended {
		return fmt.Errorf("end the turn that was interrupted: %w", t.out.Err)
	}
	t.thread.Lease.Renew() // the next turn follows under the same lease
	return nil
}

// goOn ends the interrupted turn; on says that the model is asked again first.
func (t *Turn) goOn(was *durable.Interrupted, on bool, observe func(hook.Event)) hook.TurnOutcome {
	t.thread.Lease.ForgetJournal()
	t.adopt(was)
	on = on && was.End == nil && !t.cutOff() && (was.Guest == "" || t.invite(was.Guest) == nil)
	in := inputAt(t.history.stored, t.from)
	if len(was.Input) > 0 {
		in = message.Input{Messages: message.Freeze(was.Input)}
	}
	t.enter(in, observe)
	t.handle.steers.begin(was.Letters)
	t.opened = true
	if t.job.on {
		t.markBegun(t.thread.Log.Last())
	}
	t.emit(hook.Event{Kind: event.TurnStart, Text: in.Text()})
	if len(was.Input) > 0 {
		t.beginAgain(was, in, on)
	} else {
		t.continues(was, on)
	}
	t.owed = nil
	out := t.finish()
	t.leave()
	return out
}

// beginAgain takes the input through the gates, which it had not passed: also where the
// model is not asked, so that what was said is not lost. That counts as resuming, because
// a gate may be what kills the process.
func (t *Turn) beginAgain(was *durable.Interrupted, in message.Input, on bool) {
	t.forget = was.Numbers
	if was.End != nil {
		t.endsLike(was.End)
		return
	}
	if !t.mayResume(max(1, t.env.Limits.Resumes)) || !t.noteResumed() {
		return
	}
	more := t.accept(in)
	t.owed = nil
	switch {
	case more && on && t.inform():
		t.runSteps()
	case more && !on:
		t.notResumed()
	}
}

// continues goes on behind the input, which is history.
func (t *Turn) continues(was *durable.Interrupted, on bool) {
	if on || len(was.Letters) > 0 { // hooks see what was said to the turn
		on = t.beginSession() && on
	}
	t.settleChildren(was)
	on = on && t.mayResume(t.env.Limits.Resumes) && t.noteResumed() && t.inform()
	t.forget = append(t.forget, was.Numbers...)
	more := on
	if was.Message.Role != "" {
		more = t.endStep(was, on) && on
	}
	t.owed = nil
	switch {
	case t.hasItsEnd(was):
	case !on:
		t.notResumed()
	case more || on && t.extended():
		t.runSteps()
	}
}

// hasItsEnd gives the turn the end that the journal or its answer says it has, if any.
func (t *Turn) hasItsEnd(was *durable.Interrupted) bool {
	if was.End != nil {
		t.answered()
		t.endsLike(was.End)
		return true
	}
	return was.Message.Role == "" && len(was.Letters) == 0 && t.answered()
}

// endsLeft notes why the turn ends, whose loop was left behind.
func (t *Turn) endsLeft() {
	switch {
	case t.owed != nil && t.hasItsEnd(t.owed):
	case t.ctx.Err() != nil:
		t.cancelled()
	case t.owed != nil:
		t.notResumed()
	}
}

// staysInterrupted reports whether the turn, whose loop was left behind, is left to who
// takes it up next: no gate has judged its input, and it was not the turn that was
// cancelled. How often that happens is limited by Options.Limits.Resumes.
func (t *Turn) staysInterrupted() bool {
	return t.owed != nil && t.owed.End == nil && t.ctx.Err() == nil && !t.stored &&
		t.history.stored.Len() == t.thread.Lease.History().Len()
}

// mayResume reports whether the turn was resumed less often than that.
func (t *Turn) mayResume(limit int) bool {
	if t.resumed < limit {
		return true
	}
	return t.fail(fmt.Errorf("%w %d times and was resumed as often", errGone, t.resumed+1))
}

// noteResumed journals that the turn is gone on with once more.
func (t *Turn) noteResumed() bool {
	t.resumed++
	return t.write(func(events []store.Event, states []hook.StateValue) error {
		seqs, err := t.thread.Lease.Note(t.durable, store.Note{Entries: []store.Entry{t.begun()}, Events: events, States: states})
		t.entries = append(t.entries, seqs...)
		return err
	})
}

// endsLike gives the turn the end that it was about to have.
func (t *Turn) endsLike(end *durable.End) {
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

// cutOff reports whether the history ends with half an answer: its turn was cancelled.
func (t *Turn) cutOff() bool {
	n := t.history.stored.Len()
	return n > t.from && t.history.stored.At(n-1).Partial
}

// answered reports whether the turn has its answer, so that only its end is missing.
func (t *Turn) answered() bool {
	n := t.history.stored.Len()
	if n <= t.from || t.failed() {
		return false
	}
	said := t.history.stored.At(n - 1)
	if said.Role != message.RoleAssistant {
		return false
	}
	t.final = said.Content
	return !said.Partial
}

// notResumed notes that the turn ends without being resumed.
func (t *Turn) notResumed() {
	if t.failed() || t.signalled(hook.StopDenied) {
		return
	}
	t.errs = append(t.errs, errGone)
	t.signal(hook.StopCancelled, "", "interrupted: the process that ran the turn has ended")
}

// adopt makes t the turn that was interrupted.
func (t *Turn) adopt(was *durable.Interrupted) {
	if was.ID != "" {
		t.id, t.started, t.resumed, t.before = was.ID, was.Started, was.Resumed, was.Event
		t.from = min(was.From, t.history.stored.Len())
	}
	was.DropEnd(t.history.stored.Len())
	t.owed = was
	t.entries, t.stored = was.TurnNumbers, len(was.Input) == 0
	t.usage, t.cost, t.calls = was.Reply.Usage, was.Reply.Cost, was.Reply.Calls
	for _, m := range t.history.stored.From(t.from).All() {
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

// endStep ends the step whose calls had begun.
func (t *Turn) endStep(was *durable.Interrupted, on bool) (more bool) {
	t.enterStep()
	more = t.endCallsOf(was, on)
	return t.leaveStep() && more
}

// recall makes the calls that had begun those of the turn, with all that the journal
// says of them: whoever ends the turn from now on knows which of them have run.
func (t *Turn) recall(was *durable.Interrupted) (message.ModelReply, []call) {
	reply := message.ModelReply{Content: was.Message.Content, Model: t.cfg.Model.Name, Finish: message.FinishTools}
	calls := t.newCalls(reply)
	for i := range calls {
		c := &calls[i]
		t.thread.ids[c.at.ID()] = accepted
		c.announced = true
		r, hasResult := was.Results[c.at.ID()]
		if c.ran = !hasResult; c.ran {
			continue
		}
		c.settle(r.Outcome, r.Message.Result)
		c.end.Duration, c.end.Call, c.concluded, c.told, c.judged = r.Duration, c.at, true, true, true
	}
	t.calling, t.recalled = calling{content: reply.Content, calls: calls}, true
	return reply, calls
}

// recallLeft is recall for a turn whose loop was left behind before that.
func (t *Turn) recallLeft() {
	if t.owed == nil || t.owed.Message.Role == "" || t.recalled {
		return
	}
	if !t.stepping {
		t.enterStep()
	}
	_, calls := t.recall(t.owed)
	t.emit(hook.Event{Kind: event.CallsBegin}.WithTools(t.called(calls)))
}

// endCallsOf ends the calls that had begun.
func (t *Turn) endCallsOf(was *durable.Interrupted, on bool) (more bool) {
	reply, calls := t.recall(was)
	t.emit(hook.Event{Kind: event.CallsBegin}.WithTools(t.called(calls)))
	for i := range calls {
		c := &calls[i]
		switch {
		case c.settled():
		case on && was.Starts[c.at.ID()].Again && t.bind(c, c.at):
			t.emitCall(event.CallStart, c, "")
			t.decide(c)
		case !c.settled():
			c.interrupted()
		}
	}
	return t.endCalls(reply, calls)
}

// interrupted answers a call of which nobody knows what it did.
func (c *call) interrupted() {
	c.settle(message.OutcomeInterrupted, message.FailedResult(message.FailCancelled,
		"interrupted: the turn broke off while the tool ran; what it did is not known, so look before you call it again"))
}
