package loop

import (
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// begun is the entry of the turn itself.
func (t *Turn) begun() store.Entry {
	return durable.Turn{
		ID: t.id, Number: t.place.Number(), From: t.from, Started: t.started, Resumed: t.resumed, Guest: t.guest(),
		Event: t.before, Project: t.env.Project,
	}.Entry()
}

// noteStart keeps what is about to happen: the reply, the calls that will run, and
// the results of those that will not. False if that failed: then nothing may run.
func (t *Turn) noteStart(reply message.ModelReply, calls []call) bool {
	if !t.thread.Lease.Journals() {
		return true
	}
	usage, cost := t.spent()
	made := durable.Reply{Step: t.number, Usage: usage, Cost: cost, Calls: t.calls}
	entries := []store.Entry{made.Entry(t.said(withArgs(reply.Content, calls)))}
	for i := range calls {
		if c := &calls[i]; c.settled() {
			entries = append(entries, c.resultEntry())
		} else {
			entries = append(entries, durable.StartEntry(c.at, t.key(c)))
		}
	}
	return t.note(entries)
}

// noteResult keeps a result while other calls of the step still run.
func (t *Turn) noteResult(c *call) {
	if t.thread.Lease.Journals() {
		t.note([]store.Entry{c.resultEntry()})
	}
}

// note adds to the journal, with the events and states that have come up.
func (t *Turn) note(entries []store.Entry) bool {
	return t.write(func(events []store.Event, states []hook.StateValue) error {
		seqs, err := t.thread.Lease.Note(t.durable, store.Note{Entries: entries, Events: events, States: states})
		t.forget = append(t.forget, seqs...)
		return err
	})
}

// noteEnd journals how the turn ends as soon as that is certain, because hooks may still
// take their time before it has ended.
func (t *Turn) noteEnd() {
	if !t.thread.Lease.Journals() || t.ended || t.lost {
		return
	}
	t.write(func(events []store.Event, states []hook.StateValue) error {
		seqs, err := t.thread.Lease.Note(t.durable, store.Note{Entries: []store.Entry{t.endEntry()}, Events: events, States: states})
		t.entries = append(t.entries, seqs...)
		return err
	})
}

// endEntry is how the turn ends as things stand.
func (t *Turn) endEntry() store.Entry {
	end := durable.End{At: t.history.stored.Len(), Signals: t.counting()}
	for _, err := range t.errs {
		end.Errors = append(end.Errors, PublicText(err))
	}
	return end.Entry()
}

func (c *call) resultEntry() store.Entry {
	return durable.Result{Outcome: c.end.Outcome, Duration: c.end.Duration}.Entry(c.at.ID(), c.message())
}

// unstored notes that the store has failed. What could not be stored is tried
// again when the turn ends, unless the conversation is somebody else's by now.
func (t *Turn) unstored(err error) {
	t.errs = append(t.errs, err)
	t.signal(hook.StopError, "", PublicText(err))
	t.lost = t.thread.Lease.Failed(t.durable, err) || t.lost
}
