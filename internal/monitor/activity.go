package monitor

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Queue counts a message that waits for the turn before it, until done is called.
func (m *Monitor) Queue() (done func()) {
	m.queued.Add(1)
	return func() { m.queued.Add(-1) }
}

// lookTime is how long the store may take to say what was spent.
const lookTime = 2 * time.Second

// Activity returns what the monitor knows. The turns, requests and jobs of the runtime are the caller's to add.
func (m *Monitor) Activity(ctx context.Context) wire.Activity {
	a := wire.Activity{
		Time: time.Now().UTC(), Started: m.started.UTC(), Status: wire.StatusOK, Turns: []wire.ActiveTurn{}, QueuedMessages: int(m.queued.Load()),
		Today: m.today(ctx),
	}
	a.Streams, a.Lagging, a.Missed = m.streams.count()
	switch {
	case m.closing.Load():
		a.Status = wire.StatusClosing
	case m.starting.Load():
		a.Status = wire.StatusStarting
	}
	return a
}

// today returns what was spent since midnight; nil if the store does not say.
func (m *Monitor) today(ctx context.Context) *wire.SpentToday {
	s, ok := m.store.(store.Spending)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	rows, err := s.Spent(ctx, store.SpendingFilter{Since: time.Now().Format(time.DateOnly), Project: &m.project})
	if err != nil {
		return nil
	}
	var sum store.Spent
	for _, row := range rows {
		sum = sum.Add(row)
	}
	return &wire.SpentToday{Calls: sum.Calls, Unpriced: sum.Unpriced, Usage: sum.Usage, Cost: sum.Cost}
}
