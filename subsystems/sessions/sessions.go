// Package sessions lets an agent search the past conversations of the project, with the tool
// search_sessions.
//
//	sessions.New(&sessions.Options{Search: search})
//
// The section "sessions" of an agent says which conversations: by default only those with the
// person that the agent talks to. The search is the program's, because a subsystem knows no
// store. It finds what people and models have said and the names of called tools, but never
// arguments and results of tools. The running conversation is not searched.
package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Search finds messages of past conversations of the project, the best match first. It is safe
// for concurrent use. The error reaches the model only as a failed call without a cause.
type Search func(ctx context.Context, q Query) ([]Match, error)

// Query says what to search for.
type Query struct {
	// Text has words; a message matches if it has any of them.
	Text string
	// Agent and Sender limit the search to their conversations; "" is all.
	Agent, Sender string
	// Except is the id of the conversation that is not searched.
	Except string
	// Limit is how many matches to return at most, Before and After how many messages around
	// each.
	Limit, Before, After int
}

// Match is one found message.
type Match struct {
	// Conversation is the id of the conversation, Title the beginning of its first message.
	Conversation, Title string
	Agent, Sender       string
	// Updated is when the conversation was last changed.
	Updated time.Time
	// Message is the position of the message, from 0; with Archived among the messages that
	// were compacted.
	Message  int
	Archived bool
	// Summary: the message is the summary of those that were compacted.
	Summary bool
	Role    message.Role
	// Snippet is the text around the words.
	Snippet string
	// Around are the messages near the match, with the match itself.
	Around []Line
}

// Line is one message near a match.
type Line struct {
	Message int
	Role    message.Role
	Text    string
}

// Options are the settings of [Sessions]. Search is required.
type Options struct {
	Search Search
}

// Sessions is the subsystem. New makes one; it is safe for concurrent use.
//
//hook:subsystem
type Sessions struct {
	hook.Nop
	search Search
}

// Section is the section "sessions" of an agent. An agent without it has no search.
type Section struct {
	// Scope says which conversations of the project the agent searches; "" is ScopeOwn.
	Scope Scope `json:"scope,omitempty"`
}

// Scope is a set of conversations. None has conversations of another project, those of child
// turns, or the running one.
type Scope string

// The scopes.
const (
	// ScopeOwn is the default: conversations with the sender of the running one, of any agent.
	ScopeOwn Scope = "own"
	// ScopeAgent is the agent's own conversations, with any sender.
	ScopeAgent Scope = "agent"
	// ScopeProject is all conversations of the project.
	ScopeProject Scope = "project"
)

// New returns the subsystem. It panics without a Search.
func New(o *Options) *Sessions {
	if o == nil || o.Search == nil {
		panic("sessions: New: Options.Search is required")
	}
	return &Sessions{search: o.Search}
}

// scopeOf returns the scope of the agent; ok is false if it has no section.
func scopeOf(cfg *hook.AgentConfig) (scope Scope, ok bool, err error) {
	s, ok, err := hook.SectionOf[Section](cfg, "sessions")
	if err != nil || !ok {
		return "", ok, err
	}
	switch s.Scope {
	case "":
		return ScopeOwn, true, nil
	case ScopeOwn, ScopeAgent, ScopeProject:
		return s.Scope, true, nil
	}
	return "", true, fmt.Errorf("agent %q: section sessions: scope is %.40q; write own, agent or project", cfg.Name, s.Scope)
}

// OnBuildAgent refuses a wrong section.
func (s *Sessions) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	_, _, err := scopeOf(&cfg)
	return cfg, err
}

// ScopedTools gives the tool to agents with a section only.
func (s *Sessions) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	scope, ok, err := scopeOf(cfg)
	if err != nil || !ok {
		return hook.Scope{Tools: []string{}}
	}
	return hook.Scope{Line: cfg.ToolName(ToolSearchSessions) + " finds " + scope.text() + ", but not this conversation."}
}

// text says what is in the scope.
func (s Scope) text() string {
	switch s {
	case ScopeAgent:
		return "conversations of this agent, with anybody"
	case ScopeProject:
		return "all conversations of the project"
	}
	return "conversations of the project with the same person"
}
