// Package toolrun runs the tool calls of all turns of a runtime: within slots, exclusive
// keys and time limits, and without waiting for tools that ignore their context.
//
// A turn hands the calls of one step to [Runner.RunAll]. The layers of a [Run] are, from
// outside to inside: its goroutine from [composite.DispatchAll], the WrapTool of the hooks,
// and for each attempt the exclusive key, a slot, the time limit, the tool.
//
// An abandoned call still runs, but the turn does not wait for it. It has given its slot
// back; it keeps its exclusive key, and is counted, until the tool returns. If too many
// calls of a tool are abandoned, further calls of the tool fail at once.
package toolrun

import (
	"cmp"
	"context"
	"time"

	"github.com/sourcegraph/conc/pool"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
	"github.com/grapnel-go/grapnel/runtime/internal/keyed"
)

// Options bound a [Runner].
type Options struct {
	// Slots is how many calls run at once. Calls of tools that wait for a person or an agent
	// do not count. At least 1.
	Slots int
	// Abandoned is how many calls of one tool may be abandoned and still run. At least 1.
	Abandoned int
}

// Runner runs tool calls. It is safe for concurrent use. Make it with [New].
type Runner struct {
	o         Options
	slots     chan struct{}
	keys      keyed.Locks
	pool      *pool.Pool
	abandoned abandoned.Counts
}

// New returns a runner. [Runner.Close] ends the goroutines that the runner starts.
func New(o Options) *Runner {
	return &Runner{o: o, slots: make(chan struct{}, o.Slots), pool: pool.New()}
}

// Env is common to the calls of one step.
type Env struct {
	// Hooks is the composite whose WrapTool surrounds each call.
	Hooks *composite.Composite
	// Events is the context of the events that calls emit. It outlives that of the calls.
	Events context.Context
	// Grace is how long RunAll waits for running calls after ctx has ended, and for a tool
	// after its time limit. With 0 it does not wait.
	Grace time.Duration
}

// RunAll starts the calls of one step in order, and returns when all have ended or are
// abandoned. It calls done once for each call, on the caller's goroutine and in order of
// completion. When ctx ends, calls that wait for their key or slot are cancelled; the
// others get the grace period and are then abandoned.
//
// RunAll must not be called after [Runner.Close], nor twice with the same runs.
func (r *Runner) RunAll(ctx context.Context, env Env, runs []Run, done func(i int, end composite.Completion)) {
	calls := make([]composite.Call, len(runs))
	for i := range runs {
		run := &runs[i]
		run.runner, run.env = r, env
		calls[i] = composite.Call{Runner: run, Waits: run.Place.Tool().Waits}
	}
	o := composite.DispatchOptions{Limit: r.o.Slots, Grace: cmp.Or(env.Grace, -1), Pool: r.pool}
	composite.DispatchAll(ctx, calls, &o, func(i int, end composite.Completion) {
		if runs[i].Abandon() == abandoned.Ended {
			end = runs[i].End()
		}
		done(i, end)
	})
}

// Abandoned returns the abandoned calls that still run, sorted by tool.
func (r *Runner) Abandoned() []abandoned.Work { return r.abandoned.List() }

// Close waits until all calls and the goroutines that ran them have ended, or until ctx
// ends. It returns the abandoned calls that are left; their goroutines end when they do.
func (r *Runner) Close(ctx context.Context) []abandoned.Work {
	ended := make(chan struct{})
	go func() {
		r.pool.Wait()
		close(ended)
	}()
	if left := r.abandoned.Wait(ctx); len(left) > 0 {
		return left
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return r.abandoned.List()
}
