package hook

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Conversation is the place of one message history, keyed by agent and sender.
// It is immutable, except for the states that hooks keep in it ([ConversationState]), and for the
// configuration of its agent, which a program may change between two turns.
type Conversation struct {
	d      ConversationData
	states atomic.Pointer[States]
}

// ID is unique in the store.
func (c *Conversation) ID() string { return c.d.ID }

// Sender identifies the person or program that talks to the agent.
func (c *Conversation) Sender() string { return c.d.Sender }

// Ephemeral reports whether nothing of the conversation is stored: neither messages nor events nor the states of hooks. Hooks that
// keep something of a turn elsewhere leave it. Jobs cannot be queued there.
func (c *Conversation) Ephemeral() bool { return c.d.Ephemeral }

// Agent returns the agent's registered configuration, which stays the same while a turn runs.
func (c *Conversation) Agent() *AgentConfig {
	if c.d.Current != nil {
		return c.d.Current.Load()
	}
	return c.d.Agent
}

// Host returns the runtime's services for hooks, outside a turn. It is never nil.
func (c *Conversation) Host() Host { return hostOr(c.d.Host) }

// Turn is the place of one turn: from a user message to the final answer. It is
// immutable, except for Standing and Contributed, which show its progress and are
// safe to call from any goroutine, and the states that hooks keep in it ([TurnState]).
type Turn struct {
	d           TurnData
	agent       *AgentConfig
	states      atomic.Pointer[States]
	mu          sync.Mutex
	standing    Standing
	contributed *Contributed
}

// Standing is the progress of a turn.
type Standing struct {
	// History has the committed messages, those of this turn's finished steps included.
	History message.Messages
	Usage   message.Usage
	// Cost is what Usage costs; 0 if the runtime knows no prices.
	Cost    Cost
	Steps   int
	Signals message.List[StopSignal]
	Errors  message.List[error]
}

// Contributed returns the merged contributions of all hooks to the turn so far; zero
// before TurnPolicy.
func (t *Turn) Contributed() Contributed {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.contributed == nil {
		return Contributed{}
	}
	return *t.contributed
}

// Session returns the session of the turn; nil in tests.
func (t *Turn) Session() *Session { return t.d.Session }

// Conversation returns the conversation of the turn.
func (t *Turn) Conversation() *Conversation { return t.d.Conversation }

// Agent returns the agent's registered configuration.
func (t *Turn) Agent() *AgentConfig { return t.agent }

// ID is unique in the store.
func (t *Turn) ID() string { return t.d.ID }

// Number counts the turns of the conversation from 1.
func (t *Turn) Number() int { return t.d.Number }

// Depth is 0 for a turn that a user started.
func (t *Turn) Depth() int { return t.d.Depth }

// Parent is the turn whose tool runs this one; nil for a turn that a user started.
// A hook may read it and change its states while this one runs.
func (t *Turn) Parent() *Turn { return t.d.Parent }

// Root is the turn that a user started: this one, or the topmost of its parents.
func (t *Turn) Root() *Turn {
	for t.d.Parent != nil {
		t = t.d.Parent
	}
	return t
}

// Started is when the turn began.
func (t *Turn) Started() time.Time { return t.d.Started }

// Elapsed is the time since then, by the runtime's clock.
func (t *Turn) Elapsed() time.Duration {
	if t.d.Now == nil {
		return time.Since(t.d.Started)
	}
	return t.d.Now().Sub(t.d.Started)
}

// Input is the user's input: in Preprocess as it was sent, afterwards as Preprocess
// returned it.
func (t *Turn) Input() message.Input { return t.d.Input }

// IsCompaction reports whether the turn is the request for a summary of the conversation. Its request and its reply pass the
// points about models like those of a turn, with the same conversation and agent, without tools; nobody is shown the reply. A hook that
// judges answers or keeps what a request offered leaves it alone.
func (t *Turn) IsCompaction() bool {
	in := t.d.Input.Messages
	return in.Len() > 0 && in.At(0).Label == message.LabelCompaction
}

// Limits are the agent's limits for this turn.
func (t *Turn) Limits() Limits { return t.d.Limits }

// Standing returns the progress of the turn, as one consistent value.
func (t *Turn) Standing() Standing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.standing
}

// Host returns the runtime's services for hooks. It is never nil.
func (t *Turn) Host() Host { return hostOr(t.d.Conversation.d.Host) }

// Step is the place of one model call and the tool calls that it asked for. It
// is immutable.
type Step struct {
	turn   *Turn
	number int
	model  string
}

// Turn returns the turn of the step.
func (s *Step) Turn() *Turn { return s.turn }

// Number counts the turn's steps from 1.
func (s *Step) Number() int { return s.number }

// Model is the id of the model that is asked.
func (s *Step) Model() string { return s.model }

// ToolCall is the place of one tool call. It is immutable: rewritten arguments
// make a new ToolCall with the same id.
type ToolCall struct{ d ToolCallData }

// Step returns the step of the call; nil in tests of a Dispatch alone.
func (c *ToolCall) Step() *Step { return c.d.Step }

// ID is the model's id of the call.
func (c *ToolCall) ID() string { return c.d.ID }

// Name is the name of the tool: the public one, but within Dispatch of an owner
// under a prefix its local one.
func (c *ToolCall) Name() string { return c.d.Tool.Name }

// Tool is the descriptor of the tool.
func (c *ToolCall) Tool() message.Tool { return c.d.Tool }

// Index counts the step's calls from 0.
func (c *ToolCall) Index() int { return c.d.Index }

// Args are the current arguments: approval shows them, the tool runs with them and
// the history stores them. Canonical once the call is bound.
func (c *ToolCall) Args() message.JSON { return c.d.Args }

// Original are the arguments as the model sent them, for the audit.
func (c *ToolCall) Original() message.JSON { return c.d.Original }

// OriginalName is the name of the tool as the model gave it, for the audit. It differs
// from Name if a hook has renamed the call, and within Dispatch under a prefix.
func (c *ToolCall) OriginalName() string { return cmp.Or(c.d.OriginalName, c.d.Tool.Name) }

// Grant is what the call may do, as far as it was narrowed: at BeforeTool by the hooks before
// this one and by earlier rounds, and from Approve on by all of them. The zero Grant adds no
// limit. No hook can widen it: the call runs with the intersection of all grants.
func (c *ToolCall) Grant() Grant { return c.d.Grant }

// Narrowed returns the same call with a smaller grant: the intersection of both. It returns c
// itself for the zero Grant. Composites and the runtime use it.
func (c *ToolCall) Narrowed(g Grant) *ToolCall {
	if g == (Grant{}) {
		return c
	}
	d := c.d
	d.Grant = d.Grant.Intersect(g)
	return &ToolCall{d}
}

// WithArgs returns the same call with other arguments.
func (c *ToolCall) WithArgs(args message.JSON) *ToolCall {
	d := c.d
	d.Args = args
	return &ToolCall{d}
}

// As returns the same call under another tool name. Composites use it to pass a call
// to an owner under a prefix, with the local name.
func (c *ToolCall) As(name string) *ToolCall {
	d := c.d
	d.OriginalName = c.OriginalName()
	d.Tool.Name = name
	return &ToolCall{d}
}

// Renamed returns the same call as one of another tool. The runtime uses it.
func (c *ToolCall) Renamed(tool message.Tool) *ToolCall {
	d := c.d
	d.OriginalName = c.OriginalName()
	d.Tool = tool
	return &ToolCall{d}
}

// Host returns the runtime's services for hooks. It is never nil.
func (c *ToolCall) Host() Host {
	if c.d.Step == nil || c.d.Step.turn == nil {
		return NoHost{}
	}
	return c.d.Step.turn.Host()
}

// Host returns the turn's host. It is never nil.
func (s *Step) Host() Host {
	if s.turn == nil {
		return NoHost{}
	}
	return s.turn.Host()
}
