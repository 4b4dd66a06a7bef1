package loop

import (
	"cmp"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
)

// finish settles the outcome, stores the end of the turn and emits it.
func (t *Turn) finish() hook.TurnOutcome {
	t.askTurnError()
	for _, err := range t.errs {
		if f, ok := errors.AsType[*hook.Failure](err); ok {
			t.halt(f)
		}
	}
	for t.addSteers(true) { // the model of the next turn reads these
		t.stored = true
	}
	journals := t.thread.Lease.Journals()
	if !journals || t.history.stored.Len() > t.thread.Lease.History().Len() {
		t.commitEnd(!journals)
	}
	t.updatePlace()
	t.outcomeFixed = true
	out := t.outcome()
	t.out = out
	t.addToSession(out)
	if out.Stop == hook.StopError || out.Stop == hook.StopDenied && out.Err != nil {
		t.emit(hook.Event{Kind: event.Error, Text: PublicText(out.Err)})
	}
	t.afterTurnCalled = true
	t.enterForeign(point.AfterTurn)
	t.hooks.AfterTurn(t.noCancel, t.place, out)
	t.exitForeign()
	t.end = hook.Event{Kind: event.TurnEnd, Text: out.Text()}.WithUsage(out.Usage, out.Cost, out.Stop)
	t.commitThenEmit(func() {
		t.endEmitted = true
		t.handle.ending.Store(true)
		t.post(&t.end, stream.How{Last: true})
	}, func() {
		t.thread.Lease.StopRenewing() // a renewal after the end would keep the lease
		if journals {
			t.commitEnd(true)
		}
		if err := t.thread.Lease.Release(t.noCancel); err != nil {
			t.emit(hook.Event{Kind: event.Diagnostic, Text: err.Error()})
		}
	})
	return out
}

// commitEnd stores what an earlier write failed to store. If turnEnds is true it stores the
// end of the turn too. A turn that is journaled stores its end with turn_end and with the jobs of
// AfterTurn: after a crash before that write the turn is still interrupted, so some process
// emits its end and calls AfterTurn.
func (t *Turn) commitEnd(turnEnds bool) {
	for tries, done := 0, false; (t.stored || len(t.entries) > 0) && !t.endStored && !t.leaseLost && !done && tries < 2; tries++ {
		if !t.stored && t.history.stored.Len() == t.thread.Lease.History().Len() {
			done = t.withdraw()
		} else {
			done = t.commit(turnEnds)
		}
	}
}

func (t *Turn) outcome() hook.TurnOutcome {
	stop, signals := t.stopReasons()
	usage, cost := t.spent()
	out := hook.TurnOutcome{
		Stop: stop, Signals: signals, Message: t.finalMessage(), Usage: usage, Cost: cost,
		Steps: t.number - t.idleSteps, Calls: t.calls, Trust: cmp.Or(t.read, message.TrustTrusted), Duration: t.env.Now().Sub(t.started),
	}
	switch stop {
	case hook.StopError, hook.StopCancelled, hook.StopUserRequested, hook.StopDenied:
		out.Err = joinErrors(t.errs)
	}
	return out
}

// finalMessage is the final answer so far.
func (t *Turn) finalMessage() message.Message {
	if t.final.Len() == 0 {
		return message.Message{}
	}
	return message.Message{Role: message.RoleAssistant, Content: t.final}
}
