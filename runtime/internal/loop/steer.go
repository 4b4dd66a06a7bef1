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

// mailbox is what is said while a turn runs. It is open from when the turn has
// begun until nothing can be said to it any more; whatever was taken in is given
// to the turn.
type mailbox struct {
	mu   sync.Mutex
	open bool
	// coming is how many are being written down; arrived is closed when there is
	// none left. Nil if nobody waits for that.
	coming  int32
	arrived chan struct{}
	letters []durable.Letter
}

// Steer says something to the turn while it runs; see runtime.Turn.
func (th *Thread) Steer(ctx context.Context, h *Handle, in message.Input) error {
	if err := checkInput(in); err != nil {
		return err
	}
	if !h.steers.expect() {
		return fmt.Errorf("%w: %s", ErrIdle, th.ID())
	}
	seq, err := th.noteSteer(ctx, in)
	if err != nil {
		h.steers.arrive(nil)
		return err
	}
	h.steers.arrive(&durable.Letter{Input: in, Number: seq})
	return nil
}

func (th *Thread) noteSteer(ctx context.Context, in message.Input) (int64, error) {
	if !th.Lease.Journals() {
		return 0, nil
	}
	entries := durable.InputEntries(store.EntrySteer, in)
	seq, err := th.Lease.NoteAside(ctx, entries)
	if err != nil {
		return 0, fmt.Errorf("steer conversation %s: %w", th.ID(), err)
	}
	return seq, nil
}

// begin opens the mailbox with what a turn that is resumed had not read.
func (b *mailbox) begin(letters []durable.Letter) {
	b.mu.Lock()
	b.open, b.letters = true, letters
	b.mu.Unlock()
}

// expect announces a letter; false if the mailbox is closed.
func (b *mailbox) expect() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		b.coming++
	}
	return b.open
}

// arrive takes in what was expected; nil if it does not come after all.
func (b *mailbox) arrive(l *durable.Letter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l != nil {
		b.letters = append(b.letters, *l)
	}
	b.coming--
	if b.coming == 0 && b.arrived != nil {
		close(b.arrived)
		b.arrived = nil
	}
}

// take empties the mailbox and waits for what is on its way. If nothing was there
// and the turn is over, the mailbox is closed.
func (b *mailbox) take(over bool) []durable.Letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.coming > 0 {
		arrived := make(chan struct{})
		b.arrived = arrived
		b.mu.Unlock()
		<-arrived
		b.mu.Lock()
	}
	letters := b.letters
	b.letters = nil
	if over && len(letters) == 0 {
		b.open = false
	}
	return letters
}

// steered adds what was said meanwhile to the history, and reports whether
// anything was. If not, and the turn is over, nothing can be said any more.
func (t *Turn) steered(over bool) (added bool) {
	for round := 0; ; round++ {
		letters := t.handle.steers.take(over)
		t.hearing = letters
		for _, l := range letters {
			added = t.hear(l, round < maxRefused) || added
		}
		if added || !over || len(letters) == 0 {
			return added
		}
	}
}

// maxRefused is how often a turn that is about to end asks the hooks about what was said
// while they refused what was said before: one of them may steer the turn each time.
const maxRefused = 64

// hear adds one letter to the history, if the hooks are asked and let it through.
func (t *Turn) hear(l durable.Letter, ask bool) bool {
	in, why := l.Input, "too much was refused in a row"
	if ask {
		in, why = t.admitLetter(in)
	}
	t.hearing = t.hearing[1:]
	if why != "" {
		t.refuse(l, why)
		return false
	}
	t.forgetLetter(l)
	for _, m := range in.Messages.All() {
		t.history.add(m)
	}
	t.emit(hook.Event{Kind: event.Steered, Text: l.Input.Text()})
	return true
}

// refuse tells that a letter does not become history, and why.
func (t *Turn) refuse(l durable.Letter, why string) {
	t.forgetLetter(l)
	t.emit(hook.Event{Kind: event.SteerRefused, Text: why})
}

// forgetLetter has the next write take the letter out of the journal.
func (t *Turn) forgetLetter(l durable.Letter) {
	if l.Number == 0 {
		return
	}
	for i := range l.Input.Messages.Len() {
		t.forget = append(t.forget, l.Number+int64(i))
	}
}
