package runtime

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/drive"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
)

// The loop of a turn runs on a goroutine that its owner, who has called Send, can
// abandon; see package drive. The owner then ends the turn in its place; see
// abandoned_turn.go.

// away says that the loop is about to call foreign code. A nil turn has no loop.
// What the call is handed is read before: the turn may be its successor's from here on.
func (t *turn) away(p hook.Point) {
	if t != nil {
		t.loop.Enter(p)
	}
}

// back says that the loop is back; false if it was abandoned.
func (t *turn) back() bool { return t == nil || t.loop.Back() }

// returned is back. It ends the goroutine of a loop that was abandoned.
func (t *turn) returned() {
	if t != nil {
		t.loop.Return()
	}
}

// caught is deferred around a call of the hook, behind away: a panic becomes *err.
func (t *turn) caught(p hook.Point, err *error) {
	v := recover()
	t.returned()
	if v != nil {
		*err = failure.OfPanic(p, v)
	} else if *err != nil {
		*err = failure.Of(p, *err)
	}
}

// turnContext is the context of a turn, by which hosts know who asks them.
type turnContext struct {
	context.Context
	turn *turn
}

// turnKey is the key of the turn in its contexts.
type turnKey struct{}

// Value implements context.Context.
func (c *turnContext) Value(key any) any {
	switch key {
	case turnKey{}:
		return c.turn
	case sideKey{}: // a run beside a turn may have started this one
		return nil
	}
	return c.Context.Value(key)
}

// lastingContext is a turn's context without its end. It is part of the turn, because one
// of context.WithoutCancel is an allocation.
type lastingContext struct{ turn *turn }

// Deadline implements context.Context.
func (lastingContext) Deadline() (at time.Time, ok bool) { return at, false }

// Done implements context.Context.
func (lastingContext) Done() <-chan struct{} { return nil }

// Err implements context.Context.
func (lastingContext) Err() error { return nil }

// Value implements context.Context.
func (c *lastingContext) Value(key any) any { return c.turn.turnCtx.Value(key) }

// leftBehind reports whether the context is of a turn whose loop was abandoned: what comes
// from there is of no turn any more, and not of the next one. A run beside a turn is not
// abandoned with it.
func leftBehind(ctx context.Context) bool {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t != nil && t.loop.Abandoned() && sideOf(ctx) == nil
}

// turnJob is what a loop has to do.
type turnJob struct {
	do func(*turn) hook.TurnOutcome
	in message.Input
	o  TurnOptions
	// child says which call has started the turn if it is a child, else nil.
	child *hook.EventDetail
	// was is the turn that was interrupted, and on says that it is gone on with.
	was *durable.Interrupted
	on  bool
}

// drive runs the loop of the turn and returns the turn when it has ended: another one
// if the loop was abandoned. The owner waits until ctx has ended or the turn's limit of
// time is reached, and then as long as a cancelled turn may take.
func (t *turn) drive(ctx context.Context) *turn {
	t.until = ctx
	t.rt.loops.Start(&t.loop, func() { t.out = t.job.do(t) })
	if !t.loop.Wait(ctx) && !t.loop.WaitOrAbandon(t.patience()) {
		return t.endLeft()
	}
	t.loop.Release()
	if !t.loop.Finished() { // a hook has ended the goroutine
		return t.endUnplayed()
	}
	return t
}

// patience is how long the owner waits for the cancelled turn.
func (t *turn) patience() drive.Patience {
	return drive.Patience{Grace: t.grace(), Last: t.leavesAt(), Looks: looks, Abandon: func(p hook.Point) func() {
		what := t.conv.agent.hooks.At(p)
		t.rt.abandoned.Add(what)
		return func() { t.rt.abandoned.Ended(what) }
	}}
}

// looks is how often a cancelled turn is looked at in a grace period, and reserve is how
// many of these looks are left for the end of a turn whose loop is left behind: one until
// the owner looks, one to get the delivery of events, one to tell of the end.
const (
	looks   = 8
	reserve = 3
)

// endsBy is when a cancelled turn has ended at the latest: two grace periods after its
// cancellation. A child has ended by when its parent's loop has to be back.
func (t *turn) endsBy() time.Time {
	if by := t.deadline.Load(); by != nil {
		return *by
	}
	by := time.Now().Add(2 * t.grace())
	if p := t.parent; p != nil && p.deadline.Load() != nil {
		if at := p.leavesAt(); at.Before(by) {
			by = at
		}
	}
	t.deadline.Store(&by)
	return by
}

// leavesAt is when the loop of a cancelled turn is left behind whatever it does.
func (t *turn) leavesAt() time.Time { return t.endsBy().Add(-reserve * t.grace() / looks) }

// toTell is how long hooks and observers may take to be told of the end of a turn whose
// loop was left behind.
func (t *turn) toTell() time.Duration {
	return max(min(t.grace(), time.Until(t.endsBy())), t.grace()/looks)
}

// outOfTime reports whether a cancelled turn has no time to begin with more.
func (t *turn) outOfTime() bool {
	return t.deadline.Load() != nil && time.Until(t.leavesAt()) < t.grace()/looks*reserve
}
