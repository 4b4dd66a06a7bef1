package hook

import (
	"cmp"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// AgentConfig names an agent and says how it works. It is a value while it is
// built; once registered, hooks share one pointer and leave it as it is.
type AgentConfig struct {
	// Name is unique among the registered agents: ^[a-zA-Z0-9_-]{1,64}$.
	Name string
	// Description is one sentence for people and for agents that delegate.
	Description string
	// Model says which model answers, and with which settings. At the registration of an
	// agent the runtime asks the provider for a ContextWindow that is 0.
	Model message.Model
	// Instructions are the first part of the system prompt.
	Instructions string
	// Tools are the public names of the tools that the agent may use, or patterns
	// of them, see [message.MatchName]. Nil means all that its hooks offer; empty
	// and non-nil means none. A name without an owner is an error at registration,
	// a pattern without one a diagnostic: it also covers tools that come later.
	Tools []string
	// Senders keep tools for some senders. They never give the agent a tool.
	Senders []message.SenderRule
	Limits  Limits
	// Loop is the loop of its turns; "" is tool calling.
	Loop message.Loop

	sections sections
	prefix   string
	host     Host
}

// Limits bound one turn. Zero is the loop's default for Steps (20 or 100) and no
// limit for the others.
type Limits struct {
	// Steps is the number of model calls; 0 is that of the agent's loop, [message.Loop.Steps], negative no limit.
	Steps int `json:"steps,omitzero"`
	// Tokens is input plus output over all model calls.
	Tokens int64 `json:"tokens,omitzero"`
	// Time is wall time.
	Time time.Duration `json:"time,omitzero"`
}

// Merge returns c overridden by over. An empty value in over leaves that of c; Tools
// override unless they are nil. Rules for senders add up. Sections override by name, each as a whole.
func (c AgentConfig) Merge(over AgentConfig) AgentConfig {
	c.Name = cmp.Or(over.Name, c.Name)
	c.Description = cmp.Or(over.Description, c.Description)
	c.Model = c.Model.Merge(over.Model)
	c.Instructions = cmp.Or(over.Instructions, c.Instructions)
	c.Loop = cmp.Or(over.Loop, c.Loop)
	c.Limits.Steps = cmp.Or(over.Limits.Steps, c.Limits.Steps)
	c.Limits.Tokens = cmp.Or(over.Limits.Tokens, c.Limits.Tokens)
	c.Limits.Time = cmp.Or(over.Limits.Time, c.Limits.Time)
	if over.Tools != nil {
		c.Tools = slices.Clone(over.Tools)
	}
	c.Senders = slices.Concat(c.Senders, over.Senders)
	for _, s := range over.sections {
		c = c.WithSection(s.name, s.body)
	}
	return c
}

// ToolName returns the public name of a hook's own tool: under a prefix, the
// prefix and the local name.
func (c *AgentConfig) ToolName(local string) string { return c.prefix + local }

// Prefixed returns the configuration as the owner under one more prefix sees it.
// Composites use it.
func (c *AgentConfig) Prefixed(prefix string) *AgentConfig {
	out := *c
	out.prefix += prefix
	return &out
}

// WithHost returns c with the runtime's host. The runtime uses it.
func (c AgentConfig) WithHost(h Host) AgentConfig { c.host = h; return c }

// Host returns the runtime's services for hooks, outside a turn. It is never nil.
func (c *AgentConfig) Host() Host { return hostOr(c.host) }
