package runtime

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// Most events of a turn are deltas, one right after the other with nothing between
// them. Such a stretch of them differs in number and text only: the first is stamped
// and delivered as every event is, and those that follow take number and delivery
// together, with one atomic operation on emitter.stretch, and give the delivery back
// with another. Whoever locks the emitter ends the stretch and finds all as if there
// had been none: so nothing that a stretch has copied can change while it goes on.

// stretch is what the deltas of a stretch have in common. It belongs to the loop.
type stretch struct {
	// ev is the delta that was told last.
	ev       hook.Event
	hook     hook.Hook
	observer func(hook.Event)
	// left is how many deltas may still carry the time of ev.
	left int
	gen  uint32
}

// idle and busy are what emitter.stretch is while a stretch goes on whose last delta
// has that number: idle between two deltas, busy while it is being delivered. They
// are never 0, and no two stretches have one of them in common, since each begins
// behind a delta of its own.
func idle(seq uint64) uint64 { return seq << 1 }
func busy(seq uint64) uint64 { return seq<<1 | 1 }

// lock locks mu and ends the stretch, if there is one: its numbers are the emitter's,
// and the loop has the delivery if it delivers a delta of it.
func (e *emitter) lock() {
	e.mu.Lock()
	if e.stretch.Load() == 0 {
		return
	}
	last := e.stretch.Swap(0)
	seq := last >> 1
	e.sinceRead += int(seq - e.seq)
	e.seq, e.delivering = seq, last == busy(seq)
}

// extend begins a stretch behind ev, a delta that the loop of t has just posted,
// unless somebody delivers or has numbered another event. What has no number may have
// moved the clock.
func (e *emitter) extend(s *stretch, t *turn, ev *hook.Event) {
	e.lock()
	defer e.mu.Unlock()
	s.left = 0
	if e.delivering || e.seq != ev.Seq {
		return
	}
	s.ev, s.hook, s.observer, s.left = *ev, t.conv.events.heard(), e.observer, clockEvery-1-e.sinceRead
	s.ev.Time, s.gen, e.by = e.clock, e.gen.Load(), t
	e.stretch.Store(idle(ev.Seq))
}

// goOn tells the next delta of the stretch. False if the stretch is over: then the
// delta is none of it.
func (e *emitter) goOn(ctx context.Context, s *stretch, text string) bool {
	seq := s.ev.Seq + 1
	if s.left == 0 || !e.stretch.CompareAndSwap(idle(seq-1), busy(seq)) {
		return false
	}
	s.ev.Seq, s.ev.Text = seq, text
	s.left--
	e.deliver(ctx, s.hook, &s.ev, s.observer, s.gen)
	if !e.stretch.CompareAndSwap(busy(seq), idle(seq)) {
		e.handBack(s.gen)
	}
	return true
}
