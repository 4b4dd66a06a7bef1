package work

import (
	"context"
	"time"
)

// Turn says how much work one turn of a conversation is. A turn is: a person says
// something; the model asks for Calls of the tool [Tool]; they are executed; the
// model gets their results and answers. Without calls it answers at once.
type Turn struct {
	// Tools is how many tools are registered and told to the model, at least 1 if
	// there are calls. The first is [Tool], the others have the names of [OtherTool].
	Tools int
	// Calls is how often the model asks for the tool, all in one answer.
	Calls int
	// Wait is how long each call takes, asleep.
	Wait time.Duration
	// Messages is how many messages of old the conversation has: see [Old].
	Messages int
	// Hooks is how many hooks there are that do nothing but count: each is told before
	// and after every model call and every tool call.
	Hooks int
	// Deltas is in how many pieces the answer comes, each of which goes through to a
	// consumer; 0 is one piece, and no consumer.
	Deltas int
	// Conversations is how many are at hand, each with a ledger of its own; 0 is 1.
	Conversations int
	// Dir is where the conversations are kept in an SQLite database, synced to disk
	// before a turn ends; "" keeps them in memory, or however the subject does.
	Dir string
}

// Subject is a system that is measured.
type Subject struct {
	// Name is the last part of the names of its benchmarks.
	Name string
	// Start sets the system up for a turn. Its error is a [Lack] if the system cannot
	// do such a turn.
	Start func(ctx context.Context, t Turn) (*Running, error)
	// Agents sets the system up for agents that do turns like t.
	Agents func(ctx context.Context, t Turn) (*Agents, error)
}

// Running is a subject that has been set up.
type Running struct {
	// Send does one turn of a conversation, counted from 0, and checks that all of it
	// was done. Turns of different conversations may run at the same time.
	Send func(ctx context.Context, conversation int) error
	// Close gives back what Start took; nil if there is nothing.
	Close func() error
}

// Lack says why a subject cannot do a work.
type Lack string

func (l Lack) Error() string { return string(l) }
