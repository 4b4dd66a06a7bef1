package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Unstored is what the store does not have yet of a conversation.
type Unstored struct {
	Events []store.Event
	States []hook.StateValue
	Jobs   []store.Job
}

func (u Unstored) empty() bool { return len(u.Events)+len(u.States)+len(u.Jobs) == 0 }

// Write calls write with what is not stored yet. Every write stores that too, so that stored
// states and jobs always match the stored events. unkept reports states that cannot be
// encoded; err is the error of write.
func (l *Lease) Write(write func(Unstored) error) (unkept, err error) {
	var jobs []store.Job
	err = l.log.Write(func(events []store.Event) (err error) {
		jobs = l.jobs.take()
		unkept, err = l.states.Write(func(states []hook.StateValue) error { return write(Unstored{events, states, jobs}) })
		if err != nil {
			l.jobs.putBack(jobs)
		}
		return err
	})
	if err == nil && len(jobs) > 0 && l.all.o.Queued != nil {
		l.all.o.Queued(jobs)
	}
	return unkept, err
}

// answers are the errors that say that nothing was or will be stored.
var answers = []error{store.ErrLeased, store.ErrFenced, store.ErrConflict, store.ErrFull, store.ErrUnknown}

// heard returns the error of a claim or a write, and remembers one that is no answer. Any goroutine
// may call it.
func (l *Lease) heard(err error) error {
	if err != nil && !slices.ContainsFunc(answers, func(answer error) bool { return errors.Is(err, answer) }) {
		l.unanswered.Store(true)
	}
	return err
}

// note is the store's Note. Any goroutine may call it.
func (l *Lease) note(ctx context.Context, n store.Note) (first int64, err error) {
	first, err = l.store().Note(ctx, l.id, n)
	return first, l.heard(err)
}

// Note adds to the journal under the lease, and returns the numbers of the new entries.
func (l *Lease) Note(ctx context.Context, n store.Note) ([]int64, error) {
	n.Epoch, n.Hold = l.epoch, l.all.o.Hold
	first, err := l.note(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("store what a turn of conversation %s is doing: %w", l.id, err)
	}
	numbers := make([]int64, len(n.Entries))
	for i := range numbers {
		numbers[i] = first + int64(i)
	}
	return numbers, nil
}

// NoteFromOutside is Note for goroutines other than the running turn's loop. It returns the
// number of the first entry.
func (l *Lease) NoteFromOutside(ctx context.Context, entries []store.Entry) (int64, error) {
	return l.note(ctx, store.Note{Epoch: l.log.Epoch(), Hold: l.all.o.Hold, Entries: entries})
}

// NoteEvents stores events and nothing else. It neither takes nor frees the lease.
func (l *Lease) NoteEvents(ctx context.Context, epoch int64, events []store.Event) error {
	n := store.Note{Epoch: epoch, Events: events}
	if l.Running() >= 0 {
		n.Hold = l.all.o.Hold
	}
	_, err := l.note(ctx, n)
	return err
}

// Flush stores what is not stored yet.
func (l *Lease) Flush(ctx context.Context) error {
	unkept, err := l.Write(func(u Unstored) error {
		if u.empty() {
			return nil
		}
		n := store.Note{Epoch: l.epoch, Events: u.Events, States: u.States, Jobs: u.Jobs}
		if l.Running() >= 0 {
			n.Hold = l.all.o.Hold
		}
		_, err := l.note(ctx, n)
		return err
	})
	return errors.Join(unkept, err)
}

// Commit appends the new messages to the stored history. messages is the old history with
// the new messages behind it. Commit sets a's version, epoch and messages.
func (l *Lease) Commit(ctx context.Context, messages message.Messages, a store.Append) error {
	a.Version, a.Epoch, a.Messages = l.past.version, l.epoch, messages.From(l.past.history.Len())
	if !a.TurnEnds {
		a.Hold = l.all.o.Hold
	}
	version, err := l.store().Append(ctx, l.id, a)
	if l.heard(err) != nil {
		return fmt.Errorf("store conversation %s: %w", l.id, err)
	}
	l.past.version, l.past.history, l.held = version, messages, a.Hold > 0
	if a.TurnEnds {
		l.past.turns++
	}
	return nil
}

// Failed handles the error of a write. It reports whether another process has continued the
// conversation.
func (l *Lease) Failed(ctx context.Context, err error) (lost bool) {
	lost = errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrConflict)
	l.foreign = l.foreign || lost
	// A write that seemed to fail may have succeeded: do not store its events twice.
	if rec, err := l.Record(ctx); err == nil && rec.Lease.Epoch == l.epoch {
		l.log.Follow(rec.Events, l.epoch)
	}
	return lost
}

// Change changes the stored history with write, emits the event tell, and reads the history
// again. The caller has the lease and runs no turn. If write fails, listeners get a
// diagnostic that nothing has changed.
func (l *Lease) Change(ctx context.Context, tell hook.Event, write func(store.At) (int64, error)) error {
	at := store.At{Version: l.past.version, Epoch: l.epoch, Hold: l.all.o.Hold}
	l.held = true
	err := l.log.Announce(ctx, tell, "the conversation was not changed", func(events []store.Event) error {
		at.Events = events
		_, err := write(at)
		if l.heard(err) != nil && l.changed(ctx, at) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	l.past.version, l.past.history = 0, message.Messages{} // unread, until a read succeeds
	rec, err := l.Record(ctx)
	if err == nil {
		err = l.readHistory(ctx, rec)
	}
	if err != nil {
		l.owner.Tell(ctx, readAgain(l.id, err))
	}
	return nil
}

// changed reports whether a change that seemed to fail succeeded. Under this lease no other
// process can have made it.
func (l *Lease) changed(ctx context.Context, at store.At) bool {
	rec, err := l.Record(ctx)
	return err == nil && rec.Version == at.Version+1 && rec.Lease.Epoch == at.Epoch
}
