package hook

import (
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// ModelDecision is the answer of BeforeModel. The zero value is no opinion.
// Severity: stop, reject, respond.
type ModelDecision struct{ decided }

// StopModel ends the turn before the model is asked.
func StopModel(reason string) ModelDecision { return ModelDecision{say(AnswerStop, reason)} }

// RejectModel fails the step; the turn ends with an error.
func RejectModel(reason string) ModelDecision { return ModelDecision{say(AnswerReject, reason)} }

// RespondModel gives the reply in the model's place.
func RespondModel(reply message.ModelReply) ModelDecision {
	d := say(AnswerRespond, "")
	d.a.reply = reply
	return ModelDecision{d}
}

// Reply returns the reply of RespondModel.
func (d ModelDecision) Reply() message.ModelReply { return d.payload().reply }

// Final reports whether no later hook is asked.
func (d ModelDecision) Final() bool { return d.blocks() }

// From returns the decision with owner in front of the path of who answered.
func (d ModelDecision) From(owner string) ModelDecision { return ModelDecision{d.from(owner)} }

// Merge returns the more severe answer, the earlier among equals.
func (d ModelDecision) Merge(later ModelDecision) ModelDecision {
	return ModelDecision{d.merge(later.decided, false)}
}

// Closed returns the decision that stands in for a failed hook's: the step fails.
func (ModelDecision) Closed(f *Failure) ModelDecision { return ModelDecision{closed(AnswerReject, f)} }

// ReplyDecision is the answer of AfterModel. The zero value is no opinion.
// Severity: stop, reject, retry.
type ReplyDecision struct{ decided }

// StopReply ends the turn with the reply so far.
func StopReply(reason string) ReplyDecision { return ReplyDecision{say(AnswerStop, reason)} }

// RejectReply fails the step; the turn ends with an error.
func RejectReply(reason string) ReplyDecision { return ReplyDecision{say(AnswerReject, reason)} }

// RetryReply drops the reply and asks the model again, with the feedback as an
// ephemeral entry. The runtime caps it; past the cap the step fails.
func RetryReply(feedback string) ReplyDecision { return ReplyDecision{say(AnswerRetry, feedback)} }

// Final reports whether no later hook is asked: judges are all asked.
func (ReplyDecision) Final() bool { return false }

// From returns the decision with owner in front of the path of who answered.
func (d ReplyDecision) From(owner string) ReplyDecision { return ReplyDecision{d.from(owner)} }

// Merge returns the more severe answer, the later (outer) among equals.
func (d ReplyDecision) Merge(later ReplyDecision) ReplyDecision {
	return ReplyDecision{d.merge(later.decided, true)}
}

// Closed returns the decision that stands in for a failed hook's: the step fails.
func (ReplyDecision) Closed(f *Failure) ReplyDecision { return ReplyDecision{closed(AnswerReject, f)} }

// FailureDecision is the answer of OnModelError. The zero value is no answer; if
// nobody answers, the turn ends with the error.
type FailureDecision struct{ decided }

// RetryFailure asks the same model again after a while; zero or less is at once.
// What the provider asked to wait is a minimum.
func RetryFailure(after time.Duration) FailureDecision {
	d := say(AnswerRetry, "")
	d.a.after = max(after, 0)
	return FailureDecision{d}
}

// FallbackFailure asks the model with this id instead, for the rest of the step.
func FallbackFailure(model string) FailureDecision {
	return FailureDecision{saying(AnswerFallback, model)}
}

// RespondFailure gives the reply in the model's place.
func RespondFailure(reply message.ModelReply) FailureDecision {
	d := say(AnswerRespond, "")
	d.a.reply = reply
	return FailureDecision{d}
}

// After returns how long RetryFailure waits.
func (d FailureDecision) After() time.Duration { return d.payload().after }

// Model returns the model of FallbackFailure.
func (d FailureDecision) Model() string { return d.payload().text }

// Reply returns the reply of RespondFailure.
func (d FailureDecision) Reply() message.ModelReply { return d.payload().reply }

// Final reports whether no later hook is asked: any answer ends it.
func (d FailureDecision) Final() bool { return d.a != nil }

// From returns the decision with owner in front of the path of who answered.
func (d FailureDecision) From(owner string) FailureDecision { return FailureDecision{d.from(owner)} }

// Merge returns the earlier answer if there is one.
func (d FailureDecision) Merge(later FailureDecision) FailureDecision {
	return FailureDecision{d.first(later.decided)}
}

// Closed returns the decision that stands in for a failed hook's: no opinion.
func (FailureDecision) Closed(*Failure) FailureDecision { return FailureDecision{} }

// CompactionDecision is the answer of BeforeCompaction. The zero value is no
// opinion. Severity: skip, supply; hints add up beside them.
type CompactionDecision struct{ decided }

// SkipCompaction leaves the history as it is.
func SkipCompaction(reason string) CompactionDecision {
	return CompactionDecision{say(AnswerSkip, reason)}
}

// HintCompaction tells whoever writes the summary what it has to keep.
func HintCompaction(text string) CompactionDecision {
	d := say(AnswerHint, "")
	d.a.context = []string{text}
	return CompactionDecision{d}
}

// SupplyCompaction gives the summary; the model is not asked for one.
func SupplyCompaction(summary string) CompactionDecision {
	return CompactionDecision{saying(AnswerSupply, summary)}
}

// Hints returns the texts of every HintCompaction.
func (d CompactionDecision) Hints() message.List[string] { return message.Freeze(d.payload().context) }

// Summary returns the summary of SupplyCompaction.
func (d CompactionDecision) Summary() string { return d.payload().text }

// Final reports whether no later hook is asked.
func (d CompactionDecision) Final() bool { return d.blocks() }

// From returns the decision with owner in front of the path of who answered.
func (d CompactionDecision) From(owner string) CompactionDecision {
	return CompactionDecision{d.from(owner)}
}

// Merge returns the more severe answer, the earlier among equals, with the hints
// of both.
func (d CompactionDecision) Merge(later CompactionDecision) CompactionDecision {
	return CompactionDecision{d.merge(later.decided, false)}
}

// Closed returns the decision that stands in for a failed hook's: no opinion.
func (CompactionDecision) Closed(*Failure) CompactionDecision { return CompactionDecision{} }
