package loop

import (
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// turnEntry is the journal entry that names the turn.
func (t *Turn) turnEntry() store.Entry {
	return durable.Turn{
		ID: t.id, Number: t.place.Number(), From: t.firstMessage, Started: t.started, Resumed: t.resumed, Guest: t.guestName(),
		Event: t.eventsBefore, Project: t.env.Project, Model: t.model, Token: t.account().Token(),
		Caller: t.given.Caller(), Client: durable.ClientTools(t.given.Client()),
	}.Entry()
}

// journal adds entries, and stores what is new with them. It appends the numbers of
// the entries to *numbers: t.forget or t.entries.
func (t *Turn) journal(numbers *[]int64, entries ...store.Entry) bool {
	return t.write(func(u durable.Unstored) error {
		seqs, err := t.thread.Lease.Note(t.noCancel, store.Note{Entries: entries, Events: u.Events, States: u.States, Jobs: u.Jobs})
		*numbers = append(*numbers, seqs...)
		return err
	})
}

// journalEnd journals how the turn ends as soon as that is certain: the process may die while
// hooks delay the end.
func (t *Turn) journalEnd() {
	if !t.thread.Lease.Journals() || t.endStored || t.leaseLost {
		return
	}
	t.journal(&t.entries, t.endEntry())
}

// endEntry is the journal entry of how the turn would end now.
func (t *Turn) endEntry() store.Entry {
	end := durable.End{At: t.history.stored.Len(), Signals: t.activeSignals()}
	for _, err := range t.errs {
		end.Errors = append(end.Errors, PublicText(err))
	}
	return end.Entry()
}

// failStore fails the turn because the store failed. The end of the turn tries the write again,
// unless another process has continued the conversation.
func (t *Turn) failStore(err error) {
	t.errs = append(t.errs, err)
	t.signal(hook.StopError, "", PublicText(err))
	t.leaseLost = t.thread.Lease.Failed(t.noCancel, err) || t.leaseLost
}

// commit stores the messages added since the last commit, also if the turn was cancelled.
func (t *Turn) commit(turnEnds bool) bool {
	return t.append(store.Append{TurnEnds: turnEnds})
}

func (t *Turn) append(a store.Append) bool {
	a.Forget = t.forget
	if e, ok := t.planEntry(); ok && !a.TurnEnds {
		a.Entries = append(a.Entries, e)
	}
	return t.write(func(u durable.Unstored) error {
		a.Events, a.States, a.Jobs = u.Events, u.States, u.Jobs
		if err := t.thread.Lease.Commit(t.noCancel, t.history.stored, a); err != nil {
			return err
		}
		t.stored, t.endStored, t.forget, t.planChanged = true, a.TurnEnds, nil, false
		return nil
	})
}

// write calls w with the events, states and jobs that the store does not have yet. Every write
// of a turn stores them too, so they always match the stored messages. It is false if something
// could not be stored; then the turn fails.
func (t *Turn) write(w func(durable.Unstored) error) bool {
	unkept, err := t.thread.Lease.Write(w)
	if unkept != nil {
		t.failStates(unkept)
	}
	if err != nil {
		t.failStore(err)
	}
	return errors.Join(unkept, err) == nil
}

// failStates fails the turn because the state of a hook cannot be encoded.
func (t *Turn) failStates(err error) {
	t.errs = append(t.errs, err)
	t.signal(hook.StopError, "", PublicText(err))
	if t.outcomeFixed { // the outcome no longer takes errors
		t.emit(hook.Event{Kind: event.Diagnostic, Text: PublicText(err)})
	}
}
