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

// The owner ends a turn whose loop it has abandoned. It keeps what was done and asks no hook,
// because that one may hang too. What a gate has not let through stays out: undecided calls
// are cancelled, and results that a hook had to see first are withheld.

// errEnded is the error of a turn whose goroutine a hook has ended.
var errEnded = errors.New("runtime: a hook ended the goroutine of the turn")

// openCalls are the calls of a reply that the loop has not finished.
type openCalls struct {
	content message.List[message.Block]
	calls   []call
	// stored: the history has the calls, but clients may not have all results.
	stored bool
}

// successor is a copy of an abandoned turn with which the owner ends it. It has no hooks.
type successor struct {
	*Turn
	// old is the abandoned turn. Its loop may still hang in foreign code.
	old *Turn
	// failure names the hook that hangs; nil if a hook has ended the goroutine.
	failure *hook.Failure
}

func (t *Turn) successor() *successor {
	s := &successor{Turn: &Turn{ledger: t.ledger, turnState: t.turnState}, old: t}
	s.hooks, s.noCancel, s.holding, s.emitting = scope.None(), t.thread.ownerContext(t), true, nil
	by := t.endDeadline()
	s.deadline.Store(&by)
	return s
}

// ownerContext has the values of the turn's context, but belongs to no turn: neither to this
// one nor to a parent.
func (th *Thread) ownerContext(t *Turn) context.Context {
	return context.WithValue(context.WithoutCancel(t.turnCtx.Context), turnKey{}, (*Turn)(nil))
}

// endAbandoned ends a turn whose loop was abandoned.
func (t *Turn) endAbandoned() *Turn {
	s := t.successor()
	wait := t.grace() / looks
	what := t.base.Hooks.At(t.loop.At())
	s.failure = &hook.Failure{Subsystem: what.Hook, Point: t.loop.At(), Err: abandoned.ErrStillRuns, Late: true}
	if s.failure.Point == point.OnEvent {
		wait = 0
	}
	s.errs = append(slices.Clip(s.errs), s.failure)
	s.endTurn(wait)
	return s.Turn
}

// endAfterGoexit ends a turn whose goroutine a hook has ended.
func (t *Turn) endAfterGoexit() *Turn {
	s := t.successor()
	s.errs = append(slices.Clip(s.errs), errEnded)
	s.signals = append(slices.Clip(s.signals), hook.StopSignal{Reason: hook.StopError, Text: errEnded.Error()})
	s.endTurn(t.grace() / looks)
	return s.Turn
}

// endTurn ends the turn. It waits so long for the goroutine that delivers events.
func (s *successor) endTurn(wait time.Duration) {
	log := s.thread.Log
	var held delivery
	if s.parent != nil {
		held.claim = log.ClaimFor(s.old)
	} else {
		held.Delivery = log.Seize(s.old, wait)
	}
	s.end = s.old.end // its deliverer has stamped it
	s.emitLast()
	if s.place == nil || !s.startEmitted {
		s.endUnstarted()
	} else {
		s.endStarted()
	}
	s.endChildSession()
	if s.job.child != nil && !s.old.subagentEndEmitted {
		about := *s.job.child
		about.Usage, about.Cost, about.Stop = s.out.Usage, s.out.Cost, s.out.Stop
		s.old.beginEvents(nil)
		s.emit(hook.Event{Kind: event.SubagentEnd, Text: s.out.Text()}.WithDetail(about))
	}
	s.release(held)
}

// emitLast emits the event that the loop was emitting when it was abandoned, unless the log
// has numbered it: then it is delivered or queued.
func (s *successor) emitLast() {
	last := s.old.emitting
	if last == nil || s.thread.Log.Numbered(last) {
		return
	}
	if s.parent != nil {
		s.old.beginEvents(nil) // the loop may have ended the turn in the log
	}
	s.event = *last
	s.post(&s.event, s.old.emittingHow)
	if last == &s.old.end {
		s.end = s.event
	}
}

// endUnstarted ends a turn without a turn_start.
func (s *successor) endUnstarted() {
	s.thread.Log.EndTurn()
	s.emitReason()
	_ = s.thread.Lease.Release(s.noCancel) // if that fails, the next turn reports it
	s.out = hook.TurnOutcome{Stop: hook.StopError, Err: joinErrors(s.errs)}
	if s.old.ctx.Err() != nil {
		s.out.Stop, s.out.Err = hook.StopCancelled, context.Cause(s.old.ctx)
	}
}

// endStarted ends a turn with a turn_start.
func (s *successor) endStarted() {
	s.emitReason()
	if !s.endEmitted {
		s.endOpen()
		s.callAfterHooks()
		return
	}
	if s.thread.Log.Keeps() && !s.endStored {
		s.storeEnd(s.staysInterrupted())
	}
	if s.parent == nil && !s.thread.Log.Queued(s.end.Seq) { // a hook that hangs on turn_end got it before the followers
		s.thread.Log.TellFollowers(&s.end)
	}
}

// emitReason emits which hook hangs.
func (s *successor) emitReason() {
	if s.failure != nil {
		s.emit(s.failure.Event())
	}
	if !s.old.loop.Abandoned() {
		return
	}
	s.emit(hook.Diagnostic{
		Code: event.CodeTurnAbandoned, Visibility: event.VisibleUser,
		Text: fmt.Sprintf("the turn was ended without %s, which did not return although the turn was cancelled", s.base.Hooks.At(s.old.loop.At())),
	}.Event())
}

// endOpen ends the open step and its calls, stores the end of the turn and emits it.
func (s *successor) endOpen() {
	s.signalAbandoned()
	s.closeSegment()
	s.restoreAbandonedCalls()
	s.finishOpenCalls()
	if s.inStep {
		s.emit(hook.Event{Kind: event.StepEnd})
	}
	stays := s.staysInterrupted()
	s.closeSteers(!stays)
	s.updatePlace()
	s.out = s.outcome()
	if !s.outcomeFixed {
		s.addToSession(s.out)
	}
	s.outcomeFixed = true
	s.end = hook.Event{Kind: event.TurnEnd, Text: s.out.Text()}.WithUsage(s.out.Usage, s.out.Cost, s.out.Stop)
	s.handle.ending.Store(true)
	s.post(&s.end, stream.How{Last: true})
	s.storeEnd(stays)
}

// storeEnd stores the end of the turn unless it stays interrupted, and releases its lease.
func (s *successor) storeEnd(stays bool) {
	s.thread.Lease.StopRenewing() // a renewal after the end would keep the lease
	if !stays {
		s.commitEnd(true)
	}
	if err := s.thread.Lease.Release(s.noCancel); err != nil {
		s.emit(hook.Event{Kind: event.Diagnostic, Text: err.Error()})
	}
}

// closeSteers closes the queue of steers. It refuses those that no gate has let through, or
// leaves them in the journal for the process that resumes the turn.
func (s *successor) closeSteers(refuse bool) {
	all := slices.Concat(s.pendingSteers, s.handle.steers.take(true))
	for steers := all; len(steers) > 0; steers = s.handle.steers.take(true) {
		for _, steer := range steers {
			if refuse {
				s.refuseSteer(steer, "the turn was cancelled before the hooks had let it through")
			}
		}
	}
}

// finishOpenCalls answers the calls that the loop had not finished, and emits all results.
func (s *successor) finishOpenCalls() {
	calls := s.openCalls.calls
	if len(calls) == 0 {
		return
	}
	if !s.openCalls.stored {
		s.answerOpenCalls(calls)
		s.addStepToHistory(message.ModelReply{Content: s.openCalls.content}, calls)
		s.recordCalls(calls, s.old.hooks)
	}
	s.emitResults(calls)
	s.emit(hook.Event{Kind: event.CallsComplete}.WithTools(s.toolNames(calls)))
}

func (s *successor) answerOpenCalls(calls []call) {
	for i := range calls {
		c := &calls[i]
		if !c.finished {
			c.endAbandoned(s.old)
		}
		if !c.startEmitted {
			s.emitCall(event.CallStart, c, "")
		}
		if c.awaitsApproval {
			s.emitApproval(c, hook.Verdict{Kind: hook.AnswerRefuse, Reason: "the turn was cancelled"})
		}
	}
}

// endAbandoned answers a call of the abandoned turn.
func (c *call) endAbandoned(t *Turn) {
	state := abandoned.Waiting
	if c.run != nil && !c.hasOutcome() {
		state = c.run.Abandon()
	}
	switch {
	case c.mayHaveRun && c.runner == nil: // it was not started again
		c.setInterrupted()
	case c.hasOutcome():
		c.withhold(t)
	case state == abandoned.Ended: // the loop has not read the result
		end := c.run.End()
		c.setResult(end.Outcome, end.Result)
		c.end.Duration = end.Duration
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

// withhold withholds a result that a hook had to see first.
func (c *call) withhold(t *Turn) {
	if t.hooks.HasAny(point.RewriteResult, point.AfterTool) {
		c.end.Result = withheld("a hook that was to see it did not answer")
	}
}

// callAfterHooks calls AfterTool, AfterStep and AfterTurn in the background where the loop has
// not called them. Their decisions have no effect.
func (s *successor) callAfterHooks() {
	hooks, h := s.old.hooks, s.thread.Host
	afters := s.afterToolCalls()
	if s.inStep && !s.afterStepCalled && hooks.Has(point.AfterStep) {
		step, o := s.step, s.stepOutcome()
		afters = append(afters, func(ctx context.Context) {
			d, _ := hooks.AfterStep(ctx, step, o)
			EmitFailure(ctx, h, d)
		})
	}
	if !s.old.afterTurnCalled && hooks.Has(point.AfterTurn) {
		place, out := s.place, s.out
		afters = append(afters, func(ctx context.Context) { hooks.AfterTurn(ctx, place, out) })
	}
	if len(afters) == 0 {
		return
	}
	s.runInBackground(func(ctx context.Context) {
		for _, call := range afters {
			call(ctx)
		}
	})
}

// afterToolCalls returns the calls of AfterTool that the loop has not made.
func (s *successor) afterToolCalls() (afters []func(context.Context)) {
	hooks, h := s.old.hooks, s.thread.Host
	if !hooks.Has(point.AfterTool) {
		return nil
	}
	for i := range s.openCalls.calls {
		c := &s.openCalls.calls[i]
		if c.afterToolCalled {
			continue
		}
		at, o := c.at, c.outcome()
		afters = append(afters, func(ctx context.Context) {
			d, _ := hooks.AfterTool(ctx, at, o)
			EmitFailure(ctx, h, d)
		})
	}
	return afters
}

// EmitFailure emits the failure that a decision carries. A composite has already emitted the
// failure of a late member.
func EmitFailure[D decision](ctx context.Context, h hook.Host, d D) {
	if f := d.Verdict().Failure; f != nil && !f.Late {
		h.Emit(ctx, f.Event())
	}
}

// endChildSession ends the session of a child in the background, unless the loop has ended it.
// The session of a child lasts as long as the child's turn.
func (s *successor) endChildSession() {
	if s.parent == nil {
		return
	}
	if open := s.thread.takeSession(""); open != nil {
		s.runInBackground(func(ctx context.Context) { s.thread.callSessionEnd(ctx, nil, open) })
	}
}

// runInBackground runs calls of hooks that the abandoned loop has not made.
func (s *successor) runInBackground(call func(context.Context)) {
	ctx := BackgroundContext(s.noCancel, s.id)
	err := s.env.Background.Go(ctx, queue.Name{Place: s.thread.ID(), Path: point.AfterTurn.String()}, call)
	if err != nil {
		s.emit(hook.Event{Kind: event.Diagnostic, Text: "hooks were not told of the end of the turn: " + err.Error()})
	}
}

// delivery is the delivery of events that the owner of an abandoned turn has seized. The owner
// of a child has a claim instead, because it does not wait.
type delivery struct {
	stream.Delivery
	claim *stream.Claim
}

// release delivers the queued events and gives the thread back. It calls hooks and observers
// for a grace period at most, and not at all if one of them hangs in OnEvent.
func (s *successor) release(held delivery) {
	s.thread.setTurn(nil)
	if s.parent == nil {
		s.env.Requests.Forget(s.thread.ID())
	}
	if s.untrackGuest != nil {
		s.untrackGuest()
	}
	if s.expire != nil {
		s.expire()
	}
	if s.parent != nil {
		if d, ok := held.claim.Withdraw(); ok { // else the holder delivers the child's events too
			go d.Release()
		}
		return
	}
	d := held.Delivery
	if s.failure == nil || s.failure.Point != point.OnEvent {
		d = s.deliverQueued(d)
	}
	s.thread.Log.EndTurn()
	d.ReleaseToFollowers()
}

// deliverQueued delivers the queued events and returns the delivery. It takes the delivery
// away from a hook or an observer that hangs.
func (s *successor) deliverQueued(d stream.Delivery) stream.Delivery {
	what := s.base.Hooks.At(point.OnEvent)
	ctx, cancel := context.WithTimeout(context.Background(), s.deliveryTime())
	defer cancel()
	err := abandoned.Go(s.env.Abandoned, what, func() error {
		d.DeliverAll()
		return nil
	}).Wait(ctx)
	if err != nil {
		return d.TakeAway()
	}
	return d
}
