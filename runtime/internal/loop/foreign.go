package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/drive"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
)

// Hooks, observers and models are foreign code. The loop marks every call of it, because the
// owner can abandon the loop only during such a call; see package drive and abandoned_turn.go.

// enterForeign marks that the loop is about to call foreign code at the point. Read the
// arguments of the call before: from here on the owner may take the turn over. A nil turn has
// no loop.
func (t *Turn) enterForeign(p hook.Point) {
	if t != nil {
		t.loop.Enter(p)
	}
}

// tryExitForeign marks that foreign code has returned. It is false if the loop was abandoned.
func (t *Turn) tryExitForeign() bool { return t == nil || t.loop.Back() }

// exitForeign is tryExitForeign, but ends the goroutine of an abandoned loop.
func (t *Turn) exitForeign() {
	if t != nil {
		t.loop.Return()
	}
}

// exitForeignRecovering is deferred after enterForeign. A panic of the hook becomes *err.
func (t *Turn) exitForeignRecovering(p hook.Point, err *error) {
	v := recover()
	t.exitForeign()
	if v != nil {
		*err = failure.OfPanic(p, v)
	} else if *err != nil {
		*err = failure.Of(p, *err)
	}
}

// turnContext is the context of a turn. Hosts find the turn that calls them in it.
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
	case backgroundKey{}: // a background run may have started this turn
		return nil
	}
	return c.Context.Value(key)
}

// lastingContext has the values of a turn's context and never ends. It is part of the turn,
// because context.WithoutCancel allocates.
type lastingContext struct{ turn *Turn }

// Deadline implements context.Context.
func (lastingContext) Deadline() (at time.Time, ok bool) { return at, false }

// Done implements context.Context.
func (lastingContext) Done() <-chan struct{} { return nil }

// Err implements context.Context.
func (lastingContext) Err() error { return nil }

// Value implements context.Context.
func (c *lastingContext) Value(key any) any { return c.turn.turnCtx.Value(key) }

// Abandoned reports whether the context belongs to a turn whose loop was abandoned. Calls with
// it belong to no turn. A background run is not abandoned with its turn.
func Abandoned(ctx context.Context) bool {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	_, background := InBackground(ctx)
	return t != nil && t.loop.Abandoned() && !background
}

// backgroundKey is the key of the id of the turn that started a background run.
type backgroundKey struct{}

// BackgroundContext returns the context of a background run that the turn with the id started;
// "" is none. Calls of a host with it are outside of any turn.
func BackgroundContext(ctx context.Context, turn string) context.Context {
	return context.WithValue(ctx, backgroundKey{}, turn)
}

// InBackground reports whether the context belongs to a background run, and which turn started
// the run.
func InBackground(ctx context.Context) (turn string, ok bool) {
	turn, ok = ctx.Value(backgroundKey{}).(string)
	return turn, ok
}

// TurnOf returns the turn that the context belongs to, for the log; nil is none.
func TurnOf(ctx context.Context) stream.Loop {
	if t, _ := ctx.Value(turnKey{}).(*Turn); t != nil {
		return t
	}
	return nil
}

// Abandoned implements [stream.Loop].
func (t *Turn) Abandoned() bool { return t.loop.Abandoned() }

// turnJob is the job of a loop.
type turnJob struct {
	run   func(*Turn) hook.TurnOutcome
	input Input
	// child names the call that started a child; nil for other turns.
	child *hook.EventDetail
	// interrupted is the journal of an interrupted turn. If resume is false, the job ends that
	// turn without asking the model.
	interrupted *durable.Interrupted
	resume      bool
}

// settles reports whether the job ends an interrupted turn without asking the model.
func (j *turnJob) settles() bool { return j.interrupted != nil && !j.resume }

// drive runs the loop of the turn and returns the ended turn: its successor if the loop was
// abandoned. When ctx ends or the time limit is reached, the owner waits for as long as a
// cancelled turn may take.
func (t *Turn) drive(ctx context.Context) *Turn {
	t.ownerCtx = ctx
	t.env.Loops.Start(&t.loop, func() { t.out = t.job.run(t) })
	if !t.loop.Wait(ctx, drive.Watch{Bound: t.env.Limits.Gate, Late: t.lateGate}) && !t.loop.WaitOrAbandon(t.patience()) {
		return t.endAbandoned()
	}
	t.loop.Release()
	if !t.loop.Finished() { // a hook has ended the goroutine
		return t.endAfterGoexit()
	}
	return t
}

// lateGate cancels a turn in which a hook at the point does not answer, and reports whether it
// did. A hook may take longer where it waits for people, and while it calls an agent or a model,
// whose time has limits of its own, as a settlement has.
func (t *Turn) lateGate(p hook.Point) bool {
	info := point.InfoOf(p)
	if info.Kind != "decide" && info.Kind != "rewrite" || p == point.Approve || t.hostCalls.Load() > 0 || t.job.settles() {
		return false
	}
	what := t.base.Hooks.At(p)
	t.handle.Cancel(fmt.Errorf("%w: %s at %s, within %s; Options.Limits.Gate changes that, or timeout=… in the tag of its field", ErrLateGate, what.Hook, p, t.env.Limits.Gate))
	return true
}

// InHost counts a call of the host that a hook or a tool waits for. The caller calls the function
// at its end.
func (t *Turn) InHost() func() {
	t.hostCalls.Add(1)
	return func() { t.hostCalls.Add(-1) }
}

// patience is how long the owner waits for a cancelled turn.
func (t *Turn) patience() drive.Patience {
	return drive.Patience{Grace: t.grace(), Last: t.abandonDeadline(), Looks: looks, Abandon: func(p hook.Point) func() {
		what := t.base.Hooks.At(p)
		t.env.Abandoned.Add(what)
		return func() { t.env.Abandoned.Ended(what) }
	}}
}

// looks is how often the owner looks at a cancelled turn in a grace period. The end of an
// abandoned turn takes reserve times that interval: one until the owner looks, one to seize the
// delivery of events, one to deliver the end.
const (
	looks   = 8
	reserve = 3
)

// endDeadline is when a cancelled turn has ended at the latest: two grace periods after its
// cancellation, and for a child before the owner of its parent abandons the parent.
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

// abandonDeadline is when the owner abandons the loop of a cancelled turn at the latest.
func (t *Turn) abandonDeadline() time.Time { return t.endDeadline().Add(-reserve * t.grace() / looks) }

// deliveryTime is how long hooks and observers may take for the last events of an abandoned
// turn.
func (t *Turn) deliveryTime() time.Duration {
	return max(min(t.grace(), time.Until(t.endDeadline())), t.grace()/looks)
}

// outOfTime reports whether a cancelled turn has too little time to start more work.
func (t *Turn) outOfTime() bool {
	return t.deadline.Load() != nil && time.Until(t.abandonDeadline()) < t.grace()/looks*reserve
}

// A composite isolates its members, applies their fail policies and emits the failures that it
// has handled. The runtime handles the failure that a decision carries, and panics of the
// methods of [hook.Hook] that return no error.

// decision is any type of decision.
type decision interface{ Verdict() hook.Verdict }

// exitForeignDecided is exitForeign after hooks decided. It emits the failure that the decision
// carries.
func exitForeignDecided[D decision](ctx context.Context, t *Turn, d D) D {
	t.exitForeign()
	if f := d.Verdict().Failure; f != nil {
		t.emitHookFailed(ctx, f)
	}
	return d
}
