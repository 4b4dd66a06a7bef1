package runtime

import (
	"errors"

	"github.com/grapnel-go/grapnel/runtime/internal/human"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
)

// Sentinels that callers test with errors.Is. Errors wrap them with the name of the agent,
// the conversation or the operation.
var (
	// ErrNotOpen: Open has not been called yet, or failed.
	ErrNotOpen = errors.New("runtime: not open; call Open first")
	// ErrClosed: Close has been called.
	ErrClosed = loop.ErrClosed
	// ErrAgentUnknown: no agent with that name is registered.
	ErrAgentUnknown = errors.New("runtime: no such agent")
	// ErrAgentExists: an agent with that name is registered or being registered.
	ErrAgentExists = errors.New("runtime: the agent exists already")
	// ErrAgentClosing: the agent is being unregistered and takes no new turns.
	ErrAgentClosing = loop.ErrAgentClosing
	// ErrBusy: a turn of the conversation is running.
	ErrBusy = errors.New("runtime: a turn of this conversation is still running; wait for its end, cancel it, or have the message queued or steered (TurnOptions.WhenBusy, when_busy over HTTP)")
	// ErrChild: the conversation belongs to the turn of a child agent. Only its parent can
	// continue it, because a child may not do more than its parent.
	ErrChild = errors.New("runtime: the conversation belongs to a task that another agent delegated; send to the agent itself, with another sender")
	// ErrIdle: no turn is running, so Steer has no target; send the message instead.
	ErrIdle = loop.ErrIdle
	// ErrNotInterrupted: there is no turn to resume.
	ErrNotInterrupted = errors.New("runtime: no turn of this conversation was interrupted")
	// ErrStopped: the user has stopped the turn. It is the cause of Turn.Stop(nil).
	ErrStopped = loop.ErrStopped
	// ErrLeaseLost: another process has taken the conversation over, because the lease of
	// this one had ended, or Options.Gone took it for dead. Nothing that this turn did
	// since then is stored.
	ErrLeaseLost = loop.ErrLeaseLost
	// ErrNothingToCompact: no turn precedes the turns that are kept.
	ErrNothingToCompact = errors.New("runtime: nothing to compact: all turns are kept or follow the last summary; keep fewer turns, or compact later")
	// ErrSkipped: a hook has skipped the compaction.
	ErrSkipped = errors.New("runtime: a hook has skipped the compaction")
	// ErrSummary: the model failed, or its summary is empty, too long or incomplete.
	ErrSummary = loop.ErrSummary
	// ErrUnsupported: the store does not support the operation.
	ErrUnsupported = errors.New("runtime: the store does not support it")
	// ErrArguments: too many consecutive replies had calls whose arguments are no JSON; see
	// Limits.Unreadable.
	ErrArguments = loop.ErrArguments
	// ErrAnswered: the request has an answer already, or has ended.
	ErrAnswered = human.ErrAnswered
	// ErrRequestUnknown: there is no such request, and none can come.
	ErrRequestUnknown = human.ErrUnknown
	// ErrTurnTools: a turn cannot have the tools of TurnOptions; the rest of the text says
	// which and why.
	ErrTurnTools = loop.ErrGiven
	// ErrRejected: the turn failed because a hook rejected the request or the reply.
	ErrRejected = loop.ErrRejected
	// ErrRetries: hooks asked for more retries in one step than are allowed. If a failure of
	// the model caused the last retry, the error wraps that failure too.
	ErrRetries = loop.ErrRetries
	// ErrLateGate: a hook that decides about the turn, or rewrites something of it, has not
	// answered within [Limits].Gate.
	ErrLateGate = loop.ErrLateGate
	// ErrEnded: the ephemeral conversation has ended.
	ErrEnded = errors.New("runtime: the ephemeral conversation has ended")
	// ErrPlan: an agent with the loop plan-and-execute has no plan, because its model's replies
	// could not be read as one.
	ErrPlan = loop.ErrPlan
	// ErrNoInput: the input has no message, or Preprocess has removed them all.
	ErrNoInput = loop.ErrNoInput
	// ErrAnswer: the turn of [SendAs] has no answer of the type that was asked for.
	ErrAnswer = errors.New("runtime: no answer of that type")
	// ErrAgentHalted: a hook has failed fatally ([hook.SeverityFatal]); the agent begins no turn
	// until it is updated or registered again.
	ErrAgentHalted = errors.New("runtime: the agent is halted")
	// ErrMemberUnknown: no member of that name is attached.
	ErrMemberUnknown = errors.New("runtime: no member of that name is attached")
	// ErrDetached: the turn was cancelled because a member of its hooks was detached.
	ErrDetached = errors.New("runtime: a member of the turn's hooks was detached")
	// ErrAbandoned: calls of tools or hooks that ignored their context still run.
	ErrAbandoned = errors.New("runtime: abandoned work has not ended")
)
