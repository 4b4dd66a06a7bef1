package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
	"github.com/grapnel-go/grapnel/runtime/internal/bound"
	"github.com/grapnel-go/grapnel/runtime/internal/queue"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
)

// A turn whose loop was left behind is ended by its owner: with what has been done, and
// without asking a hook, which may hang as well. A gate that did not answer has let
// nothing through: calls that were not decided are cancelled, and results that a hook
// was to see before anybody else are withheld.

// errEnded is why a turn ended whose goroutine a hook has ended.
var errEnded = errors.New("runtime: a hook ended the goroutine of the turn")

// openCalls are the calls of a reply with which the loop is not through.
type openCalls struct {
	content message.List[message.Block]
	calls   []call
	// stored: the history has them, but not everybody has been told of them.
	stored bool
}

// successor is the turn as its owner ends it: with the state that the loop has left, and
// without hooks.
func (t *Turn) successor() *Turn {
	n := &Turn{ledger: t.ledger, turnState: t.turnState}
	n.hooks, n.noCancel, n.holding, n.emitting = scope.None(), t.thread.ownerContext(t), true, nil
	by := t.endDeadline()
	n.deadline.Store(&by)
	return n
}

// ownerContext is the context of what the owner of a turn does when the loop was abandoned: it
// has the values of the turn's, and is of no turn, not of a parent either.
func (th *Thread) ownerContext(t *Turn) context.Context {
	return context.WithValue(context.WithoutCancel(t.turnCtx.Context), turnKey{}, (*Turn)(nil))
}

// endAbandoned ends a turn whose loop was left behind.
func (t *Turn) endAbandoned() *Turn {
	n := t.successor()
	wait := t.grace() / looks
	what := t.thread.Agent.Hooks.At(t.loop.At())
	f := &hook.Failure{Subsystem: what.Hook, Point: t.loop.At(), Err: abandoned.ErrStillRuns, Late: true}
	if f.Point == point.OnEvent {
		wait = 0
	}
	n.errs = append(slices.Clip(n.errs), f)
	n.endWithout(t, f, wait)
	return n
}

// endAfterGoexit ends a turn whose goroutine a hook has ended.
func (t *Turn) endAfterGoexit() *Turn {
	n := t.successor()
	n.errs = append(slices.Clip(n.errs), errEnded)
	n.signals = append(slices.Clip(n.signals), hook.StopSignal{Reason: hook.StopError, Text: errEnded.Error()})
	n.endWithout(t, nil, t.grace()/looks)
	return n
}

// endWithout ends the turn in the place of the loop of t, which does not. f is why, if
// a hook is, and wait how long who delivers events is waited for.
func (n *Turn) endWithout(t *Turn, f *hook.Failure, wait time.Duration) {
	log := n.thread.Log
	var held delivery
	if n.parent != nil {
		held.claim = log.ClaimFor(t)
	} else {
		held.Delivery = log.Seize(t, wait)
	}
	n.end = t.end // whoever had the delivery has stamped it
	n.emitLast(t)
	if n.place == nil || !n.startEmitted { // nobody has been told of it
		n.neverBegan(t, f)
	} else {
		n.endBegun(t, f)
	}
	n.endChildSession()
	if n.job.child != nil && !t.subagentEndEmitted {
		about := *n.job.child
		about.Usage, about.Cost, about.Stop = n.out.Usage, n.out.Cost, n.out.Stop
		t.beginEvents(nil)
		n.emit(hook.Event{Kind: event.SubagentEnd, Text: n.out.Text()}.WithDetail(about))
	}
	n.leaveWithout(held, f)
}

// neverBegan is the end of a turn of which nobody has been told.
func (n *Turn) neverBegan(t *Turn, f *hook.Failure) {
	n.thread.Log.EndTurn()
	n.tellLeft(t, f)
	_ = n.thread.Lease.Release(n.noCancel) // the next turn finds out if that did not work
	n.out = hook.TurnOutcome{Stop: hook.StopError, Err: joinErrors(n.errs)}
	if t.ctx.Err() != nil {
		n.out.Stop, n.out.Err = hook.StopCancelled, context.Cause(t.ctx)
	}
}

// endBegun is the end of any other turn.
func (n *Turn) endBegun(t *Turn, f *hook.Failure) {
	n.tellLeft(t, f)
	if !n.endEmitted {
		n.endOpen(t)
		n.tellAfters(t)
		return
	}
	if n.thread.Log.Keeps() && !n.endStored {
		n.storeEnd(n.staysInterrupted())
	}
	if n.parent == nil && !n.thread.Log.Queued(n.end.Seq) { // the hook that hangs was told of it before those who follow
		n.thread.Log.TellFollowers(&n.end)
	}
}

// tellLeft says what was left behind, if something was.
func (n *Turn) tellLeft(t *Turn, f *hook.Failure) {
	if f != nil {
		n.emit(f.Event())
	}
	if !t.loop.Abandoned() {
		return
	}
	n.emit(hook.Diagnostic{
		Code: "turn.left_behind", Visibility: event.VisibleUser,
		Text: fmt.Sprintf("the turn was ended without %s, which did not return although the turn was cancelled", t.thread.Agent.Hooks.At(t.loop.At())),
	}.Event())
}

// endOpen ends what has begun, stores it and tells of the end.
func (n *Turn) endOpen(t *Turn) {
	n.signalAbandoned()
	n.closeSegment()
	n.restoreAbandonedCalls()
	n.endCalling(t)
	if n.inStep {
		n.emit(hook.Event{Kind: event.StepEnd})
	}
	stays := n.staysInterrupted()
	n.refuseOpenSteers(!stays)
	n.updatePlace()
	n.out = n.outcome()
	if !n.outcomeFixed {
		n.addToSession(n.out)
	}
	n.outcomeFixed = true
	n.end = hook.Event{Kind: event.TurnEnd, Text: n.out.Text()}.WithUsage(n.out.Usage, n.out.Cost, n.out.Stop)
	n.handle.ending.Store(true)
	n.post(&n.end, stream.How{Last: true})
	n.storeEnd(stays)
}

// storeEnd stores the end of the turn, unless it stays interrupted, and gives its lease
// away.
func (t *Turn) storeEnd(stays bool) {
	t.thread.Lease.StopRenewing() // so that nothing prolongs the lease behind the end
	if !stays {
		t.commitEnd(true)
	}
	if err := t.thread.Lease.Release(t.noCancel); err != nil {
		t.emit(hook.Event{Kind: event.Diagnostic, Text: err.Error()})
	}
}

// refuseOpenSteers answers what was said to the turn and no gate has let through. Without
// refuse that stays in the journal, for who takes the turn up.
func (n *Turn) refuseOpenSteers(refuse bool) {
	all := slices.Concat(n.pendingSteers, n.handle.steers.take(true))
	for letters := all; len(letters) > 0; letters = n.handle.steers.take(true) {
		for _, l := range letters {
			if refuse {
				n.refuseSteer(l, "the turn was cancelled before the hooks had let it through")
			}
		}
	}
}

// endCalling answers the calls that the loop had not concluded, and tells of all.
func (n *Turn) endCalling(t *Turn) {
	calls := n.openCalls.calls
	if len(calls) == 0 {
		return
	}
	if !n.openCalls.stored {
		n.answerCalling(t, calls)
		n.addStepToHistory(message.ModelReply{Content: n.openCalls.content}, calls)
		n.recordCalls(calls, t.hooks)
	}
	n.emitResults(calls)
	n.emit(hook.Event{Kind: event.CallsComplete}.WithTools(n.toolNames(calls)))
}

func (n *Turn) answerCalling(t *Turn, calls []call) {
	for i := range calls {
		c := &calls[i]
		if !c.finished {
			c.endAbandoned(t)
		}
		if !c.startEmitted {
			n.emitCall(event.CallStart, c, "")
		}
		if c.awaitsApproval {
			n.emitApproval(c, hook.Verdict{Kind: hook.AnswerRefuse, Reason: "the turn was cancelled"})
		}
	}
}

// endAbandoned answers a call that the loop of the turn has left open.
func (c *call) endAbandoned(t *Turn) {
	state := abandoned.Waiting
	if c.run != nil && !c.hasOutcome() {
		state = c.run.Abandon()
	}
	switch {
	case c.mayHaveRun && c.runner == nil: // nobody has begun to run it again
		c.setInterrupted()
	case c.hasOutcome():
		c.withhold(t)
	case state == abandoned.Ended: // and the loop has not seen it
		end := c.run.End()
		c.end.Outcome, c.end.Result, c.end.Duration = end.Outcome, end.Result, end.Duration
		c.withhold(t)
	case state == abandoned.Running, c.mayHaveRun:
		c.setResult(message.OutcomeInterrupted, message.FailedResult(message.FailCancelled,
			"interrupted: the turn was cancelled, and ended before the result was seen; what the tool did is not known"))
	default:
		c.setResult(message.OutcomeCancelled, message.FailedResult(message.FailCancelled, "cancelled before it started"))
	}
	c.end.Result = bound.Valid(bound.Result(c.end.Result, t.maxResult(c)))
	c.end.Call, c.finished = c.at, true
}

// withhold withholds a result that a hook was to see first.
func (c *call) withhold(t *Turn) {
	if t.hooks.HasAny(point.RewriteResult, point.AfterTool) {
		c.end.Result = withheld("a hook that was to see it did not answer")
	}
}

// tellAfters has AfterTool, AfterStep and AfterTurn told in the background of what the
// loop has not told them of. How they decide has no effect any more.
func (n *Turn) tellAfters(t *Turn) {
	h := n.thread.Host
	afters := n.aftersOfCalls(t, h)
	if n.inStep && !n.afterStepCalled && t.hooks.Has(point.AfterStep) {
		step, o := n.step, n.stepOutcome()
		afters = append(afters, func(ctx context.Context) {
			d, _ := t.hooks.AfterStep(ctx, step, o)
			EmitFailure(ctx, h, d)
		})
	}
	if !t.afterTurnCalled && t.hooks.Has(point.AfterTurn) {
		place, out := n.place, n.out
		afters = append(afters, func(ctx context.Context) { t.hooks.AfterTurn(ctx, place, out) })
	}
	if len(afters) == 0 {
		return
	}
	n.inBackground(func(ctx context.Context) {
		for _, tell := range afters {
			tell(ctx)
		}
	})
}

// endChildSession ends the session of a child in the background, unless the loop has ended
// it: it lasts as long as the child's turn.
func (n *Turn) endChildSession() {
	if n.parent == nil {
		return
	}
	if s := n.thread.takeSession(""); s != nil {
		n.inBackground(func(ctx context.Context) { n.thread.callSessionEnd(ctx, nil, s) })
	}
}

// inBackground has hooks told in the background, one after the other, of what a loop that
// was left behind has not told them of.
func (n *Turn) inBackground(tell func(context.Context)) {
	ctx := BackgroundContext(n.noCancel, n.id)
	err := n.env.Background.Go(ctx, queue.Name{Place: n.thread.ID(), Path: point.AfterTurn.String()}, tell)
	if err != nil {
		n.emit(hook.Event{Kind: event.Diagnostic, Text: "hooks were not told of the end of the turn: " + err.Error()})
	}
}

// EmitFailure emits the failure that a decision carries. A composite has reported a member
// that was late.
func EmitFailure[D decision](ctx context.Context, h hook.Host, d D) {
	if f := d.Verdict().Failure; f != nil && !f.Late {
		h.Emit(ctx, f.Event())
	}
}

func (n *Turn) aftersOfCalls(t *Turn, h hook.Host) (afters []func(context.Context)) {
	if !t.hooks.Has(point.AfterTool) {
		return nil
	}
	for i := range n.openCalls.calls {
		c := &n.openCalls.calls[i]
		if c.afterToolCalled {
			continue
		}
		at, o := c.at, c.outcome()
		afters = append(afters, func(ctx context.Context) {
			d, _ := t.hooks.AfterTool(ctx, at, o)
			EmitFailure(ctx, h, d)
		})
	}
	return afters
}

// delivery is what the owner of an abandoned turn has of the delivery of events: that
// itself, or the claim of a child, which waits for nobody.
type delivery struct {
	stream.Delivery
	claim *stream.Claim
}

// leaveWithout delivers what is left and takes the turn away. Hooks and observers are
// told, for a grace period at most, unless one of them is what hangs.
func (n *Turn) leaveWithout(held delivery, f *hook.Failure) {
	n.thread.setTurn(nil)
	if n.parent == nil {
		n.env.Requests.Forget(n.thread.ID())
	}
	if n.untrackGuest != nil {
		n.untrackGuest()
	}
	if n.expire != nil {
		n.expire()
	}
	if n.parent != nil {
		if d, ok := held.claim.Withdraw(); ok { // otherwise who delivers tells of the child, too
			go d.Release()
		}
		return
	}
	d := held.Delivery
	if f == nil || f.Point != point.OnEvent {
		d = n.deliverLeft(d)
	}
	n.thread.Log.EndTurn()
	d.ReleaseToFollowers()
}

// deliverLeft delivers what is queued. It returns the delivery, which it takes away from
// a hook or an observer that does not come back.
func (n *Turn) deliverLeft(d stream.Delivery) stream.Delivery {
	what := n.thread.Agent.Hooks.At(point.OnEvent)
	ctx, cancel := context.WithTimeout(context.Background(), n.deliveryTime())
	defer cancel()
	err := abandoned.Go(n.env.Abandoned, what, func() error {
		d.DeliverAll()
		return nil
	}).Wait(ctx)
	if err != nil {
		return d.TakeAway()
	}
	return d
}
