package runtime

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

// Interrupted reports whether the conversation has a turn that did not come to its
// end, because its process died or its store failed. One that another process
// holds, as far as its lease and Options.Gone say, is not interrupted. It asks the
// store.
func (c *Conversation) Interrupted(ctx context.Context) (bool, error) {
	rec, err := c.lease.Record(ctx)
	if err != nil {
		return false, fmt.Errorf("conversation %s: %w", c.ID(), err)
	}
	return rec.Journaled && rec.Lease.Epoch != c.lease.Running() && !c.agent.rt.leases.HeldElsewhere(rec.Lease), nil
}

// Resume continues a turn that was interrupted, where it was, and returns when it runs; see
// [Conversation.Start]. Results that had
// come are kept, calls of tools that say they are read-only or idempotent run
// again under the key that they had, and all others are answered as interrupted,
// because what they did is not known. Then the model is asked as it would have
// been. The turn keeps its id and its number, and its start is told again.
//
// A turn that has been resumed Options.Limits.Resumes times is only brought to its end.
// ErrNotInterrupted if there is none, or, with TurnOptions.Unasked, none that began
// in this project; otherwise the errors are those of Start.
func (c *Conversation) Resume(ctx context.Context, o *TurnOptions) (*Turn, error) {
	return c.start(ctx, o, c.resume)
}

func (c *Conversation) resume(ctx context.Context, h *Turn, o *TurnOptions) hook.TurnOutcome {
	if !c.lease.Interrupted() || o.Unasked && c.lease.Journal().Project != c.agent.rt.o.Project {
		_ = c.lease.Release(context.WithoutCancel(ctx)) // the next turn finds out if that did not work
		out, _ := refused(fmt.Errorf("%w: %s", ErrNotInterrupted, c.ID()))
		return out
	}
	t := c.newTurn(ctx, h)
	t.job = turnJob{do: (*turn).goOnWith, o: *o, was: c.lease.Journal(), on: true}
	return t.drive(ctx).out
}

// goOnWith is the loop of an interrupted turn.
func (t *turn) goOnWith() hook.TurnOutcome { return t.goOn(t.job.was, t.job.on, t.job.o.Observe) }

// goOnAsChild is goOnWith for a child.
func (t *turn) goOnAsChild() hook.TurnOutcome { return t.asChild(t.job.in, t.goOnWith) }

// settle brings the interrupted turn to its end without going on with it. After an error
// the turn is still interrupted: the store failed, or the caller gave up before a gate had
// judged the input. The turn's hooks get the grace period of a caller who gives up.
func (c *Conversation) settle(ctx context.Context, h *Turn) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel() // for a hook that was left behind
	t := c.newTurn(lasting, h)
	t.job = turnJob{do: (*turn).goOnWith, was: c.lease.Journal()}
	return t.drive(ctx).settled()
}

// settleChild is settle for a child of the turn, which the call has started.
func (c *Conversation) settleChild(ctx context.Context, h *Turn, parent *turn, about hook.EventDetail) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	t := c.newTurn(lasting, h)
	t.parent, t.depth = parent, parent.depth+1
	was := c.lease.Journal()
	t.id = cmp.Or(was.ID, t.id) // the events in front of the turn name it
	in := message.Input{Messages: message.Freeze(was.Input)}
	if len(was.Input) == 0 {
		in = inputAt(c.lease.History(), was.From)
	}
	t.job = turnJob{do: (*turn).goOnAsChild, in: in, was: was, child: &about}
	return t.drive(ctx).settled()
}

// givenUp is why no turn follows the settled one: the caller has given up meanwhile.
func (c *Conversation) givenUp(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return errors.Join(context.Cause(ctx), c.lease.Release(context.WithoutCancel(ctx)))
}

func (t *turn) settled() error {
	if !t.ended {
		return fmt.Errorf("end the turn that was interrupted: %w", t.out.Err)
	}
	t.conv.lease.Renew() // the next turn follows under the same lease
	return nil
}

// goOn ends the interrupted turn; on says that the model is asked again first.
func (t *turn) goOn(was *durable.Interrupted, on bool, observe func(hook.Event)) hook.TurnOutcome {
	t.conv.lease.ForgetJournal()
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
		t.markBegun(t.conv.host.log.Last())
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
func (t *turn) beginAgain(was *durable.Interrupted, in message.Input, on bool) {
	t.forget = was.Numbers
	if was.End != nil {
		t.endsLike(was.End)
		return
	}
	if !t.mayResume(max(1, t.rt.o.Limits.Resumes)) || !t.noteResumed() {
		return
	}
	more := t.accept(in)
	t.owed = nil
	switch {
	case more && on && t.inform():
		t.runSteps()
	case more && !on:
		t.goneBy()
	}
}

// continues goes on behind the input, which is history.
func (t *turn) continues(was *durable.Interrupted, on bool) {
	if on || len(was.Letters) > 0 { // hooks see what was said to the turn
		on = t.beginSession() && on
	}
	t.settleChildren(was)
	on = on && t.mayResume(t.rt.o.Limits.Resumes) && t.noteResumed() && t.inform()
	t.forget = append(t.forget, was.Numbers...)
	more := on
	if was.Message.Role != "" {
		more = t.endStep(was, on) && on
	}
	t.owed = nil
	switch {
	case t.hasItsEnd(was):
	case !on:
		t.goneBy()
	case more || on && t.goesOn():
		t.runSteps()
	}
}

// hasItsEnd gives the turn the end that the journal or its answer says it has, if any.
func (t *turn) hasItsEnd(was *durable.Interrupted) bool {
	if was.End != nil {
		t.answered()
		t.endsLike(was.End)
		return true
	}
	return was.Message.Role == "" && len(was.Letters) == 0 && t.answered()
}

// endsLeft notes why the turn ends, whose loop was left behind.
func (t *turn) endsLeft() {
	switch {
	case t.owed != nil && t.hasItsEnd(t.owed):
	case t.ctx.Err() != nil:
		t.cancelled()
	case t.owed != nil:
		t.goneBy()
	}
}

// staysInterrupted reports whether the turn, whose loop was left behind, is left to who
// takes it up next: no gate has judged its input, and it was not the turn that was
// cancelled. How often that happens is limited by Options.Limits.Resumes.
func (t *turn) staysInterrupted() bool {
	return t.owed != nil && t.owed.End == nil && t.ctx.Err() == nil && !t.stored &&
		t.history.stored.Len() == t.conv.lease.History().Len()
}

// mayResume reports whether the turn was resumed less often than that.
func (t *turn) mayResume(limit int) bool {
	if t.resumed < limit {
		return true
	}
	return t.fail(fmt.Errorf("%w %d times and was resumed as often", errGone, t.resumed+1))
}

// noteResumed journals that the turn is gone on with once more.
func (t *turn) noteResumed() bool {
	t.resumed++
	return t.write(func(events []store.Event, states []hook.StateValue) error {
		seqs, err := t.conv.lease.Note(t.durable, store.Note{Entries: []store.Entry{t.begun()}, Events: events, States: states})
		t.entries = append(t.entries, seqs...)
		return err
	})
}

// endsLike gives the turn the end that it was about to have.
func (t *turn) endsLike(end *durable.End) {
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
func (t *turn) cutOff() bool {
	n := t.history.stored.Len()
	return n > t.from && t.history.stored.At(n-1).Partial
}

// answered reports whether the turn has its answer, so that only its end is missing.
func (t *turn) answered() bool {
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

// goneBy notes that the turn is not gone on with.
func (t *turn) goneBy() {
	if t.failed() || t.signalled(hook.StopDenied) {
		return
	}
	t.errs = append(t.errs, errGone)
	t.signal(hook.StopCancelled, "", "interrupted: the process that ran the turn has ended")
}

// adopt makes t the turn that was interrupted.
func (t *turn) adopt(was *durable.Interrupted) {
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
func (t *turn) endStep(was *durable.Interrupted, on bool) (more bool) {
	t.enterStep()
	more = t.endCallsOf(was, on)
	return t.leaveStep() && more
}

// recall makes the calls that had begun those of the turn, with all that the journal
// says of them: whoever ends the turn from now on knows which of them have run.
func (t *turn) recall(was *durable.Interrupted) (message.ModelReply, []call) {
	reply := message.ModelReply{Content: was.Message.Content, Model: t.cfg.Model.Name, Finish: message.FinishTools}
	calls := t.newCalls(reply)
	for i := range calls {
		c := &calls[i]
		t.conv.ids[c.at.ID()] = accepted
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
func (t *turn) recallLeft() {
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
func (t *turn) endCallsOf(was *durable.Interrupted, on bool) (more bool) {
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
