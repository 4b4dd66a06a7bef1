package hook

// Answer is the kind of answer that a decision holds.
type Answer string

// The answers. Which of them a point allows follows from the constructors of its
// decision type: an illegal answer does not compile.
const (
	AnswerNone     Answer = ""         // no opinion
	AnswerApprove  Answer = "approve"  // go on
	AnswerModify   Answer = "modify"   // go on with other arguments
	AnswerNarrow   Answer = "narrow"   // go on with a smaller grant
	AnswerContext  Answer = "context"  // go on, and tell the model something
	AnswerRespond  Answer = "respond"  // this is the reply, do not ask the model
	AnswerAnswer   Answer = "answer"   // this is the result, do not run the tool
	AnswerRetry    Answer = "retry"    // ask the model again, with feedback
	AnswerAsk      Answer = "ask"      // a person has to approve
	AnswerRefuse   Answer = "refuse"   // approval refused
	AnswerWithhold Answer = "withhold" // the model does not get the result
	AnswerDeny     Answer = "deny"     // the call does not run
	AnswerReject   Answer = "reject"   // the step fails
	AnswerStop     Answer = "stop"     // the turn ends
)

// severity orders the answers of one point: the higher one wins, and from
// blocking on it ends a gate.
func (a Answer) severity() int {
	switch a {
	case AnswerNone:
		return 0
	case AnswerApprove, AnswerModify, AnswerNarrow, AnswerContext:
		return 1
	case AnswerRespond, AnswerAnswer, AnswerRetry:
		return 2
	case AnswerAsk, AnswerRefuse, AnswerWithhold:
		return 3
	case AnswerDeny, AnswerReject:
		return blocking
	}
	return blocking + 1
}

const blocking = 4

// Verdict is what every decision can tell.
type Verdict struct {
	// Kind is AnswerNone for no opinion.
	Kind Answer
	// Reason is what the hook said, for the model and the user.
	Reason string
	// By is the path of the hook that answered, "Core.Guard".
	By string
	// Failure is set if the answer is the fail policy's, because the hook failed.
	Failure *Failure
}

// answer is what a decision with an opinion points to. It holds the payloads of
// all points: it exists only for a hook that has something to say, and one type
// keeps the rules below in one place.
type answer struct {
	Verdict
	result  ToolResult
	grant   Grant
	reply   ModelReply
	args    JSON
	context []string
}

// decided is the core of every decision: one pointer, nil for no opinion, so
// that a silent hook costs no allocation.
type decided struct{ a *answer }

// Verdict returns kind, reason and owner of the answer.
func (d decided) Verdict() Verdict {
	if d.a == nil {
		return Verdict{}
	}
	return d.a.Verdict
}

// blocks reports whether a gate asks nobody further.
func (d decided) blocks() bool { return d.a != nil && d.a.Kind.severity() >= blocking }

// payload returns the answer, or an empty one.
func (d decided) payload() answer {
	if d.a == nil {
		return answer{}
	}
	return *d.a
}

// from returns a copy with owner in front of the path; the original may be
// shared.
func (d decided) from(owner string) decided {
	if d.a == nil {
		return d
	}
	a := *d.a
	a.By = under(owner, a.By)
	if a.Failure != nil {
		a.Failure = a.Failure.Under(owner)
	}
	return decided{&a}
}

// merge returns the more severe of both; among equals the later one if outward,
// else the earlier. Grants intersect and contexts add up either way.
func (d decided) merge(later decided, outward bool) decided {
	if d.a == nil {
		return later
	}
	if later.a == nil {
		return d
	}
	win := d
	if s, l := d.a.Kind.severity(), later.a.Kind.severity(); l > s || l == s && outward {
		win = later
	}
	a := *win.a
	a.grant = d.a.grant.Intersect(later.a.grant)
	a.context = append(d.a.context[:len(d.a.context):len(d.a.context)], later.a.context...)
	return decided{&a}
}

func say(kind Answer, reason string) decided {
	return decided{&answer{Verdict: Verdict{Kind: kind, Reason: reason}}}
}

func closed(kind Answer, f *Failure) decided {
	return decided{&answer{Verdict: Verdict{Kind: kind, Reason: f.Public(), By: f.Subsystem, Failure: f}}}
}

// ToolDecision is the answer of BeforeTool. The zero value is no opinion and
// costs nothing. Severity: stop, deny, ask, answer; grants intersect beside them.
type ToolDecision struct{ decided }

// StopTool ends the turn; the call does not run and its result is the reason.
func StopTool(reason string) ToolDecision { return ToolDecision{say(AnswerStop, reason)} }

// DenyTool refuses the call; the reason becomes its result. No other answer
// lifts it.
func DenyTool(reason string) ToolDecision { return ToolDecision{say(AnswerDeny, reason)} }

// AskTool lets the call run only if Approve says so.
func AskTool(reason string) ToolDecision { return ToolDecision{say(AnswerAsk, reason)} }

// AnswerTool gives the result in the tool's place; the tool does not run.
func AnswerTool(result ToolResult) ToolDecision {
	d := say(AnswerAnswer, "")
	d.a.result = result
	return ToolDecision{d}
}

// NarrowTool lets the call run with a smaller grant. Grants of several hooks are
// intersected.
func NarrowTool(g Grant) ToolDecision {
	d := say(AnswerNarrow, "")
	d.a.grant = g
	return ToolDecision{d}
}

// Result returns the result of AnswerTool.
func (d ToolDecision) Result() ToolResult { return d.payload().result }

// Grant returns the intersection of all grants that were narrowed.
func (d ToolDecision) Grant() Grant { return d.payload().grant }

// Final reports whether no later hook is asked.
func (d ToolDecision) Final() bool { return d.blocks() }

// From returns the decision with owner in front of the path of who answered.
func (d ToolDecision) From(owner string) ToolDecision { return ToolDecision{d.from(owner)} }

// Merge returns what d and a later hook's answer say together.
func (d ToolDecision) Merge(later ToolDecision) ToolDecision {
	return ToolDecision{d.merge(later.decided, false)}
}

// Closed returns the decision that stands in for a failed hook's: deny.
func (ToolDecision) Closed(f *Failure) ToolDecision { return ToolDecision{closed(AnswerDeny, f)} }

// ApprovalDecision is the answer of Approve. The zero value is no answer; if
// nobody answers, the call is refused.
type ApprovalDecision struct{ decided }

// ApproveCall lets the call run with exactly the arguments that were shown.
func ApproveCall() ApprovalDecision { return ApprovalDecision{say(AnswerApprove, "")} }

// RefuseCall denies the call; the reason becomes its result.
func RefuseCall(reason string) ApprovalDecision { return ApprovalDecision{say(AnswerRefuse, reason)} }

// ModifyCall approves the call with other arguments. They are bound, validated
// and decided about again before they run.
func ModifyCall(args JSON) ApprovalDecision {
	d := say(AnswerModify, "")
	d.a.args = args
	return ApprovalDecision{d}
}

// Args returns the arguments of ModifyCall.
func (d ApprovalDecision) Args() JSON { return d.payload().args }

// Final reports whether no later hook is asked: any answer ends it.
func (d ApprovalDecision) Final() bool { return d.a != nil }

// From returns the decision with owner in front of the path of who answered.
func (d ApprovalDecision) From(owner string) ApprovalDecision {
	return ApprovalDecision{d.from(owner)}
}

// Merge returns the earlier answer if there is one.
func (d ApprovalDecision) Merge(later ApprovalDecision) ApprovalDecision {
	if d.a == nil {
		return later
	}
	return d
}

// Closed returns the decision that stands in for a failed hook's: refuse.
func (ApprovalDecision) Closed(f *Failure) ApprovalDecision {
	return ApprovalDecision{closed(AnswerRefuse, f)}
}

// ModelDecision is the answer of BeforeModel. The zero value is no opinion.
// Severity: stop, reject, respond.
type ModelDecision struct{ decided }

// StopModel ends the turn before the model is asked.
func StopModel(reason string) ModelDecision { return ModelDecision{say(AnswerStop, reason)} }

// RejectModel fails the step; the turn ends with an error.
func RejectModel(reason string) ModelDecision { return ModelDecision{say(AnswerReject, reason)} }

// RespondModel gives the reply in the model's place.
func RespondModel(reply ModelReply) ModelDecision {
	d := say(AnswerRespond, "")
	d.a.reply = reply
	return ModelDecision{d}
}

// Reply returns the reply of RespondModel.
func (d ModelDecision) Reply() ModelReply { return d.payload().reply }

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

// OutcomeDecision is the answer of AfterTool. The zero value is no opinion.
// Severity: stop, withhold; context adds up beside them.
type OutcomeDecision struct{ decided }

// StopOutcome ends the turn after this step; the result stays.
func StopOutcome(reason string) OutcomeDecision { return OutcomeDecision{say(AnswerStop, reason)} }

// WithholdOutcome keeps the result from the model, which is told the reason
// instead. What the tool did is not undone.
func WithholdOutcome(reason string) OutcomeDecision {
	return OutcomeDecision{say(AnswerWithhold, reason)}
}

// ContextOutcome adds a labelled, ephemeral entry after the step's results.
func ContextOutcome(text string) OutcomeDecision {
	d := say(AnswerContext, "")
	d.a.context = []string{text}
	return OutcomeDecision{d}
}

// Context returns the texts of every ContextOutcome.
func (d OutcomeDecision) Context() List[string] { return Freeze(d.payload().context) }

// Final reports whether no later hook is asked: judges are all asked.
func (OutcomeDecision) Final() bool { return false }

// From returns the decision with owner in front of the path of who answered.
func (d OutcomeDecision) From(owner string) OutcomeDecision { return OutcomeDecision{d.from(owner)} }

// Merge returns the more severe answer, the later (outer) among equals, with the
// contexts of both.
func (d OutcomeDecision) Merge(later OutcomeDecision) OutcomeDecision {
	return OutcomeDecision{d.merge(later.decided, true)}
}

// Closed returns the decision that stands in for a failed hook's: withhold.
func (OutcomeDecision) Closed(f *Failure) OutcomeDecision {
	return OutcomeDecision{closed(AnswerWithhold, f)}
}
