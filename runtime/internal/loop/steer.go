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

// steerQueue is what is said while a turn runs. It is open from when the turn has
// begun until nothing can be said to it any more; whatever was taken in is given
// to the turn.
type steerQueue struct {
	mu   sync.Mutex
	open bool
	// writing is how many are being written down; arrived is closed when there is
	// none left. Nil if nobody waits for that.
	writing int32
	written chan struct{}
	steers  []durable.Steer
}

// Steer says something to the turn while it runs; see runtime.Turn.
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

// openWith opens the mailbox with what a turn that is resumed had not read.
func (b *steerQueue) openWith(letters []durable.Steer) {
	b.mu.Lock()
	b.open, b.steers = true, letters
	b.mu.Unlock()
}

// reserve announces a letter; false if the mailbox is closed.
func (b *steerQueue) reserve() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		b.writing++
	}
	return b.open
}

// put takes in what was expected; nil if it does not come after all.
func (b *steerQueue) put(l *durable.Steer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l != nil {
		b.steers = append(b.steers, *l)
	}
	b.writing--
	if b.writing == 0 && b.written != nil {
		close(b.written)
		b.written = nil
	}
}

// take empties the mailbox and waits for what is on its way. If nothing was there
// and the turn is over, the mailbox is closed.
func (b *steerQueue) take(over bool) []durable.Steer {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.writing > 0 {
		arrived := make(chan struct{})
		b.written = arrived
		b.mu.Unlock()
		<-arrived
		b.mu.Lock()
	}
	letters := b.steers
	b.steers = nil
	if over && len(letters) == 0 {
		b.open = false
	}
	return letters
}

// addSteers adds what was said meanwhile to the history, and reports whether
// anything was. If not, and the turn is over, nothing can be said any more.
func (t *Turn) addSteers(over bool) (added bool) {
	for round := 0; ; round++ {
		letters := t.handle.steers.take(over)
		t.pendingSteers = letters
		for _, l := range letters {
			added = t.addSteer(l, round < maxRefused) || added
		}
		if added || !over || len(letters) == 0 {
			return added
		}
	}
}

// maxRefused is how often a turn that is about to end asks the hooks about what was said
// while they refused what was said before: one of them may steer the turn each time.
const maxRefused = 64

// addSteer adds one letter to the history, if the hooks are asked and let it through.
func (t *Turn) addSteer(l durable.Steer, ask bool) bool {
	in, why := l.Input, "too much was refused in a row"
	if ask {
		in, why = t.gateSteer(in)
	}
	t.pendingSteers = t.pendingSteers[1:]
	if why != "" {
		t.refuseSteer(l, why)
		return false
	}
	t.forgetSteer(l)
	for _, m := range in.Messages.All() {
		t.history.add(m)
	}
	t.emit(hook.Event{Kind: event.Steered, Text: l.Input.Text()})
	return true
}

// refuseSteer tells that a letter does not become history, and why.
func (t *Turn) refuseSteer(l durable.Steer, why string) {
	t.forgetSteer(l)
	t.emit(hook.Event{Kind: event.SteerRefused, Text: why})
}

// forgetSteer has the next write take the letter out of the journal.
func (t *Turn) forgetSteer(l durable.Steer) {
	if l.Number == 0 {
		return
	}
	for i := range l.Input.Messages.Len() {
		t.forget = append(t.forget, l.Number+int64(i))
	}
}
