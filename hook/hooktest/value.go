package hooktest

import (
	"errors"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// The functions below return the arguments of points that are no places. Every field is
// set, so that a hook finds a value in each; a test changes those that it is about.

// Request returns a request to a model: a history of one message, and a tool.
func Request() message.ModelRequest {
	return message.ModelRequest{
		Model: message.Model{
			Name: "model", Choice: message.ToolChoice{Mode: message.ToolChoiceAuto}, Format: message.ResponseFormat{JSON: true, Name: "answer"}, MaxTokens: 100,
		},
		System: "Be brief.", Messages: message.MessagesOf(message.UserText("hello")),
		Tools: message.NewToolSet([]message.Tool{{
			Name: foreignTool, Description: "Notes something.",
			Input: `{"type":"object","properties":{"note":{"type":"string","description":"The note."}},"required":["note"],"additionalProperties":false}`,
		}}),
		Stable: 1,
	}
}

// foreignTool is the name of a tool that no hook has.
const foreignTool = "hooktest_tool"

// Reply returns an answer of the model: reasoning, text and a call.
func Reply() message.ModelReply {
	return message.ModelReply{
		Content: message.ListOf(message.Block{Kind: message.BlockReasoning, Text: "Let me see."}, message.TextBlock("Here it is."),
			message.Block{Kind: message.BlockToolCall, CallID: "call-1", Tool: foreignTool, JSON: `{"note":"x"}`}),
		Usage: usage(), Finish: message.FinishTools, Model: "model", Duration: time.Second,
	}
}

func usage() message.Usage {
	return message.Usage{Input: 10, Output: 5, CacheRead: 4, CacheWrite: 3, Reasoning: 2}
}

// ModelFailure returns the failure of a first attempt: the provider was busy.
func ModelFailure() message.ModelFailure {
	return message.ModelFailure{
		Class: message.FailureOverloaded, Err: errors.New("the provider is busy"), Model: "model", Attempt: 1,
		Elapsed: time.Second, RetryAfter: time.Millisecond, Released: true,
	}
}

// InvalidCall returns a call of a tool that no hook has. A nil call is one of
// "hooktest_tool".
func InvalidCall(call *hook.ToolCall) hook.InvalidCall {
	if call == nil {
		call = Call(nil, foreignTool, `{"note":"x"}`)
	}
	return hook.InvalidCall{
		Call: call, Failure: message.FailNotRegistered, Reason: "no tool named " + call.Name(),
		Tools: message.ListOf("read", "write"), Attempt: 1,
	}
}

// ToolOutcome returns the outcome of a call that ran and succeeded.
func ToolOutcome() hook.ToolOutcome {
	return hook.ToolOutcome{
		Result:  message.ToolResult{Content: message.ListOf(message.TextBlock("noted")), Trust: message.TrustWorkspace, Meta: `{}`},
		Outcome: message.OutcomeExecuted, Duration: time.Second, Grant: hook.Grant{NoNetwork: true, MaxOutput: 1000},
	}
}

// StepOutcome returns the outcome of a step that made the call. A nil call is that of
// [InvalidCall]. Err is nil: the step succeeded.
func StepOutcome(call *hook.ToolCall) hook.StepOutcome {
	if call == nil {
		call = InvalidCall(nil).Call
	}
	o := ToolOutcome()
	end := hook.CallEnd{Call: call, Result: o.Result, Outcome: o.Outcome, Duration: o.Duration}
	return hook.StepOutcome{Finish: message.FinishTools, Usage: usage(), Calls: message.ListOf(end), Duration: 2 * time.Second}
}

// Stopping returns a turn that is about to end, because the model has finished.
func Stopping() hook.Stopping {
	o := TurnOutcome(nil)
	return hook.Stopping{Stop: o.Stop, Signals: o.Signals, Message: o.Message, Continued: 1}
}

// TurnOutcome returns the outcome of a turn after one step with one call: failed with
// err, or completed if err is nil.
func TurnOutcome(err error) hook.TurnOutcome {
	out := hook.TurnOutcome{
		Stop: hook.StopFinishReason, Usage: usage(), Steps: 1, Calls: 1, Cost: hook.Dollar, Duration: 3 * time.Second, Err: err,
		Message: message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("Here it is."))},
	}
	if err != nil {
		out.Stop = hook.StopError
	}
	out.Signals = message.ListOf(hook.StopSignal{Reason: out.Stop, By: "Guard", Text: "the reason", Context: `{"steps":1}`})
	return out
}

// Compaction returns a compaction that is about to begin because the history grew too long.
func Compaction() hook.Compaction {
	return hook.Compaction{
		Messages: message.MessagesOf(message.UserText("hello"), TurnOutcome(nil).Message),
		Budget:   hook.TokenBudget{Limit: 1000, Used: 900, Reserved: 100}, Auto: true,
	}
}

// Compacted returns the effect of a compaction.
func Compacted() hook.Compacted {
	return hook.Compacted{Removed: 2, Summary: "They said hello.", Before: 900, After: 100}
}

// Contributed returns the merged contributions to a turn, as [hook.TurnTeller]'s
// Contribute takes them.
func Contributed() hook.Contributed {
	plan := hook.RecallPlan{Queries: message.ListOf("boats"), Limit: 3, Chars: 300}
	return hook.Contributed{
		Policies: message.ListOf(hook.Policy{Domain: "memory", Key: "recall", Value: "on", Recall: plan, Weight: 1, By: "Memory"}),
		Recall:   plan, Fallback: true,
		Context: message.ListOf(hook.ContextBlock{
			Domain: "memory", ID: "notes", Text: "Boats float.", Chars: 100, Sources: message.ListOf("notes"), Weight: 1, By: "Memory",
		}),
		BlocksLeft: 7, CharsLeft: 3000,
	}
}
