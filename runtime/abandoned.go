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

// Abandoned counts abandoned calls of one tool, or of one hook at one point. They still
// run, because they ignore their context, but the runtime has stopped waiting for them.
type Abandoned struct {
	// Tool is the name of the tool; "" for hooks and models.
	Tool string
	// Hook is the path of the member that was called, or the paths of the members that it
	// may have been; "" for tools, and if the hook is no composite.
	Hook string
	// Point is the point of the hook; "" for tools.
	Point string
	// Count is the number of the calls that still run.
	Count int
}

// String describes the calls without their number.
func (a Abandoned) String() string { return abandoned.Work(a).String() }

// Abandoned returns the abandoned calls that still run: hooks, then tools, each sorted by
// name. It does not count hooks that exceeded a timeout of their own: see
// [Runtime.LateHooks].
func (r *Runtime) Abandoned() []Abandoned {
	all := slices.Concat(r.abandoned.List(), r.tools.Abandoned())
	out := make([]Abandoned, len(all))
	for i, w := range all {
		out[i] = Abandoned(w)
	}
	return out
}

// LateHooks returns how many hooks still run although they have exceeded their own
// timeout, or, as background runs, outlived Close.
func (r *Runtime) LateHooks() int {
	return int(r.lateRuns.Load()) + r.hooks().LateHooks()
}

// withGrace makes the call on a goroutine of its own and waits for it until ctx has ended,
// and then for the grace period. The error is that of the call, or
// abandoned.ErrStillRuns. Calls that close agents and the runtime use it, so that a hook
// that hangs cannot stop the closing.
func (r *Runtime) withGrace(ctx context.Context, w abandoned.Work, call func() error) error {
	late, stop := abandoned.Late(ctx, r.o.Calls.Grace)
	defer stop()
	return r.begin(w, call).Wait(late)
}

// begin makes the call on a goroutine of its own.
func (r *Runtime) begin(w abandoned.Work, call func() error) *abandoned.Call {
	return abandoned.Go(&r.abandoned, w, call)
}

// hookWithGrace is withGrace for a call of a hook. The error is a *hook.Failure.
func (r *Runtime) hookWithGrace(ctx context.Context, h *scope.Hooks, p hook.Point, call func() error) error {
	w := h.At(p)
	return hookFailure(w, p, r.withGrace(ctx, w, call))
}

// hookFailure returns the error of a call of a hook as a *hook.Failure; nil stays nil.
func hookFailure(w abandoned.Work, p hook.Point, err error) error {
	switch err {
	case nil:
		return nil
	case abandoned.ErrStillRuns:
		return &hook.Failure{Subsystem: w.Hook, Point: p, Err: err, Late: true}
	}
	return failure.Of(p, err)
}

// abandonedError returns ErrAbandoned with the work that still runs; nil if there is none.
func abandonedError(left ...abandoned.Work) error {
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrAbandoned, abandoned.Text(left))
}
