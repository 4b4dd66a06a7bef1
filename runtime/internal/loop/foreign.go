package loop

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/drive"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
)

// The loop of a turn runs on a goroutine that its owner, who has called Send, can
// abandon; see package drive. The owner then ends the turn in its place; see
// abandoned_turn.go.

// enterForeign says that the loop is about to call foreign code. A nil turn has no loop.
// What the call is handed is read before: the turn may be its successor's from here on.
func (t *Turn) enterForeign(p hook.Point) {
	if t != nil {
		t.loop.Enter(p)
	}
}

// tryExitForeign says that the loop is back; false if it was abandoned.
func (t *Turn) tryExitForeign() bool { return t == nil || t.loop.Back() }

// exitForeign is back. It ends the goroutine of a loop that was abandoned.
func (t *Turn) exitForeign() {
	if t != nil {
		t.loop.Return()
	}
}

// exitForeignRecovering is deferred around a call of the hook, behind away: a panic becomes *err.
func (t *Turn) exitForeignRecovering(p hook.Point, err *error) {
	v := recover()
	t.exitForeign()
	if v != nil {
		*err = failure.OfPanic(p, v)
	} else if *err != nil {
		*err = failure.Of(p, *err)
	}
}

// turnContext is the context of a turn, by which hosts know who asks them.
type turnContext struct {
	context.Context
	turn *Turn
}

// turnKey is the key of the turn in its contexts.
type turnKey struct{}

// Value implements context.Context.
func (c *turnContext) Value(key any) any {
	switch key {
	case turnKey{}:
		return c.turn
	case backgroundKey{}: // a background run may have started this one
		return nil
	}
	return c.Context.Value(key)
}

// lastingContext is a turn's context without its end. It is part of the turn, because one
// of context.WithoutCancel is an allocation.
type lastingContext struct{ turn *Turn }

// Deadline implements context.Context.
func (lastingContext) Deadline() (at time.Time, ok bool) { return at, false }

// Done implements context.Context.
func (lastingContext) Done() <-chan struct{} { return nil }

// Err implements context.Context.
func (lastingContext) Err() error { return nil }

// Value implements context.Context.
func (c *lastingContext) Value(key any) any { return c.turn.turnCtx.Value(key) }

// Abandoned reports whether the context is of a turn whose loop was abandoned: what comes
// from there is of no turn any more, and not of the next one. A background run is not
// abandoned with its turn.
func Abandoned(ctx context.Context) bool {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	_, background := InBackground(ctx)
	return t != nil && t.loop.Abandoned() && !background
}

// backgroundKey is the key of the id of the turn that started a background run.
type backgroundKey struct{}

// BackgroundContext returns the context of a background run that the turn with the id started;
// "" is none. Hosts know by it that whoever asks is not within a turn, whichever may run.
func BackgroundContext(ctx context.Context, turn string) context.Context {
	return context.WithValue(ctx, backgroundKey{}, turn)
}

// InBackground reports whether the context is of a background run, and which turn started it.
func InBackground(ctx context.Context) (turn string, ok bool) {
	turn, ok = ctx.Value(backgroundKey{}).(string)
	return turn, ok
}

// TurnOf returns the turn whose loop the context is of, for the log; nil if it is of none.
func TurnOf(ctx context.Context) stream.Loop {
	if t, _ := ctx.Value(turnKey{}).(*Turn); t != nil {
		return t
	}
	return nil
}

// Abandoned implements stream.Loop.
func (t *Turn) Abandoned() bool { return t.loop.Abandoned() }

// turnJob is what a loop has to do.
type turnJob struct {
	run   func(*Turn) hook.TurnOutcome
	input Input
	// child says which call has started the turn if it is a child, else nil.
	child *hook.EventDetail
	// interrupted is the turn that was interrupted, and on says that it is gone on with.
	interrupted *durable.Interrupted
	resume      bool
}

// drive runs the loop of the turn and returns the turn when it has ended: another one
// if the loop was abandoned. The owner waits until ctx has ended or the turn's limit of
// time is reached, and then as long as a cancelled turn may take.
func (t *Turn) drive(ctx context.Context) *Turn {
	t.ownerCtx = ctx
	t.env.Loops.Start(&t.loop, func() { t.out = t.job.run(t) })
	if !t.loop.Wait(ctx) && !t.loop.WaitOrAbandon(t.patience()) {
		return t.endAbandoned()
	}
	t.loop.Release()
	if !t.loop.Finished() { // a hook has ended the goroutine
		return t.endAfterGoexit()
	}
	return t
}

// patience is how long the owner waits for the cancelled turn.
func (t *Turn) patience() drive.Patience {
	return drive.Patience{Grace: t.grace(), Last: t.abandonDeadline(), Looks: looks, Abandon: func(p hook.Point) func() {
		what := t.thread.Agent.Hooks.At(p)
		t.env.Abandoned.Add(what)
		return func() { t.env.Abandoned.Ended(what) }
	}}
}

// looks is how often a cancelled turn is looked at in a grace period, and reserve is how
// many of these looks are left for the end of a turn whose loop is left behind: one until
// the owner looks, one to get the delivery of events, one to tell of the end.
const (
	looks   = 8
	reserve = 3
)

// endDeadline is when a cancelled turn has ended at the latest: two grace periods after its
// cancellation. A child has ended by when its parent's loop has to be back.
func (t *Turn) endDeadline() time.Time {
	if by := t.deadline.Load(); by != nil {
		return *by
	}
	by := time.Now().Add(2 * t.grace())
	if p := t.parent; p != nil && p.deadline.Load() != nil {
		if at := p.abandonDeadline(); at.Before(by) {
			by = at
		}
	}
	t.deadline.Store(&by)
	return by
}

// abandonDeadline is when the loop of a cancelled turn is left behind whatever it does.
func (t *Turn) abandonDeadline() time.Time { return t.endDeadline().Add(-reserve * t.grace() / looks) }

// deliveryTime is how long hooks and observers may take to be told of the end of a turn whose
// loop was left behind.
func (t *Turn) deliveryTime() time.Duration {
	return max(min(t.grace(), time.Until(t.endDeadline())), t.grace()/looks)
}

// outOfTime reports whether a cancelled turn has no time to begin with more.
func (t *Turn) outOfTime() bool {
	return t.deadline.Load() != nil && time.Until(t.abandonDeadline()) < t.grace()/looks*reserve
}

// A composite isolates its members, applies their fail policies and tells of failures
// that it has dealt with. What it leaves to the runtime is the failure that its answer
// carries, and panics of the methods of [hook.Hook] that have no error.

// decision is what the decision types have in common.
type decision interface{ Verdict() hook.Verdict }

// exitForeignDecided says that the loop is back with the answer of the deciders of a point, and
// tells of the failure that it carries.
func exitForeignDecided[D decision](ctx context.Context, t *Turn, d D) D {
	t.exitForeign()
	if f := d.Verdict().Failure; f != nil {
		t.emitHookFailed(ctx, f)
	}
	return d
}
