package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
)

// Abandoned is work that nobody waits for any more and that still runs, because it
// ignores its context: calls of a tool, or calls of a hook at a point.
type Abandoned struct {
	// Tool is the name of the tool; "" for hooks and models.
	Tool string
	// Hook is the member of the composite that a turn was waiting for, or the members
	// that it can have been; "" where the hook is no composite, and for tools.
	Hook string
	// Point is where; "" for tools.
	Point string
	Count int
}

// String says what it is without its number.
func (a Abandoned) String() string { return abandoned.Work(a).String() }

// Abandoned returns what was abandoned and still runs: hooks, then tools, each sorted by
// name. Hooks that were late at a timeout of their own are not among it: see LateHooks.
func (r *Runtime) Abandoned() []Abandoned {
	all := slices.Concat(r.abandoned.List(), r.tools.Abandoned())
	out := make([]Abandoned, len(all))
	for i, w := range all {
		out[i] = Abandoned(w)
	}
	return out
}

// LateHooks returns how many hooks still run that did not answer within their timeout, or that did not end when the runtime closed.
func (r *Runtime) LateHooks() int {
	n := int(r.lateBeside.Load())
	if r.hooks != nil {
		n += r.hooks.LateHooks()
	}
	return n
}

// What ends the life of agents and of the runtime is waited for until the caller's
// context has ended, and then for the grace period. A hook that hangs there is
// abandoned, and everything else is closed all the same.

// bounded makes the call in a goroutine and waits until ctx has ended and then for the
// grace period. The error is that of the call, or abandoned.ErrStillRuns.
func (r *Runtime) bounded(ctx context.Context, w abandoned.Work, call func() error) error {
	late, stop := abandoned.Late(ctx, r.o.Calls.Grace)
	defer stop()
	return r.begin(w, call).Wait(late)
}

// begin makes the call in a goroutine.
func (r *Runtime) begin(w abandoned.Work, call func() error) *abandoned.Call {
	return abandoned.Go(&r.abandoned, w, call)
}

// boundedHook is bounded for a hook. The error is a *hook.Failure.
func (r *Runtime) boundedHook(ctx context.Context, h *scope.Hooks, p hook.Point, call func() error) error {
	w := h.At(p)
	return failureOfBounded(w, p, r.bounded(ctx, w, call))
}

// failureOfBounded is the error of a bounded call of a hook as a *hook.Failure.
func failureOfBounded(w abandoned.Work, p hook.Point, err error) error {
	switch err {
	case nil:
		return nil
	case abandoned.ErrStillRuns:
		return &hook.Failure{Subsystem: w.Hook, Point: p, Err: err, Late: true}
	}
	return failure.Of(p, err)
}

// leftError returns ErrAbandoned with what is left; nil if nothing is.
func leftError(left ...abandoned.Work) error {
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrAbandoned, abandoned.Text(left))
}
