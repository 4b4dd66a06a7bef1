package runtime

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/stream"
)

// Events are kept with the turn's own writes, and by a write of their own when too
// many of them are waiting for one.

// errNotKept: see [stream.Source].
var errNotKept = errors.New("runtime: not all events could be kept")

// kept reports whether events of the kind are worth keeping: the text of deltas is
// in the history, and progress is over when somebody reads of it.
func kept(kind hook.EventKind) bool {
	switch kind {
	case event.TextDelta, event.ReasoningDelta, event.CallProgress:
		return false
	}
	return true
}

func (e *emitter) pendingFullLocked() bool {
	return len(e.pending) >= stream.MaxPending || e.pendingBytes >= stream.MaxPendingBytes
}

// follow says that the store has events up to seq, also those of a write that
// seemed to have failed, and under which epoch new ones are numbered. If that is
// another one, what is pending is given up: somebody else has gone on with the
// conversation.
func (e *emitter) follow(seq uint64, epoch int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.epoch != epoch {
		e.pending, e.pendingBytes, e.lost = nil, 0, false
	}
	for len(e.pending) > 0 && e.pending[0].Seq <= seq {
		e.pendingBytes -= eventSize(&e.pending[0])
		e.pending = e.pending[1:]
	}
	e.seq, e.epoch = max(e.seq, seq), epoch
}

// write hands w the events that the store does not have yet. If w fails they wait
// for the next write.
func (e *emitter) write(w func([]store.Event) error) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	e.mu.Lock()
	pending := e.pending
	e.pending, e.pendingBytes = nil, 0
	e.mu.Unlock()
	var out []store.Event
	if len(pending) > 0 {
		out = make([]store.Event, len(pending))
	}
	for i, ev := range pending {
		out[i] = store.Event{Seq: ev.Seq, Data: message.JSON(stream.Encode(ev))}
	}
	err := w(out)
	if err != nil {
		e.unwritten(pending)
	}
	return err
}

// unwritten takes events back. If there are too many the oldest half is given up,
// so that a store that does not work costs a try for every so many events.
func (e *emitter) unwritten(events []hook.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending = append(events, e.pending...)
	e.pendingBytes = 0
	for i := range e.pending {
		e.pendingBytes += eventSize(&e.pending[i])
	}
	if !e.pendingFullLocked() {
		return
	}
	e.lost = true
	for len(e.pending) > stream.MaxPending/2 || e.pendingBytes > stream.MaxPendingBytes/2 {
		e.pendingBytes -= eventSize(&e.pending[0])
		e.pending = e.pending[1:]
	}
}

// flush writes what is pending, and nothing else. The lease stays as it is.
func (e *emitter) flush(ctx context.Context) error {
	return e.write(func(events []store.Event) error {
		if len(events) == 0 {
			return nil
		}
		e.mu.Lock()
		n := store.Note{Epoch: e.epoch, Events: events}
		e.mu.Unlock()
		if e.conv.running() >= 0 {
			n.Hold = e.rt.o.Lease
		}
		_, err := e.rt.o.Store.Note(context.WithoutCancel(ctx), e.conversation(), n)
		return err
	})
}

// Epoch implements stream.Source.
func (e *emitter) Epoch() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.epoch
}

// Flush implements stream.Source. It waits for a write that is under way.
func (e *emitter) Flush(ctx context.Context, seq uint64) error {
	e.writing.Lock()
	e.mu.Lock()
	pending, lost := len(e.pending) > 0 && e.pending[0].Seq <= seq, e.lost
	e.mu.Unlock()
	e.writing.Unlock()
	if pending {
		if err := e.flush(ctx); err != nil {
			return err
		}
	}
	if lost {
		return errNotKept
	}
	return nil
}
