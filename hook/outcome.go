package hook

import (
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// StopReason is why a turn ended.
type StopReason string

// Stop reasons, the most authoritative first. OnStop may overrule the soft ones: StopFinishReason
// and all after it. A constant is named Stop and its value.
const (
	StopError         StopReason = "error"
	StopStopRequested StopReason = "stop_requested" // a hook answered stop
	StopUserRequested StopReason = "user_requested"
	StopCancelled     StopReason = "cancelled"
	StopDenied        StopReason = "denied"
	StopStepsLimit    StopReason = "steps_limit"
	StopTokenLimit    StopReason = "token_limit"
	StopTimeLimit     StopReason = "time_limit"
	StopCostLimit     StopReason = "cost_limit"
	StopRetryLimit    StopReason = "retry_limit"
	StopMaxTokens     StopReason = "max_tokens" // the model's own limit cut the answer
	StopFinishReason  StopReason = "finish_reason"
	StopRefused       StopReason = "refused"   // the model refused, or the provider withheld the answer
	StopNoAction      StopReason = "no_action" // neither text nor a call
	StopCompleted     StopReason = "completed"
)

// stopReasons is the order of authority.
var stopReasons = [...]StopReason{
	StopError, StopStopRequested, StopUserRequested, StopCancelled, StopDenied,
	StopStepsLimit, StopTokenLimit, StopTimeLimit, StopCostLimit, StopRetryLimit,
	StopMaxTokens, StopFinishReason, StopRefused, StopNoAction, StopCompleted,
}

// Authority returns the rank of the reason: 0 is the most authoritative, and an
// unknown reason ranks after all others.
func (r StopReason) Authority() int {
	if i := slices.Index(stopReasons[:], r); i >= 0 {
		return i
	}
	return len(stopReasons)
}

// Soft reports whether the reason may be overruled by a continuation. An unknown reason may not.
func (r StopReason) Soft() bool {
	a := r.Authority()
	return a >= StopFinishReason.Authority() && a < len(stopReasons)
}

// StopSignal is one reason to stop; signals accumulate over a turn.
type StopSignal struct {
	Reason StopReason `json:"reason"`
	// By is the path of the hook that signalled, "" for the runtime itself.
	By string `json:"by,omitzero"`
	// Text is for people.
	Text string `json:"text,omitzero"`
	// Context has figures for programs: {"currentSteps":10,"maxSteps":10}.
	Context message.JSON `json:"context,omitzero"`
}

// TurnOutcome is how a turn ended.
type TurnOutcome struct {
	// Stop is the most authoritative of the Signals that neither OnStop nor OnTurnError
	// has overruled.
	Stop    StopReason
	Signals message.List[StopSignal]
	// Message is the final answer; without one it is the zero Message.
	Message message.Message
	Usage   message.Usage
	Steps   int
	// Calls is the number of tool calls.
	Calls    int
	Cost     Cost
	Duration time.Duration
	// Trust is the weakest label of what the turn's model was given: see [message.Message.Origin]. A turn without a model call has
	// the label of nothing, trusted.
	Trust message.Trust
	// Err is why the turn failed, was cancelled or was rejected; nil unless Stop is
	// StopError, StopCancelled, StopUserRequested or StopDenied.
	Err error
}

// Text returns the text of the final answer.
func (o TurnOutcome) Text() string { return o.Message.Text() }

// StepOutcome is how a step ended.
type StepOutcome struct {
	// Finish is why the model stopped; "" if it gave no reply.
	Finish message.FinishReason
	// Usage is that of the step's model calls.
	Usage message.Usage
	// Cost is that of the turn's own model calls since its last step ended, with those of hooks
	// and summaries; 0 if the runtime knows no prices.
	Cost Cost
	// Calls are how the step's tool calls ended, in call order.
	Calls    message.List[CallEnd]
	Duration time.Duration
	// Err is why the step failed, or nil.
	Err error
}

// Stopping is a turn that is about to end for soft reasons alone.
type Stopping struct {
	// Stop is the most authoritative of Signals; StopCompleted without any.
	Stop StopReason
	// Signals are those that OnStop has not overruled yet.
	Signals message.List[StopSignal]
	// Message is the final answer so far.
	Message message.Message
	// Continued is how often OnStop has continued the turn already.
	Continued int
}

// InvalidCall is a call that cannot be bound.
type InvalidCall struct {
	// Call is the call as the model made it. Of an unknown tool only the name is set.
	Call *ToolCall
	// Failure is FailNotRegistered, FailNotAvailable or FailArguments.
	Failure message.FailureKind
	// Reason is the text that the model gets if no hook answers.
	Reason string
	// Tools are the names that the agent may call.
	Tools message.List[string]
	// Attempt counts the repairs of the call, from 1.
	Attempt int
}

// Compaction is a compaction that is about to replace older messages by a summary.
type Compaction struct {
	// Messages are those that it would replace.
	Messages message.Messages
	Budget   TokenBudget
	// Auto says that nobody asked: the history grew too long.
	Auto bool
}

// CompactOptions configure a compaction; the zero value is the defaults.
type CompactOptions struct {
	// Keep is how many of the last turns stay as they are; 0 is 2, negative is none.
	Keep int
	// KeepBytes, if positive, replaces Keep: the last turns stay whose texts, arguments
	// and results have no more bytes together.
	KeepBytes int
	// Focus names what the summary must also preserve; "" is nothing.
	Focus string
	// Model writes the summary; "" is the agent's model.
	Model string
	// MaxSummary bounds the summary in bytes; 0 is 16,000. A longer one is an error.
	MaxSummary int
	// MaxRequest bounds the older turns in one request, in bytes; 0 is 400,000. A longer
	// past is summarised part by part, in several requests.
	MaxRequest int
}

// TokenBudget describes a model's context window, in tokens; counts may be estimates.
type TokenBudget struct {
	// Limit is the model's, 0 if unknown. Used is the size of the history, Reserved the
	// part kept free for the answer.
	Limit, Used, Reserved int64
}

// Compacted is what a compaction did.
type Compacted struct {
	// Removed is the number of messages that the summary replaced.
	Removed int
	Summary string
	// Before and After are the estimated tokens of the history.
	Before, After int64
}

// ToolOutcome is what AfterTool judges.
type ToolOutcome struct {
	// Result is the result as the history gets it, after every RewriteResult.
	Result  message.ToolResult
	Outcome message.Outcome
	// Duration is counted from the start of execution, not from queueing; zero
	// for a call that never started.
	Duration time.Duration
	// Grant is what the call was allowed to do.
	Grant Grant
}
