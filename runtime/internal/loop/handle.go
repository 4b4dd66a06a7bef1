package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
)

// Handle gives goroutines outside of the loop access to a turn. It is safe for concurrent use.
type Handle struct {
	cancel context.CancelCauseFunc
	// OnBegun is called when the turn begins; it may be nil.
	OnBegun func()
	steers  steerQueue

	begun, done latch
	// id and before are set before begun.
	id     string
	before stream.Position
	ending atomic.Bool
	// out is set before done.
	out hook.TurnOutcome
}

// Init makes the handle ready and returns the context of its turn.
func (h *Handle) Init(ctx context.Context) context.Context {
	ctx, h.cancel = context.WithCancelCause(ctx)
	return ctx
}

// Cancel ends the context of the turn with the cause.
func (h *Handle) Cancel(cause error) { h.cancel(cause) }

// begin marks that the turn has begun. Its events come after the position.
func (h *Handle) begin(id string, before stream.Position) {
	h.id, h.before = id, before
	if h.OnBegun != nil {
		h.OnBegun()
	}
	h.begun.close()
}

// End marks that the turn has ended.
func (h *Handle) End(out hook.TurnOutcome) {
	h.out = out
	h.done.close()
}

// NotBegun returns why the turn with the outcome did not begin; nil if it did.
func (h *Handle) NotBegun(out hook.TurnOutcome) error {
	if h.HasBegun() {
		return nil
	}
	if out.Err == nil {
		return fmt.Errorf("the turn ended (%s) before it began", out.Stop)
	}
	return out.Err
}

// Outcome returns how the turn ended, or the error for which it did not begin. Call it when
// Done is closed.
func (h *Handle) Outcome() (hook.TurnOutcome, error) { return h.out, h.NotBegun(h.out) }

// ID returns the id of the turn; "" before it has begun.
func (h *Handle) ID() string {
	if !h.HasBegun() {
		return ""
	}
	return h.id
}

// Before returns the position before the turn's first event; zero before the turn has begun.
func (h *Handle) Before() stream.Position {
	if !h.HasBegun() {
		return stream.Position{}
	}
	return h.before
}

// HasBegun reports whether the turn has begun.
func (h *Handle) HasBegun() bool { return h.begun.isClosed() }

// HasEnded reports whether the turn has ended.
func (h *Handle) HasEnded() bool { return h.done.isClosed() }

// Begun is closed when the turn has begun.
func (h *Handle) Begun() <-chan struct{} { return h.begun.channel() }

// Done is closed when the turn has ended.
func (h *Handle) Done() <-chan struct{} { return h.done.channel() }

// Ending reports whether the turn is emitting or has emitted turn_end.
func (h *Handle) Ending() bool { return h.ending.Load() }

// Refused returns the outcome of a call for which no turn began.
func Refused(err error) hook.TurnOutcome {
	out := hook.TurnOutcome{Stop: hook.StopError, Err: err}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		out.Stop = hook.StopCancelled
	}
	return out
}

// latch closes a channel once. It makes the channel when somebody waits for it.
type latch struct {
	mu     sync.Mutex
	closed bool
	ch     chan struct{}
}

func (l *latch) channel() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ch == nil {
		l.ch = make(chan struct{})
		if l.closed {
			close(l.ch)
		}
	}
	return l.ch
}

func (l *latch) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.ch != nil {
		close(l.ch)
	}
}

func (l *latch) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
