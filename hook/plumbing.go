package hook

import (
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// This file is for hosts and tests, which make places and update them. Authors of hooks need nothing of it.

// ConversationData is what a Conversation is made of.
type ConversationData struct {
	ID     string
	Sender string
	// Agent is the registered configuration; hooks must not change it.
	Agent *AgentConfig
	// Current holds the configuration instead of Agent, if it is not nil. Its owner may change it
	// between two turns.
	Current *atomic.Pointer[AgentConfig]
	// Host is the runtime's services for hooks; nil is [NoHost].
	Host Host
	// States are those of the hooks; nil are new ones that are not stored.
	States *States
	// Ephemeral: nothing of it is stored.
	Ephemeral bool
}

// NewConversation returns the place. The runtime and tests use it.
func NewConversation(d ConversationData) *Conversation {
	c := &Conversation{d: d}
	c.states.Store(d.States)
	return c
}

// TurnData is what a Turn is made of.
type TurnData struct {
	Conversation *Conversation
	// Session is the session that the turn is part of; nil in tests.
	Session *Session
	ID      string
	// Number counts the conversation's turns from 1.
	Number  int
	Started time.Time
	// Depth is 0 for a turn that a user started, 1 for its children, and so on.
	Depth int
	// Parent is the turn whose tool runs this one; nil for one that a user started.
	Parent *Turn
	Input  message.Input
	Limits Limits
	// Now is the runtime's clock; nil is time.Now.
	Now func() time.Time
}

// NewTurn returns the place and its teller. Only the runtime has the teller.
func NewTurn(d TurnData) (*Turn, TurnTeller) {
	t := &Turn{d: d}
	if d.Conversation != nil {
		t.agent = d.Conversation.Agent()
	}
	return t, TurnTeller{t}
}

// TurnTeller updates the place of a turn.
type TurnTeller struct{ turn *Turn }

// WithInput returns the place of the same turn with another input, and its teller.
// Both places share the states. The new one starts with the progress of the old one.
func (t TurnTeller) WithInput(in message.Input) (*Turn, TurnTeller) {
	d := t.turn.d
	d.Input = in
	again, teller := NewTurn(d)
	again.states.Store(statesOf(&t.turn.states))
	t.turn.mu.Lock()
	again.standing, again.contributed = t.turn.standing, t.turn.contributed
	t.turn.mu.Unlock()
	return again, teller
}

// Tell sets what Standing returns from now on.
func (t TurnTeller) Tell(s Standing) {
	t.turn.mu.Lock()
	t.turn.standing = s
	t.turn.mu.Unlock()
}

// Contribute sets what Contributed returns from now on.
func (t TurnTeller) Contribute(c Contributed) {
	t.turn.mu.Lock()
	t.turn.contributed = &c
	t.turn.mu.Unlock()
}

// NewStep returns the place; number counts from 1.
func NewStep(t *Turn, number int, model string) *Step {
	return &Step{turn: t, number: number, model: model}
}

// ToolCallData is what a ToolCall is made of.
type ToolCallData struct {
	Step *Step
	// ID is the model's id of the call, unique in the turn.
	ID string
	// Tool is the descriptor; only its Name is set if its owner is unknown.
	Tool message.Tool
	// Index counts the step's calls from 0, in the model's order.
	Index int
	// Args are the current arguments; before binding, as the model sent them.
	Args message.JSON
	// Original are the arguments as the model sent them.
	Original message.JSON
	// OriginalName is the name of the tool as the model gave it; "" is that of Tool.
	OriginalName string
	// Grant is what the call may do; the zero Grant adds no limit.
	Grant Grant
}

// NewToolCall returns the place.
func NewToolCall(d ToolCallData) *ToolCall { return &ToolCall{d} }

// SessionData is what a Session is made of.
type SessionData struct {
	Conversation *Conversation
	ID           string
	Source       SessionSource
	Started      time.Time
}

// NewSession returns the place and its teller. Only the runtime has the teller.
func NewSession(d SessionData) (*Session, SessionTeller) {
	s := &Session{d: d}
	return s, SessionTeller{s}
}

// SessionTeller updates the place of a session.
type SessionTeller struct{ session *Session }

// Tell sets what Totals returns from now on.
func (t SessionTeller) Tell(totals Totals) {
	t.session.mu.Lock()
	t.session.totals = totals
	t.session.mu.Unlock()
}
