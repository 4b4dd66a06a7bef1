// Package durable reads and writes the conversations of a process in a store: it holds the
// leases for writing, caches each history, and keeps the journal of a turn.
package durable

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// LongestLease is the longest Options.Hold. A lease that ends later comes from a wrong
// clock, and any process may take it.
const LongestLease = time.Hour

// Options are those of a process.
type Options struct {
	Store store.Store
	// Owner names the process in the store.
	Owner string
	// Hold is how long a lease lasts without renewal, at most LongestLease.
	Hold time.Duration
	// Gone reports whether the process of that owner is known to have died; nil is never.
	Gone func(owner string) bool
	// Node: Owner is a node of the store, see [store.Presence]. Its leases last while it beats,
	// so Hold is LongestLease, and only the store says who is dead: Gone is not asked, and no
	// clock but that of the store counts.
	Node bool
	// Now is the clock.
	Now func() time.Time
	// Queued is called with the jobs that a write has stored; nil is none.
	Queued func([]store.Job)
}

// Leases are the leases of a process. It renews those of running turns. It is safe for
// concurrent use.
type Leases struct {
	o        Options
	volatile bool

	mu sync.Mutex
	// renewed has the leases of running turns.
	renewed []*Lease
	// timer runs while renewed is not empty.
	timer  *time.Timer
	closed bool
	// renewing counts running calls of renew.
	renewing sync.WaitGroup
}

// NewLeases returns an empty set. The caller closes it.
func NewLeases(o Options) *Leases {
	if o.Node {
		o.Hold = LongestLease
	}
	return &Leases{o: o, volatile: o.Store.Volatile()}
}

// Journals reports whether turns are journaled. It is false if the store ends with the
// process.
func (ls *Leases) Journals() bool { return !ls.volatile }

// HeldElsewhere reports whether another process has the lease.
func (ls *Leases) HeldElsewhere(l store.Lease) bool {
	if ls.o.Node {
		return l.Owner != ls.o.Owner && !l.Until.IsZero()
	}
	return l.Owner != ls.o.Owner && l.Until.After(ls.o.Now()) && !ls.Dead(l)
}

// Dead reports whether the holder of the lease is known to have died, or the lease comes
// from a wrong clock. A store with nodes gives such a lease away itself.
func (ls *Leases) Dead(l store.Lease) bool {
	if ls.o.Node {
		return false
	}
	return l.Until.Sub(ls.o.Now()) > LongestLease || ls.o.Gone != nil && ls.o.Gone(l.Owner)
}

// Take calls take to claim a lease. If a dead process holds the lease, Take calls it again
// with that process's epoch in Takes. The error is a [*store.LeasedError] if the holder
// lives.
func (ls *Leases) Take(take func(store.Claim) (store.Record, error)) (store.Record, error) {
	claim := store.Claim{Owner: ls.o.Owner, Hold: ls.o.Hold}
	rec, err := take(claim)
	var held *store.LeasedError
	if errors.As(err, &held) && ls.Dead(held.Lease) {
		claim.Takes = held.Lease.Epoch
		rec, err = take(claim)
	}
	return rec, err
}

// renewal is the state of a lease's renewal.
type renewal struct {
	// mu is held during a renewal, so that the turn does not end meanwhile.
	mu sync.Mutex
	// epoch is the epoch of the lease to renew; 0 is none.
	epoch int64
}

func (r *renewal) set(epoch int64) {
	r.mu.Lock()
	r.epoch = epoch
	r.mu.Unlock()
}

// renewals limits concurrent renewals.
const renewals = 64

func (ls *Leases) add(l *Lease) {
	l.renewal.set(l.epoch)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.renewed = append(ls.renewed, l)
	switch {
	case len(ls.renewed) > 1:
	case ls.timer == nil:
		ls.timer = time.AfterFunc(ls.o.Hold/3, ls.renew)
	default:
		ls.timer.Reset(ls.o.Hold / 3)
	}
}

func (ls *Leases) remove(l *Lease) {
	l.renewal.set(0)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if i := slices.Index(ls.renewed, l); i >= 0 {
		ls.renewed = slices.Delete(ls.renewed, i, i+1)
	}
	if len(ls.renewed) == 0 && ls.timer != nil {
		ls.timer.Stop()
	}
}

func (ls *Leases) renew() {
	ctx, cancel := context.WithTimeout(context.Background(), ls.o.Hold/3)
	defer cancel()
	ls.Renew(ctx)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(ls.renewed) > 0 && !ls.closed {
		ls.timer.Reset(ls.o.Hold / 3)
	}
}

// Renew renews the leases of the running turns now, and returns when that is done. The owner of
// one that another process has taken is notified.
func (ls *Leases) Renew(ctx context.Context) {
	ls.mu.Lock()
	if ls.closed {
		ls.mu.Unlock()
		return
	}
	ls.renewing.Add(1)
	renewed := slices.Clone(ls.renewed)
	ls.mu.Unlock()
	defer ls.renewing.Done()
	p := pool.New().WithMaxGoroutines(renewals)
	for _, l := range renewed {
		p.Go(func() { l.renew(ctx) })
	}
	p.Wait()
}

// Lose notifies the owners of all running turns that their leases may be another process's by now.
func (ls *Leases) Lose() {
	ls.mu.Lock()
	renewed := slices.Clone(ls.renewed)
	ls.mu.Unlock()
	for _, l := range renewed {
		l.owner.LeaseLost()
	}
}

// renew renews the lease of a running turn. If another process has taken the lease, the
// turn can store nothing any more, and renew notifies the owner.
func (l *Lease) renew(ctx context.Context) {
	l.renewal.mu.Lock()
	defer l.renewal.mu.Unlock()
	if l.renewal.epoch == 0 {
		return
	}
	_, err := l.note(ctx, store.Note{Epoch: l.renewal.epoch, Hold: l.all.o.Hold})
	if errors.Is(err, store.ErrFenced) {
		l.owner.LeaseLost()
	}
}

// Close stops all renewals and waits for the running ones.
func (ls *Leases) Close() {
	ls.mu.Lock()
	ls.closed = true
	if ls.timer != nil {
		ls.timer.Stop()
	}
	ls.mu.Unlock()
	ls.renewing.Wait()
}
