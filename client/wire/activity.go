package wire

import (
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Activity is what a daemon does right now.
type Activity struct {
	// Time is when the daemon looked, and Started when it began.
	Time    time.Time `json:"time"`
	Started time.Time `json:"started"`
	Status  Status    `json:"status"`
	// Turns are the running turns, the oldest first.
	Turns []ActiveTurn `json:"turns"`
	// Approvals, Questions and ClientCalls count what waits for a person or a client.
	Approvals   int `json:"approvals"`
	Questions   int `json:"questions"`
	ClientCalls int `json:"client_calls"`
	// QueuedMessages wait for the turn before them; QueuedJobs for their next attempt, or nil if the store does not say.
	QueuedMessages int  `json:"queued_messages"`
	QueuedJobs     *int `json:"queued_jobs,omitempty"`
	// Abandoned lists calls that ignored their context and still run, and LateHooks counts hooks that still run after their timeout.
	Abandoned []Abandoned `json:"abandoned,omitempty"`
	LateHooks int         `json:"late_hooks,omitzero"`
	// Streams is how many clients read events. Lagging of them have not taken for a second what is there, and Missed is how many
	// events were left out for such clients since the daemon began; see StreamLagged.
	Streams int    `json:"streams"`
	Lagging int    `json:"lagging"`
	Missed  uint64 `json:"missed"`
	// Today is what models have cost since midnight, for this project by whatever process; nil if the store does not say.
	Today *SpentToday `json:"today,omitempty"`
	// Unanswered are the ids of daemons over the same store that did not answer in time: their turns and what waits there are missing.
	Unanswered []string `json:"unanswered,omitempty"`
	// Tenants are those of the owners of tokens whose programs are open, by owner: for who administers the daemon. The figures above
	// do not have theirs.
	Tenants []ActiveTenant `json:"tenants,omitempty"`
}

// ActiveTenant is what the tenant of an owner does.
type ActiveTenant struct {
	Owner string `json:"owner"`
	// Turns run, Requests are open, streams too, and Waiting of them wait for the turn before theirs.
	Turns    int `json:"turns"`
	Requests int `json:"requests"`
	Waiting  int `json:"waiting"`
	// Today is what models have cost for the owner since midnight; nil if the store does not say.
	Today *SpentToday `json:"today,omitempty"`
}

// ActiveTurn is a turn that runs.
type ActiveTurn struct {
	ID           string `json:"id,omitzero"` // left out before it has begun
	Conversation string `json:"conversation"`
	Agent        string `json:"agent"`
	Sender       string `json:"sender"`
	// Project is the directory of the project.
	Project string `json:"project,omitzero"`
	// Node is the id of the daemon that runs it, if several share the store.
	Node string `json:"node,omitzero"`
	// Since is when it began; zero before that, and if nobody watched.
	Since time.Time `json:"since,omitzero"`
	// Step counts from 1.
	Step int `json:"step,omitzero"`
	// State is what it waits for: starting, model, tool, approval, question, client or ending.
	State string `json:"state"`
	// Calls are the calls of tools that run, the oldest first, with those of subagents; 32 at most.
	Calls []ActiveCall `json:"calls,omitempty"`
}

// ActiveCall is a call of a tool that runs.
type ActiveCall struct {
	Tool string `json:"tool"`
	// Agent is the agent that called.
	Agent string    `json:"agent"`
	Since time.Time `json:"since"`
}

// SpentToday adds up calls of models.
type SpentToday struct {
	Calls    int64         `json:"calls"`
	Unpriced int64         `json:"unpriced,omitzero"` // calls without a known price, which are not in Cost
	Usage    message.Usage `json:"usage"`
	Cost     hook.Cost     `json:"cost"` // in billionths of a dollar
}

// LogLevel is the lowest level that the daemon's log has: debug, info, warn or error.
type LogLevel struct {
	Level string `json:"level"`
}
