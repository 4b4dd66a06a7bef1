package loop

import "errors"

// Sentinels of turns. Package runtime has them under the same names.
var (
	// ErrClosed: the runtime was closed.
	ErrClosed = errors.New("runtime: closed")
	// ErrAgentClosing: the agent is being unregistered and takes no new turns.
	ErrAgentClosing = errors.New("runtime: the agent is closing")
	// ErrIdle: no turn is running that could be steered; send instead.
	ErrIdle = errors.New("runtime: no turn of this conversation is running")
	// ErrStopped is the cause with which a turn ends that its user has stopped.
	ErrStopped = errors.New("runtime: stopped by the user")
	// ErrLeaseLost: another process has taken the conversation over, because it
	// took this one for gone. What this turn did since is not stored.
	ErrLeaseLost = errors.New("runtime: the conversation has gone to another process, and what was not stored is lost; send again to go on here")
	// ErrSummary: the model has failed, or what it wrote cannot take the place of
	// anything.
	ErrSummary = errors.New("runtime: there is no summary that can be used")
	// ErrArguments: too many replies in a row had calls whose arguments are no JSON.
	ErrArguments = errors.New("runtime: unparsable arguments")
	// ErrRejected: a hook rejected the request or the reply, so that the turn
	// failed.
	ErrRejected = errors.New("runtime: rejected by a hook")
	// ErrRetries: a hook asked for one more reply than is allowed. It comes with the
	// error of the model if that is why.
	ErrRetries = errors.New("runtime: too many retries")
	// ErrNoInput: there was nothing to send, or Preprocess left nothing.
	ErrNoInput = errors.New("runtime: the input has no message")
)

// errTimeLimit is the cause with which a turn's context ends when Limits.Time is
// over.
var errTimeLimit = errors.New("runtime: the turn's time is over")

// errGone is why a turn ended that another process had begun.
var errGone = errors.New("runtime: the turn was interrupted: its process has ended")
