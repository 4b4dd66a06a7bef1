package loop

import (
	"cmp"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/history"
)

// maxContinued is how often OnStop may have one turn go on.
const maxContinued = 8

// askStop reports whether a turn that is about to end gets another step: if
// OnStop says so, or somebody has said something to it meanwhile. Only soft reasons
// can be overruled. They stay among the signals, and count no more: what the turn
// ends with is decided by what is signalled from now on.
func (t *Turn) askStop() bool {
	if !t.hooks.Has(point.OnStop) || t.ctx.Err() != nil || !t.canOverrule() {
		return false
	}
	t.updatePlace()
	stop, _ := t.stopReasons()
	in := hook.Stopping{Stop: stop, Signals: message.Freeze(t.activeSignals()), Message: t.finalMessage(), Continued: t.continued}
	t.enterForeign(point.OnStop)
	d, _ := t.hooks.OnStop(t.ctx, t.place, in)
	v := exitForeignDecided(t.ctx, t, d).Verdict()
	switch {
	case t.ctx.Err() != nil:
		return false
	case v.Kind == hook.AnswerContinue && t.continued < maxContinued:
		t.continued++
		t.history.addEphemeral("feedback", cmp.Or(v.Reason, "Go on."))
	case v.Kind == hook.AnswerContinue:
		t.emit(hook.Event{Kind: event.Diagnostic, Text: fmt.Sprintf(
			"%s wants the turn to go on, and it has gone on %d times, which is the limit", cmp.Or(v.By, "a hook"), maxContinued)})
		fallthrough
	default:
		if !t.addSteers(true) {
			return false
		}
	}
	t.overruled = len(t.signals)
	return true
}

// activeSignals are the signals that decide what the turn ends with.
func (t *Turn) activeSignals() []hook.StopSignal { return t.signals[t.overruled:] }

// canOverrule reports whether all of them may be overruled.
func (t *Turn) canOverrule() bool {
	for _, s := range t.activeSignals() {
		if !s.Reason.Soft() {
			return false
		}
	}
	return true
}

// completed are the signals of a turn that ends without one. Nobody changes it.
var completed = message.ListOf(hook.StopSignal{Reason: hook.StopCompleted})

// stopReasons returns why the turn ends and all signals, the overruled ones too.
func (t *Turn) stopReasons() (hook.StopReason, message.List[hook.StopSignal]) {
	if len(t.signals) == 0 {
		return hook.StopCompleted, completed
	}
	all, counting := message.Freeze(t.signals), t.activeSignals()
	if len(counting) == 0 {
		return hook.StopCompleted, all.Append(hook.StopSignal{Reason: hook.StopCompleted})
	}
	stop := counting[0].Reason
	for _, s := range counting {
		if s.Reason.Authority() < stop.Authority() {
			stop = s.Reason
		}
	}
	return stop, all
}

// askTurnError asks OnTurnError about a turn that has failed and was not cancelled. What
// it answers is the turn's last message, and is stored if the input was: an answer
// to nothing is no history. A turn whose conversation somebody else has got is
// beyond recovery.
func (t *Turn) askTurnError() {
	if !t.hooks.Has(point.OnTurnError) || t.leaseLost || t.ctx.Err() != nil || !t.hasFailed() {
		return
	}
	t.updatePlace()
	out := t.outcome()
	t.enterForeign(point.OnTurnError)
	d, _ := t.hooks.OnTurnError(t.ctx, t.place, out)
	d = exitForeignDecided(t.ctx, t, d)
	v := d.Verdict()
	if v.Kind != hook.AnswerRecover {
		return
	}
	t.emit(hook.Event{Kind: event.Diagnostic, Text: fmt.Sprintf("the turn failed, and %s answers: %s", cmp.Or(v.By, "a hook"), PublicText(out.Err))})
	t.overruled = len(t.signals)
	if t.final = t.showHookText(d.Output()); t.final.Len() > 0 && t.stored {
		t.history.add(t.assistantMessage(t.final))
	}
}

// showHookText shows what a hook says in the model's place, and returns it as content;
// empty if it says nothing, which is signalled.
func (t *Turn) showHookText(text string) message.List[message.Block] {
	content := message.ListOf(message.TextBlock(text))
	if history.Blank(content) {
		t.signal(hook.StopNoAction, "", "")
		return message.List[message.Block]{}
	}
	t.response.held = true
	t.showHeld(message.ModelReply{Content: content})
	return content
}
