package runtime

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// What ends the life of agents and of the runtime is waited for until the caller's
// context has ended, and then for the grace period. A hook that hangs there is
// abandoned, and everything else is closed all the same.

// boundedCall is a call that its caller can abandon.
type boundedCall struct {
	mu              sync.Mutex
	over, abandoned bool
	ended           chan error
}

// bounded makes the call in a goroutine and waits until ctx has ended and then for the
// grace period. The error is that of the call, or errNoAnswer.
func (r *Runtime) bounded(ctx context.Context, what Abandoned, call func() error) error {
	b := &boundedCall{ended: make(chan error, 1)}
	go b.run(r, what, call)
	select {
	case err := <-b.ended:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(r.o.Grace)
	defer late.Stop()
	select {
	case err := <-b.ended:
		return err
	case <-late.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return <-b.ended
	}
	b.abandoned = true
	r.abandoned.add(what)
	return errNoAnswer
}

func (b *boundedCall) run(r *Runtime, what Abandoned, call func() error) {
	err := errEnded
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.over = true; b.abandoned {
			r.abandoned.ended(what)
		}
		b.ended <- err
	}()
	err = call()
}

// boundedHook is bounded for a hook. The error is a *hook.Failure.
func (r *Runtime) boundedHook(ctx context.Context, h *hooks, p hook.Point, call func() error) error {
	what := h.abandonedAt(p)
	err := r.bounded(ctx, what, call)
	switch err {
	case nil:
		return nil
	case errNoAnswer:
		return &hook.Failure{Subsystem: what.Hook, Point: p, Err: err, Late: true}
	}
	return failureOf(p, err)
}

// abandonedAt is what is counted when a hook is abandoned at the point.
func (h *hooks) abandonedAt(p hook.Point) Abandoned {
	return Abandoned{Hook: strings.Join(h.membersAt(p), " or "), Point: p.String()}
}
