package runtime

import (
	"errors"

	"github.com/grapnel-go/grapnel/runtime/internal/human"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
)

// Sentinels that callers test with errors.Is. They come wrapped with the name
// they are about.
var (
	// ErrNotOpen: Open has not been called yet, or failed.
	ErrNotOpen = errors.New("runtime: not open")
	// ErrClosed: Close has been called.
	ErrClosed = loop.ErrClosed
	// ErrAgentUnknown: no agent of that name is registered.
	ErrAgentUnknown = errors.New("runtime: no such agent")
	// ErrAgentExists: the name is taken, or being registered.
	ErrAgentExists = errors.New("runtime: the agent exists already")
	// ErrAgentClosing: the agent is being unregistered and takes no new turns.
	ErrAgentClosing = loop.ErrAgentClosing
	// ErrBusy: a turn of the conversation is in flight; send again when it has
	// ended.
	ErrBusy = errors.New("runtime: a turn of this conversation is still running; wait for its end, cancel it, or have the message queued or steered (TurnOptions.WhenBusy, when_busy over HTTP)")
	// ErrChild: the conversation is of an agent that another one has run. It goes on in
	// a turn of that one or not at all, because it may do no more than that one.
	ErrChild = errors.New("runtime: the conversation belongs to a task that another agent delegated; send to the agent itself, with another sender")
	// ErrIdle: no turn is running that could be steered; send instead.
	ErrIdle = loop.ErrIdle
	// ErrNotInterrupted: there is no turn that could be resumed.
	ErrNotInterrupted = errors.New("runtime: no turn of this conversation was interrupted")
	// ErrStopped is the cause with which a turn ends that its user has stopped.
	ErrStopped = loop.ErrStopped
	// ErrLeaseLost: another process has taken the conversation over, because it
	// took this one for gone. What this turn did since is not stored.
	ErrLeaseLost = loop.ErrLeaseLost
	// ErrNothingToCompact: there is nothing before the turns that are kept.
	ErrNothingToCompact = errors.New("runtime: nothing to compact: all turns are kept or behind the last summary; keep fewer, or wait for more")
	// ErrSkipped: a hook does not want the conversation compacted now.
	ErrSkipped = errors.New("runtime: a hook has skipped the compaction")
	// ErrSummary: the model has failed, or what it wrote cannot take the place of
	// anything.
	ErrSummary = loop.ErrSummary
	// ErrUnsupported: the store cannot do that.
	ErrUnsupported = errors.New("runtime: the store does not support it")
	// ErrArguments: too many replies in a row had calls whose arguments are no JSON.
	ErrArguments = loop.ErrArguments
	// ErrAnswered: the request has an answer already, or nobody waits for one.
	ErrAnswered = human.ErrAnswered
	// ErrRequestUnknown: nobody has asked that, and nobody is about to.
	ErrRequestUnknown = human.ErrUnknown
	// ErrRejected: a hook rejected the request or the reply, so that the turn
	// failed.
	ErrRejected = loop.ErrRejected
	// ErrRetries: a hook asked for one more reply than is allowed. It comes with the
	// error of the model if that is why.
	ErrRetries = loop.ErrRetries
	// ErrNoInput: there was nothing to send, or Preprocess left nothing.
	ErrNoInput = loop.ErrNoInput
	// ErrAbandoned: calls or hooks that ignored their context still run.
	ErrAbandoned = errors.New("runtime: abandoned work has not ended")
)
