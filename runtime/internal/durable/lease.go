package durable

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// ErrMoved: the conversation has another id in the store now.
var ErrMoved = errors.New("the conversation was moved")

// Lease is a process's right to write one conversation, together with the state that it has
// read. Only the running turn uses it, except for Record, Running, QueueJob, NoteEvents and
// NoteFromOutside, which any goroutine may call.
type Lease struct {
	all    *Leases
	key    store.Key
	id     string
	parent string
	// log, states and jobs have the events, states and jobs that the next write stores too.
	log    *stream.Log
	states *hook.States
	jobs   jobs
	// keeps: hooks keep states in the conversation.
	keeps bool
	owner Owner

	// epoch is the epoch of the lease; 0 before the first claim.
	epoch int64
	// held: the lease is not free in the store.
	held bool
	// unanswered: a claim or a write had no answer; the store may have made it, or make it yet.
	unanswered atomic.Bool
	// statesAt is the epoch under which the states were read.
	statesAt int64
	// foreign: another process has continued a turn that some states belong to.
	foreign bool
	past    past
	renewal renewal
}

// past is the stored conversation as this process has read it. The zero past is unread.
type past struct {
	// takes is the epoch of a holder that is known to be gone.
	takes   int64
	version int64
	turns   int
	history message.Messages
	// journal has the entries of an interrupted turn.
	journal []store.Entry
}

// Owner is the conversation of a Lease.
type Owner interface {
	// Tell emits an event about a problem with stored data.
	Tell(context.Context, hook.Event)
	// Loaded is called with the history after it was read.
	Loaded(message.Messages)
	// LeaseLost is called when another process has taken the lease from a running turn.
	LeaseLost()
}

// LeaseOptions describe the conversation of a Lease.
type LeaseOptions struct {
	Record store.Record
	Log    *stream.Log
	States *hook.States
	// KeepsStates: hooks keep states in conversations.
	KeepsStates bool
	Owner       Owner
}

// Lease returns the lease of the conversation. It is not claimed yet.
func (ls *Leases) Lease(o LeaseOptions) *Lease {
	return &Lease{
		all: ls, key: o.Record.Key, id: o.Record.ID, parent: o.Record.Parent,
		log: o.Log, states: o.States, keeps: o.KeepsStates, owner: o.Owner,
	}
}

func (l *Lease) store() store.Store { return l.all.o.Store }

// Journals is [Leases.Journals].
func (l *Lease) Journals() bool { return l.all.Journals() }

// History returns the stored history, Turns the number of ended turns, and Version the
// store's version, 0 for a conversation without messages.
func (l *Lease) History() message.Messages { return l.past.history }

// Turns: see History.
func (l *Lease) Turns() int { return l.past.turns }

// Version: see History.
func (l *Lease) Version() int64 { return l.past.version }

// Interrupted reports whether a turn was interrupted.
func (l *Lease) Interrupted() bool { return len(l.past.journal) > 0 }

// Journal returns the journal of the interrupted turn.
func (l *Lease) Journal() *Interrupted { return readJournal(l.past.journal) }

// ForgetJournal drops the journal that was read, because the interrupted turn was resumed
// or discarded.
func (l *Lease) ForgetJournal() { l.past.journal = nil }

// Takes allows the next claim to take the lease away from the holder of that epoch, which
// is gone.
func (l *Lease) Takes(epoch int64) { l.past.takes = epoch }

// Running returns the epoch of the running turn; -1 if no turn runs.
func (l *Lease) Running() int64 {
	l.renewal.mu.Lock()
	defer l.renewal.mu.Unlock()
	if l.renewal.epoch == 0 {
		return -1
	}
	return l.renewal.epoch
}

// Record reads the conversation's record from the store.
func (l *Lease) Record(ctx context.Context) (store.Record, error) {
	if s, ok := l.store().(store.Child); ok && l.parent != "" {
		return s.Child(ctx, l.key, l.parent)
	}
	return l.store().Conversation(ctx, l.key)
}

// Open gets the lease and reads the changes of other processes. If this process was the
// last holder, it needs no claim: the epoch is still its own, and the first write fails if
// another process has claimed meanwhile. After a write without an answer it claims, so that the
// write is fenced if it comes late. If another process has the lease, Open waits for
// it or returns a [*store.LeasedError]. After an error the lease is free.
func (l *Lease) Open(ctx context.Context, wait bool) error {
	err := l.open(ctx, wait)
	if err != nil && l.held {
		_ = l.Release(context.WithoutCancel(ctx)) // after an error the lease runs out
	}
	return err
}

func (l *Lease) open(ctx context.Context, wait bool) error {
	rec, err := l.Record(ctx)
	switch {
	case err != nil:
		return err
	case rec.ID != l.id:
		return ErrMoved
	}
	if l.epoch == 0 || rec.Lease.Epoch != l.epoch || l.unanswered.Load() {
		if rec, err = l.claim(ctx, wait); err != nil {
			return err
		}
	}
	l.held = !rec.Lease.Until.IsZero()
	l.log.Follow(rec.Events, l.epoch)
	if err := l.read(ctx, rec); err != nil {
		return err
	}
	l.Renew()
	return nil
}

// poll is how often Open tries to claim while another process has the lease.
const poll = 100 * time.Millisecond

// claim claims the lease. With wait it retries while another process has it.
func (l *Lease) claim(ctx context.Context, wait bool) (store.Record, error) {
	for {
		rec, err := l.tryClaim(ctx)
		var held *store.LeasedError
		if !wait || !errors.As(err, &held) {
			return rec, err
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return rec, context.Cause(ctx)
		}
	}
}

// tryClaim claims the lease once. If the store says that this process has it already, that is from
// an earlier claim whose answer was lost, or the epoch of a write whose answer was.
func (l *Lease) tryClaim(ctx context.Context) (store.Record, error) {
	take := func(c store.Claim) (store.Record, error) {
		c.Takes = max(c.Takes, l.past.takes)
		return l.store().Claim(ctx, l.id, c)
	}
	rec, err := l.all.Take(take)
	var held *store.LeasedError
	if l.unanswered.Load() && errors.As(err, &held) && held.Lease.Owner == l.all.o.Owner {
		l.past.takes = held.Lease.Epoch
		rec, err = l.all.Take(take)
	}
	if l.heard(err) == nil {
		l.epoch = rec.Lease.Epoch
		l.unanswered.Store(false)
	}
	return rec, err
}

// Renew starts to renew the lease, and lets jobs wait for its writes. Open calls it, and who
// runs a further turn under the lease.
func (l *Lease) Renew() {
	l.jobs.begin(l.epoch)
	l.all.add(l)
}

// StopRenewing stops the renewal. Call it before Release.
func (l *Lease) StopRenewing() { l.all.remove(l) }

// Release frees the lease and stores what is not stored yet. ctx must not end with the turn.
func (l *Lease) Release(ctx context.Context) error {
	l.all.remove(l)
	l.jobs.end()
	unkept, err := l.Write(func(u Unstored) error {
		if !l.held && u.empty() {
			return nil
		}
		l.held = false
		_, err := l.note(ctx, store.Note{Epoch: l.epoch, Events: u.Events, States: u.States, Jobs: u.Jobs})
		return err
	})
	l.foreign = l.foreign || errors.Is(err, store.ErrFenced)
	if err = errors.Join(unkept, err); err != nil {
		return fmt.Errorf("store the end of a turn of conversation %s: %w", l.id, err)
	}
	return nil
}
