package hooktest

import (
	"reflect"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

func checkLifecycle(p *probe) {
	p.with(func(*subject) {})
	p.guard("a hook without an agent", func() {
		if _, _, done, ok := p.open(); ok {
			done()
		}
	})
}

func checkBalanced(p *probe) {
	h, host, closing, ok := p.open()
	if !ok {
		return
	}
	defer closing()
	p.quiet = false
	before := h.Schema()
	for range 2 {
		_, done, ok := p.register(h, host, "tester")
		if !ok {
			return
		}
		_, other, ok := p.register(h, host, "other")
		done()
		if !ok {
			return
		}
		other()
	}
	p.quiet = true
	if after := h.Schema(); len(before) != len(after) {
		p.failf("there were %d tools before the first agent was registered, and %d after all were unregistered", len(before), len(after))
	}
}

func checkBuild(p *probe) {
	h, host, closing, ok := p.open()
	if !ok {
		return
	}
	defer closing()
	in := p.o.Agent.WithHost(host)
	in.Name, in.Instructions = "tester", "Be brief."
	for _, tools := range [][]string{nil, {}, {"hooktest_tool"}} {
		in.Tools = slices.Clone(tools)
		out, err := h.OnBuildAgent(p.ctx, in)
		if err != nil {
			continue // the rule "lifecycle" reports it, or the hook rightly refuses the tool
		}
		if out.Name != in.Name {
			p.failf("OnBuildAgent renames agent %q to %q", in.Name, out.Name)
		}
		if !reflect.DeepEqual(out.Tools, tools) || (out.Tools == nil) != (tools == nil) {
			p.failf("OnBuildAgent changes the agent's tools %#v to %#v", tools, out.Tools)
		}
		if !reflect.DeepEqual(in.Tools, tools) {
			p.failf("OnBuildAgent writes into the list of tools in its argument")
		}
	}
}

func checkPrompt(p *probe) {
	p.with(func(s *subject) {
		first := s.hook.SystemPrompt(s.cfg)
		if second := s.hook.SystemPrompt(s.cfg); second != first {
			p.failf("SystemPrompt answers %q, then %q", first, second)
		}
	})
}

func checkScope(p *probe) {
	p.with(func(s *subject) {
		scope := s.hook.ScopedTools(s.cfg)
		for i, name := range scope.Tools {
			if _, own := find(s.tools, name); !own && !message.IsPattern(name) {
				p.failf("ScopedTools names %q, which is not in the schema", name)
			}
			if slices.Contains(scope.Tools[:i], name) {
				p.failf("ScopedTools names %q twice", name)
			}
		}
		if again := s.hook.ScopedTools(s.cfg); !reflect.DeepEqual(again, scope) {
			p.failf("ScopedTools answers %+v, then %+v", scope, again)
		}
	})
}

func checkPreprocess(p *probe) {
	p.with(func(s *subject) {
		for _, text := range []string{"hello", "What is 1/2 of it?", "two\n\nparagraphs ", ""} {
			in := message.TextInput(text)
			out, err := s.hook.Preprocess(p.ctx, s.turn, in)
			if err != nil {
				p.failf("Preprocess refuses the plain text %q: %v", text, err)
				continue
			}
			if !reflect.DeepEqual(out.Messages.Slice(), in.Messages.Slice()) {
				p.failf("Preprocess changes the plain text %q to %q in %d messages", text, out.Text(), out.Messages.Len())
			}
		}
	})
}

func checkEvents(p *probe) {
	p.with(func(s *subject) {
		kinds := []hook.EventKind{"", "hooktest_unknown", event.TurnStart, event.CallStart,
			event.CallResult, event.Usage, event.TurnEnd, event.AgentRegistered, event.HookFailed}
		for _, kind := range kinds {
			p.guard("OnEvent with kind "+quote(string(kind)), func() {
				s.hook.OnEvent(p.ctx, hook.Event{Kind: kind})
				s.hook.OnEvent(p.ctx, hook.Event{Kind: kind}.WithHost(s.host).WithDetail(hook.EventDetail{}))
			})
		}
	})
}

func checkPoints(p *probe) {
	h, _, closing, ok := p.open()
	if !ok {
		return
	}
	defer closing()
	has := reflect.TypeOf(h)
	for at := range point.Of(h).All() {
		if _, ok := has.MethodByName(at.String()); !ok {
			p.failf("the hook claims the point %s and has no such method", at)
		}
	}
	if again := point.Of(h); again != point.Of(h) {
		p.failf("the hook claims other points in each call of Points")
	}
}
