package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/history"
)

// maxContinued is how often OnStop may continue one turn.
const maxContinued = 8

// askStop asks OnStop about a turn that is about to end. It reports whether the turn gets
// another step: because OnStop continues it, or because a steer has arrived. Only soft reasons
// can be overruled. They stay among the signals, but later signals decide how the turn ends.
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
			"%s wants to continue the turn, but OnStop has continued it %d times, which is the limit", cmp.Or(v.By, "a hook"), maxContinued)})
		fallthrough
	default:
		if !t.addSteers(true) {
			return false
		}
	}
	t.overruled = len(t.signals)
	return true
}

// activeSignals are the signals that were not overruled.
func (t *Turn) activeSignals() []hook.StopSignal { return t.signals[t.overruled:] }

// canOverrule reports whether all active signals are soft.
func (t *Turn) canOverrule() bool {
	for _, s := range t.activeSignals() {
		if !s.Reason.Soft() {
			return false
		}
	}
	return true
}

// completed are the signals of a turn that ends without one. It never changes.
var completed = message.ListOf(hook.StopSignal{Reason: hook.StopCompleted})

// stopReasons returns why the turn ends, and all signals with the overruled ones.
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

// askTurnError asks OnTurnError about a turn that failed and was not cancelled. The answer
// becomes the last message of the turn. It is stored only if the input was. The hook is not
// asked if another process has continued the conversation.
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

// showHookText shows the text with which a hook answers instead of the model, and returns it
// as content. If the text is blank, it signals that and returns no content.
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

// signal adds a reason to stop.
func (t *Turn) signal(reason hook.StopReason, by, text string) {
	t.signals = append(t.signals, hook.StopSignal{Reason: reason, By: by, Text: text})
}

// signalStop adds the stop that a hook answered.
func (t *Turn) signalStop(v hook.Verdict) { t.signal(hook.StopStopRequested, v.By, v.Reason) }

// hasSignal reports whether there is a signal of that reason.
func (t *Turn) hasSignal(reason hook.StopReason) bool {
	return slices.ContainsFunc(t.signals, func(s hook.StopSignal) bool { return s.Reason == reason })
}

// hasStop reports whether a hook has answered stop.
func (t *Turn) hasStop() bool { return t.hasSignal(hook.StopStopRequested) }

// fail ends the turn with an error. If the turn was cancelled, that is the reason instead.
// It always returns false: callers return it to say that the turn does not continue.
func (t *Turn) fail(err error) bool {
	if t.ctx.Err() != nil {
		return t.signalCancelled()
	}
	t.errs = append(t.errs, err)
	t.signal(hook.StopError, "", PublicText(err))
	return false
}

// signalCancelled adds the reason for which the turn's context ended. It returns false, as
// fail does.
func (t *Turn) signalCancelled() bool {
	cause := context.Cause(t.ctx)
	reason := hook.StopCancelled
	switch {
	case errors.Is(cause, errTimeLimit):
		reason = hook.StopTimeLimit
	case errors.Is(cause, ErrStopped):
		reason = hook.StopUserRequested
	case errors.Is(cause, ErrLateGate), errors.Is(cause, ErrNotStored):
		reason = hook.StopError
	}
	if t.hasSignal(reason) {
		return false
	}
	if reason != hook.StopTimeLimit {
		t.errs = append(t.errs, cause)
	}
	t.signal(reason, "", t.timeLimitText(reason))
	if !errors.Is(cause, ErrLeaseLost) {
		t.journalEnd()
	}
	return false
}

// timeLimitText is the text of a signal that the time limit was reached; "" for other reasons.
func (t *Turn) timeLimitText(reason hook.StopReason) string {
	if limit := t.place.Limits().Time; reason == hook.StopTimeLimit && limit > 0 {
		return fmt.Sprintf("Execution time limit reached: %.2fs/%.2fs", t.place.Elapsed().Seconds(), limit.Seconds())
	}
	return ""
}

func joinErrors(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// PublicText returns the text of an error for clients. Of a hook's failure it names the place
// and leaves out the cause, which may quote secrets. For nil it is "the turn failed".
func PublicText(err error) string {
	var f *hook.Failure
	switch {
	case errors.As(err, &f):
		return f.Public()
	case err != nil:
		return err.Error()
	}
	return "the turn failed"
}
