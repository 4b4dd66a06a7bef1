package hook

import "time"

// StopReason is why a turn ended.
type StopReason string

// Stop reasons, the most authoritative first. Only the last three are soft.
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
	StopNoAction      StopReason = "no_action" // neither text nor a call
	StopCompleted     StopReason = "completed"
)

// stopReasons is the order of authority.
var stopReasons = [...]StopReason{
	StopError, StopStopRequested, StopUserRequested, StopCancelled, StopDenied,
	StopStepsLimit, StopTokenLimit, StopTimeLimit, StopCostLimit, StopRetryLimit,
	StopMaxTokens, StopFinishReason, StopNoAction, StopCompleted,
}

// Authority returns the rank of the reason: 0 is the most authoritative, and an
// unknown reason ranks after all others.
func (r StopReason) Authority() int {
	for i, s := range stopReasons {
		if s == r {
			return i
		}
	}
	return len(stopReasons)
}

// Soft reports whether the reason may be overruled by a continuation.
func (r StopReason) Soft() bool { return r.Authority() >= StopFinishReason.Authority() }

// StopSignal is one reason to stop; signals accumulate over a turn.
type StopSignal struct {
	Reason StopReason `json:"reason"`
	// By is the path of the hook that signalled, "" for the runtime itself.
	By string `json:"by,omitzero"`
	// Text is what to show.
	Text string `json:"text,omitzero"`
}

// TurnOutcome is how a turn ended.
type TurnOutcome struct {
	// Stop is the most authoritative of Signals.
	Stop    StopReason
	Signals List[StopSignal]
	// Message is the final answer; without one it is the zero Message.
	Message Message
	Usage   Usage
	Steps   int
	// Calls is the number of tool calls.
	Calls    int
	Duration time.Duration
	// Err is why the turn failed; nil unless Stop is StopError or StopCancelled.
	Err error
}

// Text returns the text of the final answer.
func (o TurnOutcome) Text() string { return o.Message.Text() }
