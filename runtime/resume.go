package runtime

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
)

// Interrupted reports whether the conversation has a turn that did not come to its
// end, because its process died or its store failed. One that another process
// holds, as far as its lease and Options.Gone say, is not interrupted. It asks the
// store.
func (c *Conversation) Interrupted(ctx context.Context) (bool, error) {
	rec, err := c.thread.Lease.Record(ctx)
	if err != nil {
		return false, fmt.Errorf("conversation %s: %w", c.ID(), err)
	}
	return rec.Journaled && rec.Lease.Epoch != c.thread.Lease.Running() && !c.agent.rt.leases.HeldElsewhere(rec.Lease), nil
}

// Resume continues a turn that was interrupted, where it was, and returns when it runs; see
// [Conversation.Start]. Results that had come are kept. Calls of tools that say they are
// read-only or idempotent run again under the key that they had. All others are answered
// as interrupted, because what they did is not known. Then the model is asked as it would
// have been. The turn keeps its id and its number, and emits its start again.
//
// A turn that has been resumed Options.Limits.Resumes times is only brought to its end.
// ErrNotInterrupted if there is none, or, with TurnOptions.Unasked, none that began
// in this project; otherwise the errors are those of Start.
func (c *Conversation) Resume(ctx context.Context, o *TurnOptions) (*Turn, error) {
	return c.start(ctx, o, c.resume)
}

func (c *Conversation) resume(ctx context.Context, t *Turn, o *TurnOptions) hook.TurnOutcome {
	lease := c.thread.Lease
	if !lease.Interrupted() || o.Unasked && lease.Journal().Project != c.agent.rt.o.Project {
		_ = lease.Release(context.WithoutCancel(ctx)) // the next turn finds out if that did not work
		return loop.Refused(fmt.Errorf("%w: %s", ErrNotInterrupted, c.ID()))
	}
	return c.thread.Resume(ctx, &t.h, o.Observe)
}
