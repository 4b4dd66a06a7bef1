package composite

import (
	"context"
	"iter"

	"github.com/grapnel-go/grapnel/hook"
)

var _ hook.Hook = (*Composite)(nil)

// Schema implements [hook.Hook]: the union, in plan order.
func (c *Composite) Schema() []hook.Tool {
	var at string
	defer Blame(hook.PointSchema, &at)
	var out []hook.Tool
	for _, m := range c.at(hook.PointSchema) {
		at = m.path
		out = append(out, Prefixed(m.prefix, m.hook.Schema())...)
	}
	return out
}

// SystemPrompt implements [hook.Hook]: what the members say, in plan order.
func (c *Composite) SystemPrompt(cfg *hook.AgentConfig) string {
	var at string
	defer Blame(hook.PointSystemPrompt, &at)
	var parts []string
	for _, m := range c.at(hook.PointSystemPrompt) {
		at = m.path
		if m.left.Has(hook.PointSchema) {
			parts = append(parts, m.hook.SystemPrompt(m.view(cfg)))
			continue
		}
		parts = append(parts, PromptOf(m.view(cfg), m.hook))
	}
	return JoinPrompts(parts)
}

// ScopedTools implements [hook.Hook]: the union of the scopes.
func (c *Composite) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	var at string
	defer Blame(hook.PointScopedTools, &at)
	var s Scoping
	for _, m := range c.members {
		at = m.path
		var tools []hook.Tool
		var scope hook.Scope
		if !m.left.Has(hook.PointSchema) {
			tools = m.hook.Schema()
		}
		if !m.left.Has(hook.PointScopedTools) {
			scope = m.hook.ScopedTools(m.view(cfg))
		}
		s.Add(m.prefix, tools, scope)
	}
	return s.Scope()
}

// at yields the members that are called at a method of hook.Hook, with their
// position in the plan.
func (c *Composite) at(p hook.Point) iter.Seq2[int, *member] {
	return func(yield func(int, *member) bool) {
		for i := range c.members {
			if m := &c.members[i]; !m.left.Has(p) && !yield(i, m) {
				return
			}
		}
	}
}

// view returns the configuration as the member sees it.
func (m *member) view(cfg *hook.AgentConfig) *hook.AgentConfig {
	if m.prefix == "" {
		return cfg
	}
	return cfg.Prefixed(m.prefix)
}

// OnBuildAgent implements [hook.Hook]: a fold.
func (c *Composite) OnBuildAgent(ctx context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	about := func(v *hook.AgentConfig) any { return v }
	return fold(ctx, c, hook.PointOnBuildAgent, cfg, about, cfg.Host(), func(ctx context.Context, h hook.Hook, v hook.AgentConfig) (hook.AgentConfig, error) {
		return h.OnBuildAgent(ctx, v)
	})
}

// Preprocess implements [hook.Hook]: a fold.
func (c *Composite) Preprocess(ctx context.Context, t *hook.Turn, in hook.Input) (hook.Input, error) {
	about := func(*hook.Input) any { return t }
	return fold(ctx, c, hook.PointPreprocess, in, about, turnHost{t: t}, func(ctx context.Context, h hook.Hook, v hook.Input) (hook.Input, error) {
		return h.Preprocess(ctx, t, v)
	})
}

// OnRegisterAgent implements [hook.Hook]: in order; on failure those before are
// unregistered in reverse order.
func (c *Composite) OnRegisterAgent(ctx context.Context, cfg *hook.AgentConfig) error {
	b := c.bracket(hook.PointOnRegisterAgent)
	for i, m := range c.at(hook.PointOnRegisterAgent) {
		if !m.match.place(cfg) {
			continue
		}
		b.At = i + 1
		r := c.record(i, hook.PointOnRegisterAgent, cfg).in(&b.walk)
		openOne(ctx, &b, func(ctx context.Context) error { return m.hook.OnRegisterAgent(ctx, cfg) })
		if r != nil {
			r.end(ctx, &b.walk, cfg.Host())
		}
		if b.Err() != nil {
			c.unregister(ctx, i, cfg)
			return b.Err()
		}
	}
	return nil
}

// OnUnregisterAgent implements [hook.Hook]: in reverse order.
func (c *Composite) OnUnregisterAgent(ctx context.Context, cfg *hook.AgentConfig) {
	c.unregister(ctx, len(c.members), cfg)
}

// unregister unregisters the first n members.
func (c *Composite) unregister(ctx context.Context, n int, cfg *hook.AgentConfig) {
	f := NewFan(hook.PointOnUnregisterAgent, c.table(hook.PointOnUnregisterAgent))
	for i := n - 1; i >= 0; i-- {
		m := &c.members[i]
		if m.left.Has(hook.PointOnUnregisterAgent) || !m.match.place(cfg) {
			continue
		}
		f.At = i + 1
		r := c.record(i, hook.PointOnUnregisterAgent, cfg).in(&f.walk)
		tell(ctx, &f, func(ctx context.Context) { m.hook.OnUnregisterAgent(ctx, cfg) })
		if r != nil {
			r.end(ctx, &f.walk, cfg.Host())
		}
	}
	f.Report(ctx, cfg.Host())
}

func (c *Composite) bracket(p hook.Point) Bracket { return NewBracket(p, c.table(p)) }

// table returns the members as the point sees them, in plan order.
func (c *Composite) table(p hook.Point) []Member { return c.tables[p] }

// Dispatch implements [hook.Hook]: static tools go to their owner, anything else
// to whoever takes it, in plan order.
func (c *Composite) Dispatch(ctx context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if r, ok := c.routes[call.Name()]; ok {
		return c.dispatch(ctx, r.member, call, r.local)
	}
	for i, m := range c.at(hook.PointDispatch) {
		local, ok := m.local(call.Name())
		if !ok {
			continue
		}
		if inv, ok := c.dispatch(ctx, i, call, local); ok {
			return inv, true
		}
	}
	return hook.Invocation{}, false
}

// dispatch asks the i-th member, which knows the tool by its local name. Who
// says that the tool is another's is not recorded.
func (c *Composite) dispatch(ctx context.Context, i int, call *hook.ToolCall, local string) (hook.Invocation, bool) {
	m, asked := &c.members[i], call
	if m.prefix != "" {
		asked = call.As(local)
	}
	r := c.record(i, hook.PointDispatch, call)
	inv, ok := m.hook.Dispatch(ctx, asked)
	if r != nil && ok {
		r.bound(ctx, call.Host(), inv)
	}
	return inv, ok
}

// OnEvent implements [hook.Hook]: every member is told.
func (c *Composite) OnEvent(ctx context.Context, ev hook.Event) {
	f := NewFan(hook.PointOnEvent, c.table(hook.PointOnEvent))
	for i, m := range c.at(hook.PointOnEvent) {
		if !m.match.place(ev) {
			continue
		}
		f.At = i + 1
		tell(ctx, &f, func(ctx context.Context) { m.hook.OnEvent(ctx, ev) })
	}
	if f.Failed() {
		f.Report(ctx, ev.Host())
	}
}

// DispatchAll runs bound calls; see [DispatchAll].
func (c *Composite) DispatchAll(ctx context.Context, calls []Call, o *DispatchOptions, done func(int, Completion)) []Completion {
	return DispatchAll(ctx, calls, o, done)
}

// openOne opens or closes one member.
func openOne(ctx context.Context, b *Bracket, call func(context.Context) error) {
	defer b.Recover()
	if b.current().Timeout > 0 {
		b.Set(b.Timed(ctx, call))
		return
	}
	b.Set(call(ctx))
}

// tell calls one observer.
func tell(ctx context.Context, f *Fan, call func(context.Context)) {
	defer f.Recover()
	if f.current().Timeout > 0 {
		f.Timed(ctx, call)
		return
	}
	call(ctx)
}

// turnHost finds the host of a turn only when there is something to emit.
type turnHost struct {
	hook.NoHost
	t *hook.Turn
}

func (h turnHost) Emit(ctx context.Context, ev hook.Event) {
	if h.t != nil {
		h.t.Host().Emit(ctx, ev)
	}
}

// fold passes v through the members of a facade method; about is the place that
// match= looks at.
func fold[T any](ctx context.Context, c *Composite, p hook.Point, v T, about func(*T) any, host hook.Host,
	call func(context.Context, hook.Hook, T) (T, error)) (T, error) {
	f := NewFold(p, c.table(p), v)
	for i, m := range c.at(p) {
		if !m.match.place(about(&f.Value)) {
			continue
		}
		if f.err != nil {
			skip[hook.Hook](ctx, c, i, p, about(&f.Value), host, c.culprit(f.err))
			continue
		}
		f.At = i + 1
		r := rewriting(c.record(i, p, nil), &f)
		foldOne(ctx, &f, func(ctx context.Context, v T) (T, error) { return call(ctx, m.hook, v) })
		if r != nil {
			rewritten(ctx, r, &f, host)
		} else if f.err != nil {
			break
		}
	}
	f.Report(ctx, host)
	return f.Value, f.Err()
}

func foldOne[T any](ctx context.Context, f *Fold[T], call func(context.Context, T) (T, error)) {
	defer f.Recover()
	if f.current().Timeout > 0 {
		f.Set(f.Timed(ctx, call))
		return
	}
	f.Set(call(ctx, f.Value))
}
