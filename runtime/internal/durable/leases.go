// Package durable is what a process has of the conversations in a store: the leases under
// which it writes, what it has read, and the journal of a turn that did not come to its
// end.
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

// LongestLease is the most that Options.Hold may be. A lease that ends later was not taken
// by a clock that is right, and keeps nobody out.
const LongestLease = time.Hour

// Options are those of a process.
type Options struct {
	Store store.Store
	// Owner names the process in the store.
	Owner string
	// Hold is how long a lease lasts that nobody renews, at most LongestLease.
	Hold time.Duration
	// Gone reports whether the process of that owner is known to have died; nil knows of
	// none.
	Gone func(owner string) bool
	// Now is the clock.
	Now func() time.Time
}

// Leases are the leases of a process. It renews those of running turns. It is safe for
// concurrent use.
type Leases struct {
	o        Options
	volatile bool

	mu sync.Mutex
	// renewed are the leases of running turns. timer runs while there are some.
	renewed []*Lease
	timer   *time.Timer
	closed  bool
	// renewing counts the calls of renew under way.
	renewing sync.WaitGroup
}

// NewLeases returns no leases. Close them.
func NewLeases(o Options) *Leases { return &Leases{o: o, volatile: o.Store.Volatile()} }

// Journals reports whether turns are journaled: not if the store ends with the process.
func (ls *Leases) Journals() bool { return !ls.volatile }

// HeldElsewhere reports whether another process has the lease.
func (ls *Leases) HeldElsewhere(l store.Lease) bool {
	return l.Owner != ls.o.Owner && l.Until.After(ls.o.Now()) && !ls.dead(l)
}

// dead reports whether the holder of the lease is known to have died, or no process can
// have taken the lease.
func (ls *Leases) dead(l store.Lease) bool {
	return l.Until.Sub(ls.o.Now()) > LongestLease || ls.o.Gone != nil && ls.o.Gone(l.Owner)
}

// Take takes a lease with take: at once, or away from a holder that has died, whose epoch
// is then given to take. The error is a [*store.LeasedError] if the holder lives.
func (ls *Leases) Take(take func(store.Claim) (store.Record, error)) (store.Record, error) {
	claim := store.Claim{Owner: ls.o.Owner, Hold: ls.o.Hold}
	rec, err := take(claim)
	var held *store.LeasedError
	if errors.As(err, &held) && ls.dead(held.Lease) {
		claim.Takes = held.Lease.Epoch
		rec, err = take(claim)
	}
	return rec, err
}

// renewal is the part of a lease that is renewed.
type renewal struct {
	// mu is held while the lease is being renewed, so that no turn ends meanwhile.
	mu sync.Mutex
	// epoch is that of the lease to renew; 0 is none.
	epoch int64
}

func (r *renewal) set(epoch int64) {
	r.mu.Lock()
	r.epoch = epoch
	r.mu.Unlock()
}

// renewals is how many leases are renewed at once.
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
	ls.mu.Lock()
	if ls.closed {
		ls.mu.Unlock()
		return
	}
	ls.renewing.Add(1)
	renewed := slices.Clone(ls.renewed)
	ls.mu.Unlock()
	defer ls.renewing.Done()
	ctx, cancel := context.WithTimeout(context.Background(), ls.o.Hold/3)
	defer cancel()
	p := pool.New().WithMaxGoroutines(renewals)
	for _, l := range renewed {
		p.Go(func() { l.renew(ctx) })
	}
	p.Wait()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(ls.renewed) > 0 && !ls.closed {
		ls.timer.Reset(ls.o.Hold / 3)
	}
}

// renew renews the lease of a running turn. A turn that has lost it can store nothing any
// more, and the owner is told.
func (l *Lease) renew(ctx context.Context) {
	l.renewal.mu.Lock()
	defer l.renewal.mu.Unlock()
	if l.renewal.epoch == 0 {
		return
	}
	_, err := l.store().Note(ctx, l.id, store.Note{Epoch: l.renewal.epoch, Hold: l.all.o.Hold})
	if errors.Is(err, store.ErrFenced) {
		l.owner.LeaseLost()
	}
}

// Close returns when no lease is being renewed any more, and none will be.
func (ls *Leases) Close() {
	ls.mu.Lock()
	ls.closed = true
	if ls.timer != nil {
		ls.timer.Stop()
	}
	ls.mu.Unlock()
	ls.renewing.Wait()
}
