package hooktest

import (
	"context"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// probe is one application of one rule.
type probe struct {
	ctx     context.Context
	newHook func() hook.Hook
	o       Options
	// quiet: only the rule "lifecycle" reports a broken lifecycle.
	quiet bool
	found []string
}

// apply checks the rule; a panic of the hook is a violation of it.
func (r Rule) apply(ctx context.Context, newHook func() hook.Hook, o *Options) []Violation {
	p := &probe{ctx: ctx, quiet: r.ID != "lifecycle"}
	p.newHook = func() hook.Hook { return p.run(newHook()) }
	if o != nil {
		p.o = *o
	}
	p.guard("the hook", func() { r.check(p) })
	found := make([]Violation, len(p.found))
	for i, f := range p.found {
		found[i] = Violation{Rule: r.ID, Reason: r.Reason, Found: f}
	}
	return found
}

// run returns the hook as a runtime runs it: of a generated composite the result of Compose.
func (p *probe) run(h hook.Hook) hook.Hook {
	c, err := composite.From(h)
	switch {
	case err != nil:
		p.failf("a runtime refuses the hook: %v", err)
	case c == h || c.Self() != nil:
		return c
	}
	return h
}

func (p *probe) failf(format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf(format, args...))
}

// broken reports a broken lifecycle, unless the probe is quiet.
func (p *probe) broken(format string, args ...any) {
	if !p.quiet {
		p.failf(format, args...)
	}
}

// guard calls f and turns a panic into a finding.
func (p *probe) guard(what string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			p.failf("%s panicked: %v", what, v)
		}
	}()
	f()
}

// subject is an open hook with a registered agent.
type subject struct {
	hook  hook.Hook
	cfg   *hook.AgentConfig
	host  *Recorder
	turn  *hook.Turn
	tools []message.Tool
}

func (s *subject) call(tool string, args message.JSON) *hook.ToolCall {
	return Call(Step(s.turn), tool, args)
}

// open returns a fresh opened hook and the function that closes it.
func (p *probe) open() (h hook.Hook, host *Recorder, done func(), ok bool) {
	if h = p.newHook(); h == nil {
		h = hook.Nop{}
	}
	host = &Recorder{}
	if o, has := h.(hook.OnOpen); has {
		if err := o.OnOpen(p.ctx, host); err != nil {
			p.broken("OnOpen: %v", err)
			return h, host, nil, false
		}
	}
	return h, host, func() {
		c, has := h.(hook.OnClose)
		if !has {
			return
		}
		if err := c.OnClose(context.WithoutCancel(p.ctx)); err != nil {
			p.broken("OnClose: %v", err)
		}
	}, true
}

// register builds and registers an agent; done unregisters it.
func (p *probe) register(h hook.Hook, host hook.Host, name string) (cfg *hook.AgentConfig, done func(), ok bool) {
	want := p.o.Agent.WithHost(host)
	want.Name, want.Tools = name, slices.Clone(want.Tools)
	built, err := h.OnBuildAgent(p.ctx, want)
	if err != nil {
		p.broken("OnBuildAgent of agent %q: %v", name, err)
		return nil, nil, false
	}
	if err := h.OnRegisterAgent(p.ctx, &built); err != nil {
		p.broken("OnRegisterAgent of agent %q: %v", name, err)
		return nil, nil, false
	}
	return &built, func() { h.OnUnregisterAgent(context.WithoutCancel(p.ctx), &built) }, true
}

// with calls f with a fresh, opened hook and one agent, and closes both afterwards.
func (p *probe) with(f func(s *subject)) {
	h, host, closing, ok := p.open()
	if !ok {
		return
	}
	defer closing()
	cfg, unregister, ok := p.register(h, host, "tester")
	if !ok {
		return
	}
	defer unregister()
	turn := Turn(Conversation(cfg, host), "hello")
	f(&subject{hook: h, cfg: cfg, host: host, turn: turn, tools: h.Schema()})
}

// eachTool calls f for every tool with a readable schema; the rule "schema-valid" reports
// the others.
func (p *probe) eachTool(f func(s *subject, t message.Tool, in *schema)) {
	p.with(func(s *subject) {
		for _, t := range s.tools {
			if in, err := parseSchema(t.Input); err == nil {
				p.guard("Dispatch of "+t.Name, func() { f(s, t, in) })
			}
		}
	})
}

// own reports whether the hook's author wrote the tool's schema.
func (p *probe) own(t message.Tool) bool { return p.o.Foreign == nil || !p.o.Foreign(t) }

func (p *probe) example(t message.Tool, in *schema) message.JSON {
	if args, ok := p.o.Args[t.Name]; ok {
		return args
	}
	return in.example()
}
