package hook

import "github.com/grapnel-go/grapnel/hook/message"

// SessionDecision is the answer of OnSessionStart. The zero value is no opinion.
// A reject ends it; contexts add up beside it.
type SessionDecision struct{ decided }

// RejectSession refuses the session: the turn that would have begun it ends with
// the reason.
func RejectSession(reason string) SessionDecision { return SessionDecision{say(AnswerReject, reason)} }

// ContextSession adds a labelled, ephemeral entry to the session's first turn.
func ContextSession(text string) SessionDecision {
	d := say(AnswerContext, "")
	d.a.context = []string{text}
	return SessionDecision{d}
}

// Context returns the texts of every ContextSession.
func (d SessionDecision) Context() message.List[string] { return message.Freeze(d.payload().context) }

// Final reports whether no later hook is asked.
func (d SessionDecision) Final() bool { return d.blocks() }

// From returns the decision with owner in front of the path of who answered.
func (d SessionDecision) From(owner string) SessionDecision { return SessionDecision{d.from(owner)} }

// Merge returns the more severe answer, the earlier among equals, with the
// contexts of both.
func (d SessionDecision) Merge(later SessionDecision) SessionDecision {
	return SessionDecision{d.merge(later.decided, false)}
}

// Closed returns the decision that stands in for a failed hook's: reject.
func (SessionDecision) Closed(f *Failure) SessionDecision {
	return SessionDecision{closed(AnswerReject, f)}
}

// TurnDecision is the answer of BeforeTurn. The zero value is no opinion.
// Severity: reject, respond.
type TurnDecision struct{ decided }

// RejectTurn ends the turn before its input becomes history, with the stop reason
// denied. What was said to a running turn is refused, and the turn goes on.
func RejectTurn(reason string) TurnDecision { return TurnDecision{say(AnswerReject, reason)} }

// RespondTurn answers the user in the model's place; input and answer are stored. An
// answer to what was said to a running turn is told to its sender and not stored.
func RespondTurn(text string) TurnDecision { return TurnDecision{saying(AnswerRespond, text)} }

// Text returns the answer of RespondTurn.
func (d TurnDecision) Text() string { return d.payload().text }

// Final reports whether no later hook is asked.
func (d TurnDecision) Final() bool { return d.blocks() }

// From returns the decision with owner in front of the path of who answered.
func (d TurnDecision) From(owner string) TurnDecision { return TurnDecision{d.from(owner)} }

// Merge returns the more severe answer, the earlier among equals.
func (d TurnDecision) Merge(later TurnDecision) TurnDecision {
	return TurnDecision{d.merge(later.decided, false)}
}

// Closed returns the decision that stands in for a failed hook's: reject.
func (TurnDecision) Closed(f *Failure) TurnDecision { return TurnDecision{closed(AnswerReject, f)} }

// StepDecision is the answer of BeforeStep and AfterStep. The zero value is no
// opinion.
type StepDecision struct{ decided }

// StopStep ends the turn, before the step or after it. The reason is one of the
// limits (StopStepsLimit to StopRetryLimit), StopDenied or StopFinishReason, which
// OnStop may overrule; any other is StopStopRequested. Text is what to show.
func StopStep(reason StopReason, text string) StepDecision {
	d := say(AnswerStop, text)
	switch a := reason.Authority(); {
	case reason == StopFinishReason, a >= StopDenied.Authority() && a <= StopRetryLimit.Authority():
		d.a.Stop = reason
	}
	return StepDecision{d}
}

// WithContext returns the decision with figures for programs, a JSON object such as
// {"currentSteps":10,"maxSteps":10}; they go with the stop signal.
func (d StepDecision) WithContext(figures message.JSON) StepDecision {
	if d.a == nil {
		return d
	}
	a := *d.a
	a.args = figures
	return StepDecision{decided{&a}}
}

// Context returns the figures of WithContext.
func (d StepDecision) Context() message.JSON { return d.payload().args }

// Final reports whether no later hook is asked; at AfterStep, which judges, all are
// asked all the same.
func (d StepDecision) Final() bool { return d.blocks() }

// From returns the decision with owner in front of the path of who answered.
func (d StepDecision) From(owner string) StepDecision { return StepDecision{d.from(owner)} }

// Merge returns the answer whose stop reason is more authoritative, the later
// (outer) among equals.
func (d StepDecision) Merge(later StepDecision) StepDecision {
	if later.a == nil || d.a != nil && d.a.Stop.Authority() < later.a.Stop.Authority() {
		return d
	}
	return later
}

// Closed returns the decision that stands in for a failed hook's: stop with the
// reason error.
func (StepDecision) Closed(f *Failure) StepDecision {
	d := closed(AnswerStop, f)
	d.a.Stop = StopError
	return StepDecision{d}
}

// StopDecision is the answer of OnStop. The zero value is no answer: the turn ends.
type StopDecision struct{ decided }

// ContinueTurn has the turn go on with another step, with the feedback as an
// ephemeral entry. The runtime caps it.
func ContinueTurn(feedback string) StopDecision { return StopDecision{say(AnswerContinue, feedback)} }

// Final reports whether no later hook is asked: any answer ends it.
func (d StopDecision) Final() bool { return d.a != nil }

// From returns the decision with owner in front of the path of who answered.
func (d StopDecision) From(owner string) StopDecision { return StopDecision{d.from(owner)} }

// Merge returns the earlier answer if there is one.
func (d StopDecision) Merge(later StopDecision) StopDecision {
	return StopDecision{d.first(later.decided)}
}

// Closed returns the decision that stands in for a failed hook's: no opinion.
func (StopDecision) Closed(*Failure) StopDecision { return StopDecision{} }

// RecoverDecision is the answer of OnTurnError. The zero value is no answer: the
// turn ends with the error.
type RecoverDecision struct{ decided }

// RecoverTurn ends the turn as completed, with this output as its final answer.
func RecoverTurn(output string) RecoverDecision {
	return RecoverDecision{saying(AnswerRecover, output)}
}

// Output returns the output of RecoverTurn.
func (d RecoverDecision) Output() string { return d.payload().text }

// Final reports whether no later hook is asked: any answer ends it.
func (d RecoverDecision) Final() bool { return d.a != nil }

// From returns the decision with owner in front of the path of who answered.
func (d RecoverDecision) From(owner string) RecoverDecision { return RecoverDecision{d.from(owner)} }

// Merge returns the earlier answer if there is one.
func (d RecoverDecision) Merge(later RecoverDecision) RecoverDecision {
	return RecoverDecision{d.first(later.decided)}
}

// Closed returns the decision that stands in for a failed hook's: no opinion.
func (RecoverDecision) Closed(*Failure) RecoverDecision { return RecoverDecision{} }
