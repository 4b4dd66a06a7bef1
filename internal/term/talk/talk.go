// Package talk is what a chat asks of the one who runs its conversations: this process, or a daemon.
package talk

import (
	"context"
	"errors"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/attach"
)

// ErrNotInterrupted: the conversation has no turn to resume.
var ErrNotInterrupted = errors.New("no turn was interrupted")

// Host runs conversations. It is for one goroutine at a time.
type Host interface {
	Agents
	Conversations
	Models
}

// Agents are the agents to talk to.
type Agents interface {
	// Agent returns an agent with which turns can begin, or why there is none of that name.
	Agent(ctx context.Context, name string) (Agent, error)
	// Agents returns all agents, sorted by name.
	Agents(ctx context.Context) ([]Agent, error)
	// Tools returns the tools that the agent may use, in the order in which models see them.
	Tools(ctx context.Context, agent string) ([]Tool, error)
	// Commands returns the lines that a person may type to an agent that Agent has returned, and that are no message. It asks nobody
	// over a network.
	Commands(agent string) []Command
}

// Conversations are the conversations of the project.
type Conversations interface {
	// Open returns the conversation of the agent with the sender. It makes it if there is none.
	Open(ctx context.Context, agent, sender string) (Opened, error)
	// List returns those that have a message, the last changed one first.
	List(ctx context.Context) ([]Entry, error)
}

// Models are the models that may answer.
type Models interface {
	// Model returns the whole name of a model that a person names, or why it cannot be asked, as far as that is known before it is asked.
	Model(name string) (string, error)
	// Candidates returns models that a person may switch to.
	Candidates(ctx context.Context, agent string) ([]string, error)
}

// Conversation is an open conversation.
type Conversation interface {
	ID() string
	// Messages returns the history, the oldest message first.
	Messages(ctx context.Context) ([]message.Message, error)
	// Send runs a turn to its end and gives observe its events, one at a time. When ctx ends, the turn is cancelled, and its outcome is
	// returned all the same. An error says why no turn began, or why it cannot be followed.
	Send(ctx context.Context, m Message, observe func(hook.Event)) (hook.TurnOutcome, error)
	// Resume is Send for the turn that was interrupted. ErrNotInterrupted says that there is none.
	Resume(ctx context.Context, model string, observe func(hook.Event)) (hook.TurnOutcome, error)
}

// Agent is an agent to talk to.
type Agent struct{ Name, Description, Model string }

// Tool is a tool of an agent.
type Tool struct {
	Name, Description string
	// Asks: a call may need approval.
	Asks bool
}

// Command is a line that a person may type: a slash, the name and an argument.
type Command struct {
	Name, Argument, Help string
	// Skill: it starts a skill.
	Skill bool
}

// Opened is a conversation as it is when it is opened.
type Opened struct {
	Conversation
	// Interrupted: its last turn did not end, and can be resumed. Running: a turn of it runs.
	Interrupted, Running bool
}

// Entry is a conversation in a list.
type Entry struct {
	ID, Agent, Sender, Title string
	Updated                  time.Time
}

// Message is what a person sends.
type Message struct {
	Text  string
	Files []attach.File
	// Guest is another agent that answers; "" is none. Model answers instead of the agent's; "" is the agent's.
	Guest, Model string
}
