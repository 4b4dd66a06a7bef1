package loop

import (
	"errors"

	"github.com/grapnel-go/grapnel/runtime/internal/planning"
)

// Sentinels of turns. Package runtime exports them under the same names.
var (
	// ErrClosed: the runtime was closed.
	ErrClosed = errors.New("runtime: closed")
	// ErrAgentClosing: the agent is being unregistered and takes no new turns.
	ErrAgentClosing = errors.New("runtime: the agent is closing")
	// ErrIdle: no turn is running that Steer could reach; send instead.
	ErrIdle = errors.New("runtime: no turn of this conversation is running")
	// ErrStopped is the cause of the end of a turn that its user stopped.
	ErrStopped = errors.New("runtime: stopped by the user")
	// ErrNotStored: events of the turn could not be stored, so it was stopped.
	ErrNotStored = errors.New("runtime: the turn was stopped, because what it does cannot be stored")
	// ErrLeaseLost: another process has taken the conversation over, because it considered this
	// process gone. What this turn has done since is not stored.
	ErrLeaseLost = errors.New("runtime: the conversation has gone to another process, and what was not stored is lost; send again to go on here")
	// ErrSummary: the model failed, or its summary cannot be used.
	ErrSummary = errors.New("runtime: there is no summary that can be used")
	// ErrArguments: too many replies in a row had calls whose arguments are no JSON.
	ErrArguments = errors.New("runtime: unparsable arguments")
	// ErrRejected: a hook rejected the request or the reply, so that the turn
	// failed.
	ErrRejected = errors.New("runtime: rejected by a hook")
	// ErrLateGate: a hook that decides about the turn has not answered in time.
	ErrLateGate = errors.New("runtime: a hook has not answered")
	// ErrRetries: a hook asked for more replies than the limit. It wraps the error of the model
	// if the hook asked because of one.
	ErrRetries = errors.New("runtime: too many retries")
	// ErrPlan: the model's replies could not be read as a plan.
	ErrPlan = planning.ErrPlan
	// ErrGiven: the turn cannot have the tools that its caller gives it.
	ErrGiven = errors.New("runtime: the turn cannot have these tools")
	// ErrNoInput: there was nothing to send, or Preprocess left nothing.
	ErrNoInput = errors.New("runtime: the input has no message")
)

// errTimeLimit is the cause of a turn's context when Limits.Time is over.
var errTimeLimit = errors.New("runtime: the turn's time is over")

// errEndNotStored is the error of a settled turn that has no other.
var errEndNotStored = errors.New("its end is not stored")

// errGone is the error of a turn that was interrupted because its process ended.
var errGone = errors.New("runtime: the turn was interrupted: its process has ended")
