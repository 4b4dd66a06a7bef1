package monitor

import (
	"context"
	"errors"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/runtime/store"
)

const (
	// probeTime is how long the store may take for a write.
	probeTime = 2 * time.Second
	// probeAge is how long the outcome of a write counts, however often somebody asks.
	probeAge = 2 * time.Second
)

// Ready says whether turns can begin: StatusOK, or why not. It waits for the store, for two seconds at most.
func (m *Monitor) Ready(ctx context.Context) wire.Status {
	switch {
	case m.closing.Load():
		return wire.StatusClosing
	case m.starting.Load():
		return wire.StatusStarting
	case !m.writable(ctx):
		return wire.StatusStore
	}
	return wire.StatusOK
}

// probe is a write to the store. A store that hangs keeps one goroutine, not more.
type probe struct {
	done chan struct{}
	// left is the id of a reservation that the probe before could not take back; 0 is none.
	left int64
	// ended and err are set before done is closed, and so is left then.
	ended time.Time
	err   error
}

// recent reports whether the probe runs, or has ended a short while ago.
func (p *probe) recent() bool {
	select {
	case <-p.done:
		return time.Since(p.ended) < probeAge
	default:
		return true
	}
}

// writable reports whether the store has taken a write in time.
func (m *Monitor) writable(ctx context.Context) bool {
	m.mu.Lock()
	p := m.probe
	if p == nil || !p.recent() {
		next := &probe{done: make(chan struct{})}
		if p != nil {
			next.left = p.left
		}
		p, m.probe = next, next
		go p.run(context.WithoutCancel(ctx), m.store)
	}
	m.mu.Unlock()
	wait := time.NewTimer(probeTime)
	defer wait.Stop()
	select {
	case <-p.done:
		return p.err == nil
	case <-wait.C:
	case <-ctx.Done():
	}
	return false
}

// run writes something that leaves nothing behind: it reserves no money for a call and takes that back. A full disk refuses it.
func (p *probe) run(ctx context.Context, s store.Store) {
	defer close(p.done)
	defer func() { p.ended = time.Now() }()
	spending, ok := s.(store.Spending)
	if !ok {
		return // such a store is in memory
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	// If the process dies before Settle, the reservation of nothing stays, and counts as no call for as long as it holds.
	const hold = 20 * 365 * 24 * time.Hour
	err := p.settle(ctx, spending)
	if err == nil {
		p.left, err = spending.Reserve(ctx, store.Reservation{Least: store.Spent{SpentKey: store.SpentKey{Day: time.Now().Format(time.DateOnly)}}, Hold: hold}, nil)
	}
	if err == nil {
		err = p.settle(ctx, spending)
	}
	p.err = errors.Join(err, ctx.Err())
}

// settle takes back the reservation that is left. If that fails, the next probe does it.
func (p *probe) settle(ctx context.Context, s store.Spending) error {
	if p.left == 0 {
		return nil
	}
	err := s.Settle(ctx, p.left, store.Spent{})
	if err == nil {
		p.left = 0
	}
	return err
}
