package loop

import (
	"context"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// steerQueue holds the steers of a running turn: inputs that arrive while it runs. It is open
// from the beginning of the turn until the loop closes it. The loop gets every steer that Steer
// has accepted.
type steerQueue struct {
	mu   sync.Mutex
	open bool
	// writing counts the steers that are being journaled. written is closed when there are none;
	// it is nil unless the loop waits for that.
	writing int32
	written chan struct{}
	steers  []durable.Steer
}

// Steer sends an input to the running turn; see runtime.Turn. It is safe for concurrent use.
func (th *Thread) Steer(ctx context.Context, h *Handle, in message.Input) error {
	if err := checkInput(in); err != nil {
		return err
	}
	if !h.steers.reserve() {
		return fmt.Errorf("%w: %s", ErrIdle, th.ID())
	}
	seq, err := th.journalSteer(ctx, in)
	if err != nil {
		h.steers.put(nil)
		return err
	}
	h.steers.put(&durable.Steer{Input: in, Number: seq})
	return nil
}

func (th *Thread) journalSteer(ctx context.Context, in message.Input) (int64, error) {
	if !th.Lease.Journals() {
		return 0, nil
	}
	entries := durable.InputEntries(store.EntrySteer, in)
	seq, err := th.Lease.NoteFromOutside(ctx, entries)
	if err != nil {
		return 0, fmt.Errorf("steer conversation %s: %w", th.ID(), err)
	}
	return seq, nil
}

// openWith opens the queue with the steers that a resumed turn had not read.
func (q *steerQueue) openWith(steers []durable.Steer) {
	q.mu.Lock()
	q.open, q.steers = true, steers
	q.mu.Unlock()
}

// reserve announces a steer that put follows. It is false if the queue is closed.
func (q *steerQueue) reserve() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open {
		q.writing++
	}
	return q.open
}

// put adds the announced steer; nil if it could not be journaled.
func (q *steerQueue) put(s *durable.Steer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s != nil {
		q.steers = append(q.steers, *s)
	}
	q.writing--
	if q.writing == 0 && q.written != nil {
		close(q.written)
		q.written = nil
	}
}

// take waits for announced steers and empties the queue. If the queue was empty and over is
// true, take closes it.
func (q *steerQueue) take(over bool) []durable.Steer {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.writing > 0 {
		written := make(chan struct{})
		q.written = written
		q.mu.Unlock()
		<-written
		q.mu.Lock()
	}
	steers := q.steers
	q.steers = nil
	if over && len(steers) == 0 {
		q.open = false
	}
	return steers
}

// addSteers takes the steers from the queue, adds those that pass the gates to the history, and
// reports whether it added any. If it added none and over is true, it closes the queue.
func (t *Turn) addSteers(over bool) (added bool) {
	for round := 0; ; round++ {
		steers := t.handle.steers.take(over)
		t.pendingSteers = steers
		for _, s := range steers {
			added = t.addSteer(s, round < maxRefused) || added
		}
		if added || !over || len(steers) == 0 {
			return added
		}
	}
}

// maxRefused is how many rounds of refused steers a turn that is about to end takes through the
// gates: a hook may steer the turn each time that one is refused.
const maxRefused = 64

// addSteer adds one steer to the history if the gates let it through. Without ask it refuses
// the steer.
func (t *Turn) addSteer(s durable.Steer, ask bool) bool {
	in, why := s.Input, "too much was refused in a row"
	if ask {
		in, why = t.gateSteer(in)
	}
	t.pendingSteers = t.pendingSteers[1:]
	if why != "" {
		t.refuseSteer(s, why)
		return false
	}
	t.forget = append(t.forget, s.Numbers()...)
	for _, m := range in.Messages.All() {
		t.history.add(m)
	}
	t.emit(hook.Event{Kind: event.Steered, Text: s.Input.Text()})
	return true
}

// refuseSteer drops a steer and emits why.
func (t *Turn) refuseSteer(s durable.Steer, why string) {
	t.forget = append(t.forget, s.Numbers()...)
	t.emit(hook.Event{Kind: event.SteerRefused, Text: why})
}
