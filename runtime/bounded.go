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
	rt              *Runtime
	what            Abandoned
	mu              sync.Mutex
	over, abandoned bool
	ended           chan error
}

// bounded makes the call in a goroutine and waits until ctx has ended and then for the
// grace period. The error is that of the call, or errNoAnswer.
func (r *Runtime) bounded(ctx context.Context, what Abandoned, call func() error) error {
	late, stop := r.late(ctx, 1)
	defer stop()
	return r.begin(what, call).wait(late)
}

// late returns a context that ends so many grace periods after ctx has.
func (r *Runtime) late(ctx context.Context, graces time.Duration) (late context.Context, stop func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := context.AfterFunc(ctx, func() {
		grace := time.NewTimer(graces * r.o.Grace)
		defer grace.Stop()
		select {
		case <-grace.C:
			cancel()
		case <-late.Done():
		}
	})
	return late, func() { ended(); cancel() }
}

// begin makes the call in a goroutine.
func (r *Runtime) begin(what Abandoned, call func() error) *boundedCall {
	b := &boundedCall{rt: r, what: what, ended: make(chan error, 1)}
	go b.run(call)
	return b
}

// wait returns the error of the call. When ctx ends, the call is abandoned.
func (b *boundedCall) wait(ctx context.Context) error {
	select {
	case err := <-b.ended:
		return err
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return <-b.ended
	}
	b.abandoned = true
	b.rt.abandoned.add(b.what)
	return errNoAnswer
}

func (b *boundedCall) run(call func() error) {
	err := errEnded
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.over = true; b.abandoned {
			b.rt.abandoned.ended(b.what)
		}
		b.ended <- err
	}()
	err = call()
}

// boundedHook is bounded for a hook. The error is a *hook.Failure.
func (r *Runtime) boundedHook(ctx context.Context, h *hooks, p hook.Point, call func() error) error {
	what := h.abandonedAt(p)
	return what.failure(p, r.bounded(ctx, what, call))
}

// failure is the error of a bounded call of a hook as a *hook.Failure.
func (a Abandoned) failure(p hook.Point, err error) error {
	switch err {
	case nil:
		return nil
	case errNoAnswer:
		return &hook.Failure{Subsystem: a.Hook, Point: p, Err: err, Late: true}
	}
	return failureOf(p, err)
}

// abandonedAt is what is counted when a hook is abandoned at the point.
func (h *hooks) abandonedAt(p hook.Point) Abandoned {
	return Abandoned{Hook: strings.Join(h.membersAt(p), " or "), Point: p.String()}
}
