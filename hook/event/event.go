// Package event has the constants of events: their kinds, the codes and visibilities of remarks, and how hook runs end; and the digest
// of a hook run's values. The type is [hook.Event].
package event

import (
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
)

// The kinds of event, in the order of a turn. Every …Start is followed by its …End, also
// when the turn fails. If the process died within a turn, the next TurnStart of the
// conversation ends all that was open: that of the resumed turn or of another.
const (
	TurnStart        hook.EventKind = "turn_start"         // Text: the input
	StepStart        hook.EventKind = "step_start"         // Step
	TextStart        hook.EventKind = "text_start"         //
	TextDelta        hook.EventKind = "text_delta"         // Text
	TextEnd          hook.EventKind = "text_end"           //
	ReasoningStart   hook.EventKind = "reasoning_start"    //
	ReasoningDelta   hook.EventKind = "reasoning_delta"    // Text
	ReasoningEnd     hook.EventKind = "reasoning_end"      //
	Usage            hook.EventKind = "usage"              // Detail.Usage and Detail.Cost of one model call
	CallsBegin       hook.EventKind = "calls_begin"        // Detail.Tools: the names, as early as known
	CallStart        hook.EventKind = "call_start"         // Detail: the call and its arguments, once bound
	ClientCall       hook.EventKind = "client_call"        // Detail: a call that the client runs and whose result it brings
	CallProgress     hook.EventKind = "call_progress"      // Text, Detail: the call
	ApprovalAsked    hook.EventKind = "approval_asked"     // Detail: the call; Text: the reason
	ApprovalTimedOut hook.EventKind = "approval_timed_out" // nobody answered; Detail: the call, Answer: what becomes of it; Text: after how long
	ApprovalGiven    hook.EventKind = "approval_given"     // Detail: the call, Answer; Text: the reason
	CallResult       hook.EventKind = "call_result"        // Detail: call, result, outcome, duration; in completion order
	CallsComplete    hook.EventKind = "calls_complete"     // Detail.Tools
	QuestionAsked    hook.EventKind = "question_asked"     // Detail.Inquiry
	QuestionGiven    hook.EventKind = "question_given"     // Detail: the Inquiry, its Response, By; Text: why there is none
	SubagentStart    hook.EventKind = "subagent_start"     // of a child turn, whose events follow; Text: its input; Detail: the call
	SubagentEnd      hook.EventKind = "subagent_end"       // Detail.Stop, Detail.Usage, Detail.Cost; Text: its final answer
	Steered          hook.EventKind = "steered"            // Text: the message to the running turn
	SteerRefused     hook.EventKind = "steer_refused"      // Text: why a message to the running turn does not reach the model, or a hook's answer to it
	TurnRetried      hook.EventKind = "turn_retried"       // clients drop what the step showed; Text: why
	Error            hook.EventKind = "error"              // Text: what went wrong
	StepEnd          hook.EventKind = "step_end"           // Step
	TurnEnd          hook.EventKind = "turn_end"           // Detail.Stop, Detail.Usage, Detail.Cost; Text: the final answer
)

// Kinds of event that belong to no place in a turn.
const (
	AgentRegistered   hook.EventKind = "agent_registered"   //
	AgentUpdated      hook.EventKind = "agent_updated"      // it has another configuration: later turns get it
	AgentUnregistered hook.EventKind = "agent_unregistered" //
	PlanUpdated       hook.EventKind = "plan_updated"       // Text: the plan or task list as Markdown
	SkillLoaded       hook.EventKind = "skill_loaded"       // Text: the name
	ServerConnected   hook.EventKind = "server_connected"   // Text: the name of the MCP server
	ServerLost        hook.EventKind = "server_lost"        // Text: the name and the cause
	CompactionAuto    hook.EventKind = "compaction_auto"    // Text: why older messages are summed up now
	Compacted         hook.EventKind = "compacted"          // Text: the summary that replaced older messages
	HookFailed        hook.EventKind = "hook_failed"        // Detail.Subsystem, Detail.Point; the cause is not in it
	HookRun           hook.EventKind = "hook_run"           // Event.Run; only where hook runs are recorded
	Diagnostic        hook.EventKind = "diagnostic"         // Text, safe to show; Detail.Code and Visibility where it has them
)

// The ways in which a hook run ends.
const (
	RunSucceeded   hook.RunStatus = "succeeded"   // it has answered, or had nothing to say
	RunDenied      hook.RunStatus = "denied"      // its answer denies: see Answer.Denies
	RunFailed      hook.RunStatus = "failed"      // it returned an error
	RunPanicked    hook.RunStatus = "panicked"    // it panicked
	RunTimedOut    hook.RunStatus = "timed_out"   // it took longer than its field allows
	RunInterrupted hook.RunStatus = "interrupted" // it returned an error because the turn was cancelled
	RunSkipped     hook.RunStatus = "skipped"     // it was not called: By had ended the point
	RunRunning     hook.RunStatus = "running"     // it has begun and not ended; only records have it, events do not
	RunQueued      hook.RunStatus = "queued"      // a job calls it later; Attempt counts the tries
)

// The visibilities, each seen by more people than the one before. What is internal
// never leaves the program but through a hook, such as an operator's log.
const (
	VisibleInternal hook.Visibility = "internal"
	VisibleDebug    hook.Visibility = "debug"
	VisibleAudit    hook.Visibility = "audit"
	VisibleUser     hook.Visibility = "user"
)

// ParseVisibility returns the visibility of that name; the error lists all names.
func ParseVisibility(name string) (hook.Visibility, error) {
	switch v := hook.Visibility(name); v {
	case VisibleInternal, VisibleDebug, VisibleAudit, VisibleUser:
		return v, nil
	}
	return "", fmt.Errorf("visibility is user, audit, debug or internal, not %.20q", name)
}

// The codes of what the runtime says about contributions. Its texts name who
// contributed, and domains and ids, but no values.
const (
	CodePolicyConflict   hook.DiagnosticCode = "policy.merge.conflict"            // two of equal weight differ: the first holds
	CodeContextDuplicate hook.DiagnosticCode = "prompt_context.duplicate_id"      // two blocks with one domain and id: the heavier stays
	CodeContextTruncated hook.DiagnosticCode = "prompt_context.truncated"         // a block was cut
	CodeContextOmitted   hook.DiagnosticCode = "prompt_context.entry_omitted"     // a block was left out, because the budget was used up
	CodeSectionDuplicate hook.DiagnosticCode = "prompt_section.duplicate_id"      // two sections with one id: the heavier stays
	CodeSectionTruncated hook.DiagnosticCode = "prompt_section.truncated"         // a section was cut
	CodeSectionOmitted   hook.DiagnosticCode = "prompt_section.omitted"           // a section was left out
	CodeToolsDuplicate   hook.DiagnosticCode = "tool_bundle.duplicate_bundle_id"  // two bundles with one id: the heavier counts
	CodeToolConflict     hook.DiagnosticCode = "tool_bundle.conflict"             // a tool was not added: the agent has one of that name
	CodeToolScope        hook.DiagnosticCode = "tool_bundle.out_of_scope"         // a tool was not added: the agent may not use it
	CodeToolOwner        hook.DiagnosticCode = "tool_bundle.owner"                // a tool was not added: its owner does not bind its calls
	CodeToolInvalid      hook.DiagnosticCode = "tool_bundle.invalid"              // a tool was not added: its name or schema is invalid
	CodeToolReserved     hook.DiagnosticCode = "tool_bundle.reserved_name"        // a tool was not added: its name is reserved
	CodeToolHidden       hook.DiagnosticCode = "tool_bundle.hidden"               // a tool was not added: another bundle hides it
	CodeToolPattern      hook.DiagnosticCode = "tool_scope.unmatched_pattern"     // a pattern in an agent's list of tools matches none at its registration
	CodeToolUnknown      hook.DiagnosticCode = "tool_bundle.unknown"              // a tool to hide that the agent does not have
	CodeDiagnosticsLost  hook.DiagnosticCode = "contribution.diagnostics_omitted" // there were more diagnostics than are emitted
)

// The codes of the runtime's diagnostics about work that ignores the end of its context, and
// about work that cannot wait for a later process.
const (
	CodeTurnAbandoned       hook.DiagnosticCode = "turn.abandoned"        // a turn was ended without a hook, tool or model that hangs
	CodeAgentAbandoned      hook.DiagnosticCode = "agent.abandoned"       // an agent was unregistered while turns of it still run
	CodeBackgroundAbandoned hook.DiagnosticCode = "background.abandoned"  // background runs did not end in time
	CodeBackgroundNotQueued hook.DiagnosticCode = "background.not_queued" // a member tagged background runs at once, because no job could be stored
)

// CodeAgentHalted: a hook has failed fatally, and its agent begins no more turns. Its visibility is user.
const CodeAgentHalted hook.DiagnosticCode = "agent.halted"

// CodeJobMismatch: a job was queued under a version of its handler, or of the contract, that this
// process does not take. The job stays queued for a process that does.
const CodeJobMismatch hook.DiagnosticCode = "hook.recovery_contract_mismatch"

// The codes of the runtime's diagnostics about repairs. Their visibility is user.
const (
	CodeCallRepaired    hook.DiagnosticCode = "call.repaired"    // OnInvalidTool changed a call that could not be bound
	CodeCallMasked      hook.DiagnosticCode = "call.masked"      // an interrupted call is not run again, because a secret was masked in its stored arguments
	CodeHistoryRepaired hook.DiagnosticCode = "history.repaired" // a stored history broke a rule of providers and was repaired when it was loaded
)
