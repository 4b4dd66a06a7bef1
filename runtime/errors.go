package runtime

import "errors"

// Sentinels that callers test with errors.Is. They come wrapped with the name
// they are about.
var (
	// ErrNotOpen: Open has not been called yet, or failed.
	ErrNotOpen = errors.New("runtime: not open")
	// ErrClosed: Close has been called.
	ErrClosed = errors.New("runtime: closed")
	// ErrAgentUnknown: no agent of that name is registered.
	ErrAgentUnknown = errors.New("runtime: no such agent")
	// ErrAgentExists: the name is taken, or being registered.
	ErrAgentExists = errors.New("runtime: the agent exists already")
	// ErrAgentClosing: the agent is being unregistered and takes no new turns.
	ErrAgentClosing = errors.New("runtime: the agent is closing")
	// ErrBusy: a turn of the conversation is in flight; send again when it has
	// ended.
	ErrBusy = errors.New("runtime: a turn of this conversation is still running")
	// ErrRejected: a hook rejected the request or the reply, so that the turn
	// failed.
	ErrRejected = errors.New("runtime: rejected by a hook")
	// ErrRetries: a hook asked for one more reply than is allowed.
	ErrRetries = errors.New("runtime: too many retries")
	// ErrNoInput: there was nothing to send, or Preprocess left nothing.
	ErrNoInput = errors.New("runtime: the input has no message")
)

// errTimeLimit is the cause with which a turn's context ends when Limits.Time is
// over.
var errTimeLimit = errors.New("runtime: the turn's time is over")
