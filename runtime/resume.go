package runtime

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
)

// Interrupted reports whether the last turn has not ended because its process died or its
// store failed. A turn that runs in another process is not interrupted; its lease and
// Options.Gone decide whether it still runs. Interrupted reads the store.
func (c *Conversation) Interrupted(ctx context.Context) (bool, error) {
	rec, err := c.thread.Lease.Record(ctx)
	if err != nil {
		return false, fmt.Errorf("conversation %s: %w", c.ID(), err)
	}
	return rec.Journaled && rec.Lease.Epoch != c.thread.Lease.Running() && !c.home.leases.HeldElsewhere(rec.Lease), nil
}

// Resume continues an interrupted turn and returns when it runs; see [Conversation.Start].
// The turn keeps its id and its number, and emits its start again. It keeps the results
// that were stored. Unfinished calls of tools that are declared read-only or idempotent run
// again under the same key. All others are answered as interrupted, because their effect is
// unknown. Then the turn asks the model for the next step.
//
// The turn has its ClientTools again: their calls wait again, under the same id. Its Tools it
// has if o gives them again; else their calls are answered as not available.
//
// If the turn was resumed Options.Limits.Resumes times already, Resume only ends it. The
// error is ErrNotInterrupted if no turn was interrupted, or, with TurnOptions.SameProject,
// none that began in this project. Other errors are those of Start.
func (c *Conversation) Resume(ctx context.Context, o *TurnOptions) (*Turn, error) {
	return c.start(ctx, o, c.resume)
}

func (c *Conversation) resume(ctx context.Context, t *Turn, o *TurnOptions) hook.TurnOutcome {
	lease := c.thread.Lease
	if !lease.Interrupted() || o.SameProject && lease.Journal().Project != c.agent.rt.o.Project {
		_ = lease.Release(context.WithoutCancel(ctx)) // if that fails, the next turn notices it
		return loop.Refused(fmt.Errorf("%w: %s", ErrNotInterrupted, c.ID()))
	}
	defer c.storeSummary(ctx)
	return c.thread.Resume(ctx, &t.h, loop.Input{Observe: o.Observe, Tools: o.Tools})
}
