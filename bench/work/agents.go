package work

import (
	"context"
	"strconv"
)

// Scoped is the work of the scenario of many agents: each may call the same 64 tools
// and does one turn with one call.
var Scoped = Turn{Tools: 64, Calls: 1}

// Agents is a set of agents that share their tools, set up without any.
type Agents struct {
	// Register adds agent i, counted from 0: it is built, and can be found by its name
	// if the system has names. Agents are registered by one goroutine.
	Register func(ctx context.Context, i int) error
	// Send does one turn, that of [Scoped], in a conversation of agent i, and checks
	// that all of it was done. The conversation is kept until Close: the messages of
	// the turn can be read again. If the system keeps none, the subject does.
	Send func(ctx context.Context, i int) error
	// Close gives back what the set took; nil if there is nothing.
	Close func() error
}

// AgentName is the name of agent i.
func AgentName(i int) string { return "agent_" + strconv.Itoa(i) }
