package composite

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

var _ hook.Hook = (*Composite)(nil)

// Schema implements [hook.Hook]: the union, in plan order.
func (c *Composite) Schema() []message.Tool {
	if c.own.Has(point.Schema) {
		return c.self.Schema()
	}
	var at string
	defer blame(point.Schema, &at)
	var out []message.Tool
	for i := range c.entries.schema {
		m := &c.members[c.entries.schema[i].index]
		at = m.path
		out = append(out, prefixed(m.prefix, m.hook.Schema())...)
	}
	return out
}

// SystemPrompt implements [hook.Hook]: the prompts of the members, in plan order.
func (c *Composite) SystemPrompt(cfg *hook.AgentConfig) string {
	var parts []string
	for _, p := range c.Prompts(cfg) {
		parts = append(parts, p.Text)
	}
	return joinPrompts(parts)
}

// Prompt is the SystemPrompt of one member.
type Prompt struct {
	// By is the path of the member; "" is the composite itself.
	By, Text string
}

// Prompts returns what SystemPrompt joins, with those of members of members one by one. Some may be empty.
func (c *Composite) Prompts(cfg *hook.AgentConfig) []Prompt {
	if c.own.Has(point.SystemPrompt) {
		return []Prompt{{Text: c.self.SystemPrompt(cfg)}}
	}
	var at string
	defer blame(point.SystemPrompt, &at)
	var out []Prompt
	for i := range c.entries.systemPrompt {
		m := &c.members[c.entries.systemPrompt[i].index]
		at = m.path
		for _, p := range m.prompts(m.view(cfg)) {
			out = append(out, Prompt{within(m.path, p.By), p.Text})
		}
	}
	return out
}

// prompts returns the prompts of a member; none if the agent has none of its tools. A nested composite checks that for its own members.
func (m *member) prompts(cfg *hook.AgentConfig) []Prompt {
	if nested, ok := m.hook.(*Composite); ok {
		return nested.Prompts(cfg)
	}
	if !m.excluded.Has(point.Schema) && !offers(cfg, m.hook.Schema()) {
		return nil
	}
	return []Prompt{{Text: m.hook.SystemPrompt(cfg)}}
}

// ScopedTools implements [hook.Hook]: the union of the scopes.
func (c *Composite) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	if c.own.Has(point.ScopedTools) {
		return c.self.ScopedTools(cfg)
	}
	var at string
	defer blame(point.ScopedTools, &at)
	var s scoping
	for _, m := range c.members {
		at = m.path
		var tools []message.Tool
		var scope hook.Scope
		if !m.excluded.Has(point.Schema) {
			tools = m.hook.Schema()
		}
		if !m.excluded.Has(point.ScopedTools) {
			scope = m.hook.ScopedTools(m.view(cfg))
		}
		s.add(m.prefix, tools, scope)
	}
	return s.scope()
}

func (m *member) view(cfg *hook.AgentConfig) *hook.AgentConfig {
	if m.prefix == "" {
		return cfg
	}
	return cfg.Prefixed(m.prefix)
}

// OnBuildAgent implements [hook.Hook]: a fold.
func (c *Composite) OnBuildAgent(ctx context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	call := func(h hook.Hook, ctx context.Context, _ *hook.AgentConfig, v hook.AgentConfig) (hook.AgentConfig, error) {
		return h.OnBuildAgent(ctx, v)
	}
	return rewrite(ctx, c, point.OnBuildAgent, c.entries.onBuildAgent, &cfg, cfg, call)
}

// Preprocess implements [hook.Hook]: a fold.
func (c *Composite) Preprocess(ctx context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	call := func(h hook.Hook, ctx context.Context, at maybeTurn, v message.Input) (message.Input, error) {
		return h.Preprocess(ctx, at.turn, v)
	}
	return rewrite(ctx, c, point.Preprocess, c.entries.preprocess, maybeTurn{t}, in, call)
}

// maybeTurn is the place of Preprocess, whose turn may be nil.
type maybeTurn struct{ turn *hook.Turn }

func (m maybeTurn) Host() hook.Host {
	if m.turn == nil {
		return hook.NoHost{}
	}
	return m.turn.Host()
}

// Dispatch implements [hook.Hook]: calls of static tools go to their owner, others to the
// first member in plan order that binds them.
func (c *Composite) Dispatch(ctx context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if c.own.Has(point.Dispatch) {
		return c.self.Dispatch(ctx, call)
	}
	if i := c.owner(call.Name()); i >= 0 {
		local, _ := c.members[i].local(call.Name())
		return c.dispatch(ctx, i, call, local)
	}
	for i := range c.entries.dispatch {
		at := c.entries.dispatch[i].index
		local, ok := c.members[at].local(call.Name())
		if !ok {
			continue
		}
		if inv, ok := c.dispatch(ctx, at, call, local); ok {
			return inv, true
		}
	}
	return hook.Invocation{}, false
}

// dispatch calls the i-th member with the local name of the tool. A member that does not bind
// the call has no run.
func (c *Composite) dispatch(ctx context.Context, i int, call *hook.ToolCall, local string) (hook.Invocation, bool) {
	m, asked := &c.members[i], call
	if m.prefix != "" {
		asked = call.As(local)
	}
	r := c.record(i, point.Dispatch, call)
	inv, ok := m.hook.Dispatch(ctx, asked)
	if r != nil && ok {
		r.endDispatch(ctx, call.Host(), inv)
	}
	return inv, ok
}

// OnEvent implements [hook.Hook]: every member gets the event.
func (c *Composite) OnEvent(ctx context.Context, ev hook.Event) {
	call := func(h hook.Hook, ctx context.Context, ev hook.Event, _ none) { h.OnEvent(ctx, ev) }
	observe(ctx, c, point.OnEvent, c.entries.onEvent, ev, none{}, call, nil)
}

// DispatchAll runs bound calls; see [DispatchAll].
func (c *Composite) DispatchAll(ctx context.Context, calls []Call, o *DispatchOptions, done func(int, Completion)) []Completion {
	return DispatchAll(ctx, calls, o, done)
}
