package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// open gets the lease of the conversation and reads what has changed. A lease
// that this runtime has had last, and nobody since, needs no claim: the epoch is
// still its own, and the first write of the turn finds out if that changes.
func (c *Conversation) open(ctx context.Context, when Busy) error {
	rec, err := c.record(ctx)
	if err == nil && rec.ID != c.ID() {
		c.agent.drop(c)
		err = fmt.Errorf("%w here any more: another project has adopted it", store.ErrUnknown)
	}
	if err == nil && (c.epoch == 0 || rec.Lease.Epoch != c.epoch) {
		rec, err = c.claim(ctx, when)
	}
	if err != nil {
		return err
	}
	c.held = !rec.Lease.Until.IsZero()
	c.host.log.Follow(rec.Events, c.epoch)
	if c.statesAt != c.epoch {
		if err := c.loadStates(ctx, rec); err != nil {
			return err
		}
	}
	if rec.Version != c.version {
		if err := c.load(ctx, rec); err != nil {
			return err
		}
	}
	c.journal = nil
	if rec.Journaled {
		c.journal, err = c.agent.rt.o.Store.Journal(ctx, rec.ID)
		if err := c.tellDamage(ctx, err); err != nil {
			return err
		}
	}
	c.agent.rt.leases.add(c)
	return nil
}

func (c *Conversation) record(ctx context.Context) (store.Record, error) {
	key := c.agent.key(c.Sender())
	if s, ok := c.agent.rt.o.Store.(store.Child); ok && c.parent != "" {
		return s.Child(ctx, key, c.parent)
	}
	return c.agent.rt.o.Store.Conversation(ctx, key)
}

// leasePoll is how often who queues looks whether another process's turn has
// ended.
const leasePoll = 100 * time.Millisecond

// LongestLease is the most that Options.Lease may be. A lease that ends later was not
// taken by a clock that is right, and holds nobody up.
const LongestLease = time.Hour

// dead reports whether the holder of the lease is known to have died, or the lease is
// none that a process takes.
func (r *Runtime) dead(l store.Lease) bool {
	return l.Until.Sub(r.o.Now()) > LongestLease || r.o.Gone != nil && r.o.Gone(l.Owner)
}

// claim takes the lease. Who queues waits for another process's.
func (c *Conversation) claim(ctx context.Context, when Busy) (store.Record, error) {
	for {
		rec, err := c.tryClaim(ctx)
		if when != Queue || !errors.Is(err, ErrBusy) {
			return rec, err
		}
		select {
		case <-time.After(leasePoll):
		case <-ctx.Done():
			return rec, context.Cause(ctx)
		}
	}
}

func (c *Conversation) tryClaim(ctx context.Context) (store.Record, error) {
	rt := c.agent.rt
	rec, err := rt.overGone(func(takes int64) (store.Record, error) {
		return rt.o.Store.Claim(ctx, c.ID(), store.Claim{Owner: rt.o.Owner, Hold: rt.o.Lease, Takes: max(takes, c.takes)})
	})
	if err == nil {
		c.epoch = rec.Lease.Epoch
	}
	return rec, err
}

// overGone takes a lease: at once, or over the one of an owner that has died, whose
// epoch it then hands to take. ErrBusy if its owner lives.
func (r *Runtime) overGone(take func(takes int64) (store.Record, error)) (store.Record, error) {
	rec, err := take(0)
	var held *store.LeasedError
	if errors.As(err, &held) && r.dead(held.Lease) {
		rec, err = take(held.Lease.Epoch)
	}
	if errors.As(err, &held) {
		err = fmt.Errorf("%w: %w", ErrBusy, held)
	}
	return rec, err
}

// release makes the lease free for others and keeps the events and states that nothing
// else has written, whatever became of the turn: ctx is one that does not end with it.
func (c *Conversation) release(ctx context.Context) error {
	c.agent.rt.leases.remove(c)
	var unkept error
	err := c.host.log.Write(func(events []store.Event) (err error) {
		unkept, err = c.states.Write(func(states []hook.StateValue) error {
			if !c.held && len(events) == 0 && len(states) == 0 {
				return nil
			}
			c.held = false
			_, err := c.agent.rt.o.Store.Note(ctx, c.ID(), store.Note{Epoch: c.epoch, Events: events, States: states})
			return err
		})
		return err
	})
	c.foreign = c.foreign || errors.Is(err, store.ErrFenced)
	if err = errors.Join(unkept, err); err != nil {
		return fmt.Errorf("store the end of a turn of conversation %s: %w", c.ID(), err)
	}
	return nil
}

// leases prolongs the leases of turns that take long. Its timer runs only while
// there are turns.
type leases struct {
	rt *Runtime

	mu    sync.Mutex
	held  []*Conversation
	timer *time.Timer
	// renewing is the calls of renew under way.
	renewing sync.WaitGroup
	closed   bool
}

// renewal is a conversation's part in it.
type renewal struct {
	// mu is held while the lease is being prolonged, so that a turn does not end
	// meanwhile.
	mu sync.Mutex
	// epoch of the lease to prolong; 0 is none.
	epoch int64
}

func (r *renewal) set(epoch int64) {
	r.mu.Lock()
	r.epoch = epoch
	r.mu.Unlock()
}

func (l *leases) add(c *Conversation) {
	c.renewal.set(c.epoch)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = append(l.held, c)
	switch {
	case len(l.held) > 1:
	case l.timer == nil:
		l.timer = time.AfterFunc(l.rt.o.Lease/3, l.renew)
	default:
		l.timer.Reset(l.rt.o.Lease / 3)
	}
}

func (l *leases) remove(c *Conversation) {
	c.renewal.set(0)
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.held, c); i >= 0 {
		l.held = slices.Delete(l.held, i, i+1)
	}
	if len(l.held) == 0 && l.timer != nil {
		l.timer.Stop()
	}
}

// renewals is how many leases are prolonged at once; they share a sync.
const renewals = 64

func (l *leases) renew() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.renewing.Add(1)
	held := slices.Clone(l.held)
	l.mu.Unlock()
	defer l.renewing.Done()
	ctx, cancel := context.WithTimeout(context.Background(), l.rt.o.Lease/3)
	defer cancel()
	p := pool.New().WithMaxGoroutines(renewals)
	for _, c := range held {
		p.Go(func() { c.prolong(ctx) })
	}
	p.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.held) > 0 && !l.closed {
		l.timer.Reset(l.rt.o.Lease / 3)
	}
}

// prolong keeps the lease of the running turn. A turn that has lost it is
// cancelled: nothing that it does can be stored any more.
func (c *Conversation) prolong(ctx context.Context) {
	c.renewal.mu.Lock()
	defer c.renewal.mu.Unlock()
	if c.renewal.epoch == 0 {
		return
	}
	o := &c.agent.rt.o
	_, err := o.Store.Note(ctx, c.ID(), store.Note{Epoch: c.renewal.epoch, Hold: o.Lease})
	if errors.Is(err, store.ErrFenced) {
		c.stop(ErrLeaseLost)
	}
}

// close returns when nothing is being prolonged any more, and nothing will be.
func (l *leases) close() {
	l.mu.Lock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	l.renewing.Wait()
}
