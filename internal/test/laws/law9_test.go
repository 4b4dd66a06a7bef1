package laws_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/laws"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Law 9: scope is one object: what is advertised is what is enforced, before any
// Dispatch is reached; nil means all, empty means none; effective tools are those of
// the configuration and of every hook's scope; an unknown agent has nothing; a child
// has what its parent and it have both.

// realm is one round: what the agents a and b may use, by their configurations and
// their hooks, and what was seen of it. A list that is nil is all.
type realm struct {
	names []string
	// cfg are the configured tools, by agent; scopes those of each hook, by agent and
	// hook.
	cfg    map[string][]string
	scopes map[string]map[string][]string
	// given are those of the run of b by a; child says what it runs: b, or an agent that
	// nobody knows.
	given []string
	child string
	// called are the tools that both models call.
	called []string

	seen map[string]*sight
	ran  error
}

// sight is what was seen of one agent: the tools that its model was told of, those
// that owners were asked for, and those that ran.
type sight struct{ told, asked, ran []string }

// The tools of a hook are its name with a number. The first hook also has run, which
// runs the child.
func (m *realm) all() (out []string) {
	for i, name := range m.names {
		if i == 0 {
			out = append(out, "run")
		}
		out = append(out, name+"1", name+"2")
	}
	return out
}

// drawTools draws nil, none, or some of the names.
func drawTools(r *rand.Rand, names []string) []string {
	switch r.IntN(5) {
	case 0, 1:
		return nil
	case 2:
		if r.IntN(3) == 0 {
			return []string{}
		}
	}
	some := []string{}
	for _, name := range names {
		if r.IntN(3) > 0 {
			some = append(some, name)
		}
	}
	return some
}

func drawRealm(r *rand.Rand, names []string) *realm {
	m := &realm{names: names, cfg: map[string][]string{}, scopes: map[string]map[string][]string{}, child: "b"}
	for _, agent := range []string{"a", "b"} {
		if m.cfg[agent] = drawTools(r, m.all()); m.cfg[agent] != nil && r.IntN(4) > 0 {
			m.cfg[agent] = append(m.cfg[agent], "run")
		}
		m.scopes[agent] = map[string][]string{}
		for i, name := range names {
			if r.IntN(2) == 0 {
				continue
			}
			// A hook may also name what is not its own: that widens nothing.
			m.scopes[agent][name] = drawTools(r, []string{name + "1", name + "2", names[0] + "1", "nobodys"})
			if i == 0 && m.scopes[agent][name] != nil && r.IntN(4) > 0 {
				m.scopes[agent][name] = append(m.scopes[agent][name], "run")
			}
		}
	}
	if m.given = drawTools(r, m.all()); r.IntN(3) > 0 { // mostly what the parent has
		own := m.effective("a")
		m.given = slices.DeleteFunc(m.given, func(name string) bool { return !slices.Contains(own, name) })
	}
	if r.IntN(10) == 0 {
		m.child = "nobody"
	}
	for _, name := range m.all() {
		if name == "run" || r.IntN(3) == 0 {
			m.called = append(m.called, name)
		}
	}
	return m
}

func allowed(list []string, name string) bool { return list == nil || slices.Contains(list, name) }

// effective are the tools of an agent by the law.
func (m *realm) effective(agent string) (out []string) {
	for _, name := range m.all() {
		owner := name[:1]
		if name == "run" {
			owner = m.names[0]
		}
		if allowed(m.cfg[agent], name) && allowed(m.scopes[agent][owner], name) {
			out = append(out, name)
		}
	}
	return out
}

// childs are the tools of the child, and whether it runs at all.
func (m *realm) childs() (out []string, runs bool) {
	own := m.effective("a")
	if !slices.Contains(own, "run") || m.child != "b" {
		return nil, false
	}
	for _, name := range m.given {
		if !slices.Contains(own, name) {
			return nil, false
		}
	}
	for _, name := range m.effective("b") {
		if slices.Contains(own, name) && allowed(m.given, name) {
			out = append(out, name)
		}
	}
	return out, true
}

// subject is a hook of the realm.
type subject struct {
	silent
	name  string
	first bool
	m     *realm
}

var _ laws.Part = subject{}

func (x subject) Schema() []message.Tool {
	tools := []message.Tool{{Name: x.name + "1"}, {Name: x.name + "2"}}
	if x.first {
		tools = append([]message.Tool{{Name: "run", Waits: true}}, tools...)
	}
	return tools
}

func (x subject) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	return hook.Scope{Tools: x.m.scopes[cfg.Name][x.name]}
}

func (x subject) RewriteRequest(_ context.Context, s *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	if x.first && s.Number() == 1 {
		for _, tool := range req.Tools.Tools().All() {
			x.m.at(s).told = append(x.m.at(s).told, tool.Name)
		}
	}
	return req, nil
}

func (m *realm) at(s *hook.Step) *sight {
	agent := s.Turn().Agent().Name
	if m.seen[agent] == nil {
		m.seen[agent] = &sight{}
	}
	return m.seen[agent]
}

func (x subject) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if !slices.ContainsFunc(x.Schema(), func(t message.Tool) bool { return t.Name == call.Name() }) {
		return hook.Invocation{}, false
	}
	at := x.m.at(call.Step())
	at.asked = append(at.asked, call.Name())
	return hook.Bound(call.Args(), &tool{message.Tool{}, func(ctx context.Context, env *hook.Env) message.ToolResult {
		if call.Name() == "run" && call.Step().Turn().Depth() == 0 {
			_, x.m.ran = call.Host().RunAgent(ctx, hook.AgentRun{Agent: x.m.child, Input: message.TextInput("go"), Tools: x.m.given, Call: env.Call})
		}
		return message.ToolResult{}
	}}), true
}

// check plays the round on h and says what breaks the law.
func (m *realm) check(t *testing.T, c *cast, h hook.Hook) error {
	m.seen, m.ran = map[string]*sight{}, nil
	for i, name := range c.names {
		c.actors[name].Part = subject{name: name, first: i == 0, m: m}
	}
	every := script.Rule{When: &script.When{Step: 1}}
	for _, name := range m.called {
		every.Calls = append(every.Calls, script.Call{Tool: name})
	}
	s := open(t, h, script.New(every, script.Rule{When: &script.When{}, Say: "done"}), runtime.Options{},
		hook.AgentConfig{Name: "a", Tools: m.cfg["a"]}, hook.AgentConfig{Name: "b", Tools: m.cfg["b"]})
	defer s.close(t)
	_, err := s.send(t.Context(), "go")
	require.NoError(t, err)
	for _, ev := range s.events {
		if at := m.seen[ev.Agent]; ev.Kind == event.CallResult && at != nil && ev.Detail().Outcome == message.OutcomeExecuted {
			at.ran = append(at.ran, ev.Detail().Tool)
		}
	}
	if _, err := dialog.Conversation(t.Context(), s.rt, "nobody", "ann"); !errors.Is(err, runtime.ErrAgentUnknown) {
		return fmt.Errorf("there is a conversation with an agent that nobody knows: %v", err)
	}
	childs, runs := m.childs()
	if err := m.judge("a", m.effective("a"), true); err != nil {
		return err
	}
	if slices.Contains(m.effective("a"), "run") && runs != (m.ran == nil) {
		return fmt.Errorf("the child runs: %v, and has to: %v", m.ran, runs)
	}
	return m.judge("b", childs, runs)
}

// judge compares what was seen of an agent with its tools.
func (m *realm) judge(agent string, tools []string, runs bool) error {
	at := m.seen[agent]
	if at == nil {
		at = &sight{}
	}
	if !runs {
		tools = nil
	}
	slices.Sort(at.ran) // they run at once
	called := slices.DeleteFunc(slices.Clone(tools), func(name string) bool { return !slices.Contains(m.called, name) })
	sorted := slices.Sorted(slices.Values(called))
	switch {
	case !slices.Equal(tools, at.told):
		return fmt.Errorf("%s is told of %v, and has %v", agent, at.told, tools)
	case !slices.Equal(called, at.asked):
		return fmt.Errorf("owners are asked for %v of %s, which has %v", at.asked, agent, called)
	case !slices.Equal(sorted, at.ran):
		return fmt.Errorf("of %s run %v, and it has %v", agent, at.ran, sorted)
	}
	return nil
}

// kind names a list for what has to have occurred.
func kind(list []string) string {
	switch {
	case list == nil:
		return "nil"
	case len(list) == 0:
		return "empty"
	}
	return "some"
}

func TestLaw9WhatIsAdvertisedIsWhatIsEnforced(t *testing.T) {
	t.Parallel()
	seed := needs.Seed(t)
	r, casts, seen := rand.New(rand.NewPCG(seed, 9)), newCasts(t), map[string]int{}
	kinds := []string{"nil", "empty", "some"}
	want := []string{"unknown true"}
	for _, one := range kinds {
		for _, two := range kinds {
			want = append(want, "configured "+one+", scope "+two)
			for _, three := range kinds {
				if one != "empty" && two != "empty" && three != "empty" {
					want = append(want, fmt.Sprint("child of ", one, ", own ", two, ", given ", three, " runs true with tools true"))
				}
			}
		}
	}
	for round, played := 0, 0; !enough(played, seen, want); round++ {
		names := drawSet(r).names
		names = names[:min(len(names), 3+r.IntN(4))]
		m, c := drawRealm(r, names), casts.of(names)
		for name, h := range c.subjects(round) {
			require.NoError(t, m.check(t, c, h), "seed %d, round %d, %s: %+v", seed, round, name, m)
		}
		played += len(m.seen)
		for _, agent := range []string{"a", "b"} {
			for _, name := range names {
				seen["configured "+kind(m.cfg[agent])+", scope "+kind(m.scopes[agent][name])]++
			}
		}
		tools, runs := m.childs()
		seen[fmt.Sprint("child of ", kind(m.cfg["a"]), ", own ", kind(m.cfg["b"]), ", given ", kind(m.given), " runs ", runs, " with tools ", len(tools) > 0)]++
		seen[fmt.Sprint("unknown ", m.child == "nobody" && m.ran != nil)]++
	}
	assertSeen(t, seen, want)
}

// lax is a composite that breaks the law in one of several ways.
type lax struct {
	laws.Part
	how string
}

func (x lax) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	scope := x.Part.ScopedTools(cfg)
	switch {
	case x.how == "hooks' scopes do not count":
		return hook.Scope{}
	case x.how == "empty is all" && scope.Tools != nil && len(scope.Tools) == 0:
		return hook.Scope{}
	}
	return scope
}

func (x lax) RewriteRequest(ctx context.Context, s *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	if x.how == "more is advertised than enforced" {
		req.Tools = message.NewToolSet(append(req.Tools.Tools().Slice(), message.Tool{Name: "extra"}))
	}
	return x.Part.RewriteRequest(ctx, s, req)
}

func (x lax) OnBuildAgent(ctx context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	switch {
	case x.how == "the configuration does not count":
		cfg.Tools = nil
	case x.how == "a child's configuration does not count" && cfg.Name == "b":
		cfg.Tools = nil
	}
	return x.Part.OnBuildAgent(ctx, cfg)
}

// TestLaw9IsTested: the check catches what breaks the law.
func TestLaw9IsTested(t *testing.T) {
	t.Parallel()
	casts := newCasts(t)
	for _, how := range []string{
		"hooks' scopes do not count", "empty is all", "more is advertised than enforced", "the configuration does not count", "a child's configuration does not count",
	} {
		requireCaught(t, how, 9, func(r *rand.Rand) error {
			c := casts.of([]string{"A", "C"}[:1+r.IntN(2)])
			return drawRealm(r, c.names).check(t, c, lax{Part: c.six(), how: how})
		})
	}
}
