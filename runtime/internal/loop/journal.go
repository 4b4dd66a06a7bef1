package loop

import (
	"errors"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// turnEntry is the entry of the turn itself.
func (t *Turn) turnEntry() store.Entry {
	return durable.Turn{
		ID: t.id, Number: t.place.Number(), From: t.firstMessage, Started: t.started, Resumed: t.resumed, Guest: t.guestName(),
		Event: t.eventsBefore, Project: t.env.Project,
	}.Entry()
}

// journalStart keeps what is about to happen: the reply, the calls that will run, and
// the results of those that will not. False if that failed: then nothing may run.
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
	return t.journal(entries)
}

// journalResult keeps a result while other calls of the step still run.
func (t *Turn) journalResult(c *call) {
	if t.thread.Lease.Journals() {
		t.journal([]store.Entry{c.resultEntry()})
	}
}

// journal adds to the journal, with the events and states that have come up.
func (t *Turn) journal(entries []store.Entry) bool {
	return t.write(func(events []store.Event, states []hook.StateValue) error {
		seqs, err := t.thread.Lease.Note(t.noCancel, store.Note{Entries: entries, Events: events, States: states})
		t.forget = append(t.forget, seqs...)
		return err
	})
}

// journalEnd journals how the turn ends as soon as that is certain, because hooks may still
// take their time before it has ended.
func (t *Turn) journalEnd() {
	if !t.thread.Lease.Journals() || t.endStored || t.leaseLost {
		return
	}
	t.write(func(events []store.Event, states []hook.StateValue) error {
		seqs, err := t.thread.Lease.Note(t.noCancel, store.Note{Entries: []store.Entry{t.endEntry()}, Events: events, States: states})
		t.entries = append(t.entries, seqs...)
		return err
	})
}

// endEntry is how the turn ends as things stand.
func (t *Turn) endEntry() store.Entry {
	end := durable.End{At: t.history.stored.Len(), Signals: t.activeSignals()}
	for _, err := range t.errs {
		end.Errors = append(end.Errors, PublicText(err))
	}
	return end.Entry()
}

func (c *call) resultEntry() store.Entry {
	return durable.Result{Outcome: c.end.Outcome, Duration: c.end.Duration}.Entry(c.at.ID(), c.message())
}

// failStore notes that the store has failed. What could not be stored is tried
// again when the turn ends, unless the conversation is somebody else's by now.
func (t *Turn) failStore(err error) {
	t.errs = append(t.errs, err)
	t.signal(hook.StopError, "", PublicText(err))
	t.leaseLost = t.thread.Lease.Failed(t.noCancel, err) || t.leaseLost
}

// commit stores what has been added to the history since the last time. It does
// so although the turn may have been cancelled.
func (t *Turn) commit(turnEnds bool) bool {
	return t.append(store.Append{TurnEnds: turnEnds})
}

func (t *Turn) append(a store.Append) bool {
	a.Forget = t.forget
	return t.write(func(events []store.Event, states []hook.StateValue) error {
		a.Events, a.States = events, states
		if err := t.thread.Lease.Commit(t.noCancel, t.history.stored, a); err != nil {
			return err
		}
		t.stored, t.endStored, t.forget = true, a.TurnEnds, nil
		return nil
	})
}

// The states that hooks have in a conversation are written with whatever a turn
// writes next, a note or an append, so that they are never ahead of what they tell
// of, nor behind it. They are read when the conversation is first looked at, and
// again when its lease is claimed: somebody else may have written them.

// write hands w what every write takes along: events and states that the store does
// not have yet. False if something could not be stored; then the turn fails.
func (t *Turn) write(w func([]store.Event, []hook.StateValue) error) bool {
	unkept, err := t.thread.Lease.Write(w)
	if unkept != nil {
		t.failStates(unkept)
	}
	if err != nil {
		t.failStore(err)
	}
	return errors.Join(unkept, err) == nil
}

// failStates notes that a state cannot be written, whatever the store does.
func (t *Turn) failStates(err error) {
	t.errs = append(t.errs, err)
	t.signal(hook.StopError, "", PublicText(err))
	if t.outcomeFixed { // nobody asks for the errors any more
		t.emit(hook.Event{Kind: event.Diagnostic, Text: PublicText(err)})
	}
}
