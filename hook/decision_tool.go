package hook

import "github.com/grapnel-go/grapnel/hook/message"

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
func AnswerTool(result message.ToolResult) ToolDecision {
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
func (d ToolDecision) Result() message.ToolResult { return d.payload().result }

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
func ModifyCall(args message.JSON) ApprovalDecision {
	d := say(AnswerModify, "")
	d.a.args = args
	return ApprovalDecision{d}
}

// Args returns the arguments of ModifyCall.
func (d ApprovalDecision) Args() message.JSON { return d.payload().args }

// Final reports whether no later hook is asked: any answer ends it.
func (d ApprovalDecision) Final() bool { return d.a != nil }

// From returns the decision with owner in front of the path of who answered.
func (d ApprovalDecision) From(owner string) ApprovalDecision {
	return ApprovalDecision{d.from(owner)}
}

// Merge returns the earlier answer if there is one.
func (d ApprovalDecision) Merge(later ApprovalDecision) ApprovalDecision {
	return ApprovalDecision{d.first(later.decided)}
}

// Closed returns the decision that stands in for a failed hook's: refuse.
func (ApprovalDecision) Closed(f *Failure) ApprovalDecision {
	return ApprovalDecision{closed(AnswerRefuse, f)}
}

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
func (d OutcomeDecision) Context() message.List[string] { return message.Freeze(d.payload().context) }

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

// RepairDecision is the answer of OnInvalidTool. The zero value is no answer; if
// nobody answers, the call's result is the error.
type RepairDecision struct{ decided }

// RepairArgs tries the call again with these arguments.
func RepairArgs(args message.JSON) RepairDecision {
	d := say(AnswerRepair, "")
	d.a.args = args
	return RepairDecision{d}
}

// RenameTool tries the call again as one of the tool with this public name.
func RenameTool(name string) RepairDecision { return RepairDecision{saying(AnswerRename, name)} }

// RetryInvalid drops the reply and asks the model again, with the feedback as an
// ephemeral entry. It counts as a retry of the reply.
func RetryInvalid(feedback string) RepairDecision { return RepairDecision{say(AnswerRetry, feedback)} }

// Args returns the arguments of RepairArgs.
func (d RepairDecision) Args() message.JSON { return d.payload().args }

// Name returns the name of RenameTool.
func (d RepairDecision) Name() string { return d.payload().text }

// Final reports whether no later hook is asked: any answer ends it.
func (d RepairDecision) Final() bool { return d.a != nil }

// From returns the decision with owner in front of the path of who answered.
func (d RepairDecision) From(owner string) RepairDecision { return RepairDecision{d.from(owner)} }

// Merge returns the earlier answer if there is one.
func (d RepairDecision) Merge(later RepairDecision) RepairDecision {
	return RepairDecision{d.first(later.decided)}
}

// Closed returns the decision that stands in for a failed hook's: no opinion.
func (RepairDecision) Closed(*Failure) RepairDecision { return RepairDecision{} }
