package approval

import (
	"context"
	"fmt"
	"time"
)

// waiting is one ask that a channel has been given.
type waiting struct {
	a *Approval
	r Request
	// ended is closed when the channel has returned; out is how.
	ended chan struct{}
	out   outcome
	// abandoned: nobody waits for it any more. Guarded by Approval.mu.
	abandoned bool
}

// outcome is how a channel's Ask has ended.
type outcome struct {
	reply Reply
	err   error
}

// start asks in a goroutine, so that a channel which hangs does not hang the turn.
func (a *Approval) start(ctx context.Context, r Request) *waiting {
	w := &waiting{a: a, r: r, ended: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		w.out.err = ErrClosing
		close(w.ended)
		return w
	}
	a.asking++
	go func() {
		out := a.ask(ctx, r)
		a.mu.Lock()
		defer a.mu.Unlock()
		w.out = out
		close(w.ended)
		if w.abandoned {
			a.abandoned--
		}
		a.asking--
		a.restLocked()
	}()
	return w
}

func (a *Approval) ask(ctx context.Context, r Request) (out outcome) {
	defer func() {
		if v := recover(); v != nil {
			out = outcome{err: fmt.Errorf("the channel panicked: %v", v)}
		}
	}()
	out.reply, out.err = a.o.Channel.Ask(ctx, r)
	return out
}

// lastMoment returns how the channel has ended. One whose context has ended is
// waited for a little, because it may have accepted an answer; false says that it
// has not returned even then.
func (w *waiting) lastMoment() (outcome, bool) {
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-w.ended:
		return w.out, true
	case <-patience.C:
	}
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	select {
	case <-w.ended:
		return w.out, true
	default:
		w.abandoned = true
		w.a.abandoned++
		return outcome{}, false
	}
}

// Abandoned returns how many channels have not returned although the context of their
// ask had ended, and still run.
func (a *Approval) Abandoned() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.abandoned
}
