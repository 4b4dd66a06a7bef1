package hook

import (
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Answer is the kind of answer that a decision holds.
type Answer string

// The answers. A constant is named Answer and its value. The constructors of a decision type are the answers that its point allows: any
// other does not compile.
const (
	AnswerNone     Answer = ""         // no opinion
	AnswerApprove  Answer = "approve"  // go on
	AnswerModify   Answer = "modify"   // go on with other arguments
	AnswerNarrow   Answer = "narrow"   // go on with a smaller grant
	AnswerContext  Answer = "context"  // go on, with an entry for the model
	AnswerHint     Answer = "hint"     // go on, and keep this in the summary
	AnswerContinue Answer = "continue" // do not end yet, with feedback
	AnswerRepair   Answer = "repair"   // try with these arguments
	AnswerRename   Answer = "rename"   // try the tool of this name
	AnswerFallback Answer = "fallback" // ask this model
	AnswerRecover  Answer = "recover"  // end with this output in the error's place
	AnswerSupply   Answer = "supply"   // this is the summary, do not ask the model
	AnswerRespond  Answer = "respond"  // this is the reply, do not ask the model
	AnswerAnswer   Answer = "answer"   // this is the result, do not run the tool
	AnswerRetry    Answer = "retry"    // ask the model again, with feedback
	AnswerAsk      Answer = "ask"      // a person has to approve
	AnswerRefuse   Answer = "refuse"   // approval refused
	AnswerWithhold Answer = "withhold" // the model does not get the result
	AnswerDeny     Answer = "deny"     // the call does not run
	AnswerSkip     Answer = "skip"     // no compaction
	AnswerReject   Answer = "reject"   // the session or the turn does not begin, the step fails
	AnswerStop     Answer = "stop"     // the turn ends
)

// severity orders the answers of one point: the higher one wins, and from blocking on it ends a gate.
func (a Answer) severity() int {
	switch a {
	case AnswerNone:
		return 0
	case AnswerApprove, AnswerModify, AnswerNarrow, AnswerContext, AnswerHint:
		return 1
	case AnswerRespond, AnswerAnswer, AnswerRetry, AnswerSupply, AnswerContinue,
		AnswerRepair, AnswerRename, AnswerFallback, AnswerRecover:
		return 2
	case AnswerAsk, AnswerRefuse, AnswerWithhold:
		return 3
	case AnswerDeny, AnswerReject, AnswerSkip:
		return blocking
	}
	return blocking + 1
}

const blocking = 4

// Denies reports whether the answer is deny, refuse, reject, withhold, skip or stop.
func (a Answer) Denies() bool {
	return a.severity() >= blocking || a == AnswerRefuse || a == AnswerWithhold
}

// Outweighs reports whether the answer is more severe than another one of the same point.
func (a Answer) Outweighs(other Answer) bool { return a.severity() > other.severity() }

// Verdict is the part of a decision that all points have in common.
type Verdict struct {
	// Kind is AnswerNone for no opinion.
	Kind Answer
	// Reason is the hook's explanation, for the model and the user.
	Reason string
	// Stop is the turn's stop reason with AnswerStop; "" with all others.
	Stop StopReason
	// By is the path of the hook that answered, "Core.Guard".
	By string
	// Err is that of ReplyDecision.WithError; nil is none.
	Err error
	// Failure is set if the hook failed and its fail policy answered for it.
	Failure *Failure
}

// Ruling is the core of every decision: an answer with its author. The zero Ruling is no opinion and costs no allocation. A Ruling
// never changes; it may be shared.
type Ruling struct{ a *answer }

// answer holds the payloads of all points.
type answer struct {
	Verdict
	result  message.ToolResult
	grant   Grant
	reply   message.ModelReply
	args    message.JSON
	context []string
	// text is a name, a model or an output.
	text  string
	after time.Duration
}

// Verdict returns kind, reason and author of the answer.
func (r Ruling) Verdict() Verdict {
	if r.a == nil {
		return Verdict{}
	}
	return r.a.Verdict
}

// Blocks reports whether the answer ends a gate: it denies, skips, rejects or stops.
func (r Ruling) Blocks() bool { return r.a != nil && r.a.Kind.severity() >= blocking }

// Under returns the ruling with owner in front of the author's path, in its failure too.
func (r Ruling) Under(owner string) Ruling {
	if r.a == nil {
		return r
	}
	a := *r.a
	a.By = under(owner, a.By)
	if a.Failure != nil {
		a.Failure = a.Failure.Under(owner)
	}
	return Ruling{&a}
}

// Merge returns the more severe answer; of two stops the one whose stop reason has more authority. Among equals the earlier one
// wins. With outward the later one wins: at points where inner hooks judge first. Grants intersect, contexts add up and so do the reasons of
// asks, either way.
func (r Ruling) Merge(later Ruling, outward bool) Ruling {
	switch {
	case r.a == nil:
		return later
	case later.a == nil:
		return r
	}
	a := *r.a
	if later.a.outweighs(r.a, outward) {
		a = *later.a
	}
	if r.a.Kind == AnswerAsk && later.a.Kind == AnswerAsk && later.a.Reason != "" && later.a.Reason != r.a.Reason { // a person reads why each of them asks
		a.Reason = strings.TrimPrefix(r.a.Reason+"; "+later.a.Reason, "; ")
	}
	a.grant = r.a.grant.Intersect(later.a.grant)
	a.context = append(r.a.context[:len(r.a.context):len(r.a.context)], later.a.context...)
	return Ruling{&a}
}

func (a *answer) outweighs(earlier *answer, outward bool) bool {
	if a.Kind.severity() != earlier.Kind.severity() {
		return a.Kind.Outweighs(earlier.Kind)
	}
	if mine, other := a.Stop.Authority(), earlier.Stop.Authority(); mine != other {
		return mine < other
	}
	return outward
}

func (r Ruling) payload() answer {
	if r.a == nil {
		return answer{}
	}
	return *r.a
}

func rule(kind Answer, reason string) Ruling {
	v := Verdict{Kind: kind, Reason: reason}
	if kind == AnswerStop {
		v.Stop = StopStopRequested
	}
	return Ruling{&answer{Verdict: v}}
}

// ruleText returns an answer about a name, a model or an output.
func ruleText(kind Answer, text string) Ruling {
	r := rule(kind, "")
	r.a.text = text
	return r
}

// adding is an answer with a text that adds up with those of other hooks.
func adding(kind Answer, text string) Ruling {
	r := rule(kind, "")
	r.a.context = []string{text}
	return r
}

// replying is an answer with a reply in the model's place.
func replying(kind Answer, reply message.ModelReply) Ruling {
	r := rule(kind, "")
	r.a.reply = reply
	return r
}

// SessionDecision is the answer of OnSessionStart. The zero value is no opinion.
// The first reject wins; contexts add up.
type SessionDecision struct{ Ruling }

// RejectSession refuses the session: its first turn ends with the reason.
func RejectSession(reason string) SessionDecision { return SessionDecision{rule(AnswerReject, reason)} }

// ContextSession adds a labelled, ephemeral entry to the session's first turn.
func ContextSession(text string) SessionDecision {
	return SessionDecision{adding(AnswerContext, text)}
}

// Context returns the texts of every ContextSession.
func (d SessionDecision) Context() message.List[string] { return message.Freeze(d.payload().context) }

// TurnDecision is the answer of BeforeTurn. The zero value is no opinion.
// Severity: reject, respond.
type TurnDecision struct{ Ruling }

// RejectTurn ends the turn before its input becomes history, with the stop reason
// denied. A message to a running turn is refused, and the turn continues.
func RejectTurn(reason string) TurnDecision { return TurnDecision{rule(AnswerReject, reason)} }

// RespondTurn answers the user in the model's place; input and answer are stored. The
// answer to a message to a running turn goes to its sender and is not stored.
func RespondTurn(text string) TurnDecision { return TurnDecision{ruleText(AnswerRespond, text)} }

// Text returns the answer of RespondTurn.
func (d TurnDecision) Text() string { return d.payload().text }

// StepDecision is the answer of BeforeStep and AfterStep. The zero value is no
// opinion.
type StepDecision struct{ Ruling }

// StopStep ends the turn, before the step or after it. The reason is StopDenied, one of the
// limits (StopStepsLimit to StopRetryLimit) or StopFinishReason; any other becomes
// StopStopRequested. OnStop may overrule only StopFinishReason. text is for people.
func StopStep(reason StopReason, text string) StepDecision {
	d := rule(AnswerStop, text)
	if a := reason.Authority(); reason == StopFinishReason || a >= StopDenied.Authority() && a <= StopRetryLimit.Authority() {
		d.a.Stop = reason
	}
	return StepDecision{d}
}

// WithContext returns the decision with figures for programs, a JSON object such as
// {"currentSteps":10,"maxSteps":10}. They become [StopSignal].Context.
func (d StepDecision) WithContext(figures message.JSON) StepDecision {
	if d.a == nil {
		return d
	}
	a := *d.a
	a.args = figures
	return StepDecision{Ruling{&a}}
}

// Context returns the figures of WithContext.
func (d StepDecision) Context() message.JSON { return d.payload().args }

// StopDecision is the answer of OnStop. The zero value is no answer: the turn ends.
type StopDecision struct{ Ruling }

// ContinueTurn continues the turn with another step, with the feedback as an
// ephemeral entry. The runtime limits how often.
func ContinueTurn(feedback string) StopDecision { return StopDecision{rule(AnswerContinue, feedback)} }

// RecoverDecision is the answer of OnTurnError. The zero value is no answer: the
// turn ends with the error.
type RecoverDecision struct{ Ruling }

// RecoverTurn ends the turn as completed, with this output as its final answer.
func RecoverTurn(output string) RecoverDecision {
	return RecoverDecision{ruleText(AnswerRecover, output)}
}

// Output returns the output of RecoverTurn.
func (d RecoverDecision) Output() string { return d.payload().text }

// ModelDecision is the answer of BeforeModel. The zero value is no opinion.
// Severity: stop, reject, respond.
type ModelDecision struct{ Ruling }

// StopModel ends the turn before the model is asked.
func StopModel(reason string) ModelDecision { return ModelDecision{rule(AnswerStop, reason)} }

// RejectModel fails the step; the turn ends with an error.
func RejectModel(reason string) ModelDecision { return ModelDecision{rule(AnswerReject, reason)} }

// RespondModel gives the reply in the model's place.
func RespondModel(reply message.ModelReply) ModelDecision {
	return ModelDecision{replying(AnswerRespond, reply)}
}

// Reply returns the reply of RespondModel.
func (d ModelDecision) Reply() message.ModelReply { return d.payload().reply }

// ReplyDecision is the answer of AfterModel. The zero value is no opinion.
// Severity: stop, reject, retry.
type ReplyDecision struct{ Ruling }

// StopReply ends the turn with the reply so far.
func StopReply(reason string) ReplyDecision { return ReplyDecision{rule(AnswerStop, reason)} }

// RejectReply fails the step; the turn ends with an error.
func RejectReply(reason string) ReplyDecision { return ReplyDecision{rule(AnswerReject, reason)} }

// WithError returns the rejection with an error that callers of the turn find with errors.As.
func (d ReplyDecision) WithError(err error) ReplyDecision {
	d.a.Err = err
	return d
}

// RetryReply drops the reply and asks the model again, with the feedback as an
// ephemeral entry. The runtime limits how often; beyond the limit the step fails.
func RetryReply(feedback string) ReplyDecision { return ReplyDecision{rule(AnswerRetry, feedback)} }

// FailureDecision is the answer of OnModelError. The zero value is no answer; if
// no hook answers, the turn ends with the error.
type FailureDecision struct{ Ruling }

// RetryFailure asks the same model again after that time; zero or less is at once.
// The runtime waits at least as long as the provider asked for.
func RetryFailure(after time.Duration) FailureDecision {
	d := rule(AnswerRetry, "")
	d.a.after = max(after, 0)
	return FailureDecision{d}
}

// FallbackFailure asks the model with this id instead, for the rest of the step.
func FallbackFailure(model string) FailureDecision {
	return FailureDecision{ruleText(AnswerFallback, model)}
}

// RespondFailure gives the reply in the model's place.
func RespondFailure(reply message.ModelReply) FailureDecision {
	return FailureDecision{replying(AnswerRespond, reply)}
}

// After returns how long RetryFailure waits.
func (d FailureDecision) After() time.Duration { return d.payload().after }

// Model returns the model of FallbackFailure.
func (d FailureDecision) Model() string { return d.payload().text }

// Reply returns the reply of RespondFailure.
func (d FailureDecision) Reply() message.ModelReply { return d.payload().reply }

// CompactionDecision is the answer of BeforeCompaction. The zero value is no
// opinion. Severity: skip, supply; hints add up.
type CompactionDecision struct{ Ruling }

// SkipCompaction leaves the history as it is.
func SkipCompaction(reason string) CompactionDecision {
	return CompactionDecision{rule(AnswerSkip, reason)}
}

// HintCompaction tells the model what the summary has to keep.
func HintCompaction(text string) CompactionDecision {
	return CompactionDecision{adding(AnswerHint, text)}
}

// SupplyCompaction gives the summary; the model is not asked for one.
func SupplyCompaction(summary string) CompactionDecision {
	return CompactionDecision{ruleText(AnswerSupply, summary)}
}

// Hints returns the texts of every HintCompaction.
func (d CompactionDecision) Hints() message.List[string] { return message.Freeze(d.payload().context) }

// Summary returns the summary of SupplyCompaction.
func (d CompactionDecision) Summary() string { return d.payload().text }

// ToolDecision is the answer of BeforeTool. The zero value is no opinion and
// allocates nothing. Severity: stop, deny, ask, answer; grants intersect.
type ToolDecision struct{ Ruling }

// StopTool ends the turn; the call does not run and its result is the reason.
func StopTool(reason string) ToolDecision { return ToolDecision{rule(AnswerStop, reason)} }

// DenyTool refuses the call; the reason becomes its result. No other answer
// lifts it.
func DenyTool(reason string) ToolDecision { return ToolDecision{rule(AnswerDeny, reason)} }

// AskTool lets the call run only if Approve says so.
func AskTool(reason string) ToolDecision { return ToolDecision{rule(AnswerAsk, reason)} }

// AnswerTool gives the result in the tool's place; the tool does not run.
func AnswerTool(result message.ToolResult) ToolDecision {
	d := rule(AnswerAnswer, "")
	d.a.result = result
	return ToolDecision{d}
}

// NarrowTool lets the call run with a smaller grant. Grants of several hooks are
// intersected.
func NarrowTool(g Grant) ToolDecision {
	d := rule(AnswerNarrow, "")
	d.a.grant = g
	return ToolDecision{d}
}

// Result returns the result of AnswerTool.
func (d ToolDecision) Result() message.ToolResult { return d.payload().result }

// Grant returns the intersection of the grants of every NarrowTool.
func (d ToolDecision) Grant() Grant { return d.payload().grant }

// ApprovalDecision is the answer of Approve. The zero value is no answer; if
// no hook answers, the call is refused.
type ApprovalDecision struct{ Ruling }

// ApproveCall lets the call run with exactly the arguments that were shown.
func ApproveCall() ApprovalDecision { return ApprovalDecision{rule(AnswerApprove, "")} }

// RefuseCall denies the call; the reason becomes its result.
func RefuseCall(reason string) ApprovalDecision { return ApprovalDecision{rule(AnswerRefuse, reason)} }

// ModifyCall approves the call with other arguments. They are bound, validated
// and decided about again before they run.
func ModifyCall(args message.JSON) ApprovalDecision {
	d := rule(AnswerModify, "")
	d.a.args = args
	return ApprovalDecision{d}
}

// Args returns the arguments of ModifyCall.
func (d ApprovalDecision) Args() message.JSON { return d.payload().args }

// OutcomeDecision is the answer of AfterTool. The zero value is no opinion.
// Severity: stop, withhold; contexts add up.
type OutcomeDecision struct{ Ruling }

// StopOutcome ends the turn after this step; the result stays.
func StopOutcome(reason string) OutcomeDecision { return OutcomeDecision{rule(AnswerStop, reason)} }

// WithholdOutcome keeps the result from the model, which gets the reason instead.
// The tool's effects are not undone.
func WithholdOutcome(reason string) OutcomeDecision {
	return OutcomeDecision{rule(AnswerWithhold, reason)}
}

// ContextOutcome adds a labelled, ephemeral entry after the step's results.
func ContextOutcome(text string) OutcomeDecision {
	return OutcomeDecision{adding(AnswerContext, text)}
}

// Context returns the texts of every ContextOutcome.
func (d OutcomeDecision) Context() message.List[string] { return message.Freeze(d.payload().context) }

// RepairDecision is the answer of OnInvalidTool. The zero value is no answer; if
// no hook answers, the call's result is the error.
type RepairDecision struct{ Ruling }

// RepairArgs tries the call again with these arguments.
func RepairArgs(args message.JSON) RepairDecision {
	d := rule(AnswerRepair, "")
	d.a.args = args
	return RepairDecision{d}
}

// RenameTool tries the call again as one of the tool with this public name.
func RenameTool(name string) RepairDecision { return RepairDecision{ruleText(AnswerRename, name)} }

// RetryInvalid drops the reply and asks the model again, with the feedback as an
// ephemeral entry. It counts as a retry of the reply.
func RetryInvalid(feedback string) RepairDecision { return RepairDecision{rule(AnswerRetry, feedback)} }

// Args returns the arguments of RepairArgs.
func (d RepairDecision) Args() message.JSON { return d.payload().args }

// Name returns the name of RenameTool.
func (d RepairDecision) Name() string { return d.payload().text }
