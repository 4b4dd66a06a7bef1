package laws_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/laws"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Law 8: one owner per tool. Run-time tools are routed after static ones and never
// shadow them; a collision at run time is an error at registration, never a silent
// winner or a rename. Under a prefix only the owner's Schema, ScopedTools and Dispatch
// see local names; all others, its own BeforeTool included, see the public one.

// stalls are the owners with the prefix of their names, in plan order. What K and P
// have is known when the composite is made.
var stalls = []struct {
	owner, prefix string
	own           []string
}{
	{"D", "", []string{"d1", "d2"}}, {"K", "", []string{"read", "write"}}, {"P", "p_", []string{"read", "write"}},
	{"Q", "q_", []string{"one", "two"}}, {"Extra[0]", "", []string{"e1", "e2"}}, {"Extra[1]", "", []string{"f1", "f2"}},
}

// contested are names that several owners may have, or one that has none.
var contested = []string{"read", "p_write", "q_one", "common", "one"}

// market is one round: which tools the owners have, by their own names, and what was
// seen of it.
type market struct {
	local map[string][]string
	// scope are Q's tools in scope by their own names; nil is all.
	scope []string
	// greedy owners bind static tools of others too, if they are asked.
	greedy bool

	bound, judged []string
	prompt        string
	mu            sync.Mutex
	ran           []string
}

func (m *market) runs(what string) {
	m.mu.Lock()
	m.ran = append(m.ran, what)
	m.mu.Unlock()
}

func drawMarket(r *rand.Rand) *market {
	m := &market{local: map[string][]string{}, greedy: r.IntN(2) == 0}
	for _, s := range stalls {
		if m.local[s.owner] = s.own; s.owner == "K" || s.owner == "P" {
			continue
		}
		m.local[s.owner] = s.own[:r.IntN(3)]
		if r.IntN(6) == 0 {
			m.local[s.owner] = append(slices.Clone(m.local[s.owner]), contested[r.IntN(len(contested))])
		}
	}
	if r.IntN(3) == 0 {
		m.scope = []string{"one", "read"}
	}
	return m
}

// public are all tools by their public names, with their owners.
func (m *market) public() map[string][]string {
	out := map[string][]string{}
	for _, s := range stalls {
		for _, name := range m.local[s.owner] {
			out[s.prefix+name] = append(out[s.prefix+name], s.owner)
		}
	}
	return out
}

// trader is an owner of tools that are known at run time.
type trader struct {
	silent
	name string
	m    *market
}

var _ laws.Part = trader{}

func (x trader) Schema() (out []message.Tool) {
	for _, name := range x.m.local[x.name] {
		out = append(out, message.Tool{Name: name})
	}
	return out
}

func (x trader) ScopedTools(*hook.AgentConfig) hook.Scope {
	if x.name != "Q" {
		return hook.Scope{}
	}
	return hook.Scope{Tools: x.m.scope}
}

func (x trader) SystemPrompt(cfg *hook.AgentConfig) string {
	x.m.prompt += x.name + " has " + cfg.ToolName("one") + "\n"
	return ""
}

func (x trader) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	has := slices.Contains(x.m.local[x.name], call.Name())
	if has {
		x.m.bound = append(x.m.bound, x.name+" binds "+call.Name())
	}
	greedy := x.m.greedy && slices.Contains([]string{"read", "write", "p_read", "p_write"}, call.Name())
	return hook.Bound(call.Args(), &tool{message.Tool{}, func(context.Context, *hook.Env) message.ToolResult {
		x.m.runs(x.name + " " + call.Name())
		return message.ToolResult{}
	}}), has || greedy
}

func (x trader) BeforeTool(_ context.Context, call *hook.ToolCall) (d hook.ToolDecision, err error) {
	x.m.judged = append(x.m.judged, x.name+" judges "+call.Name())
	return
}

// bazaar is the composites of the owners; the actors play other parts in each round.
type bazaar struct {
	actors    map[string]*laws.Actor
	keepers   map[string]*laws.Keeper
	owners    *laws.Owners
	generated *composite.Composite
	dynamic   hook.Hook
}

func newBazaar(t *testing.T) *bazaar {
	b := &bazaar{actors: map[string]*laws.Actor{}, keepers: map[string]*laws.Keeper{"K": {}, "P": {}}}
	for _, name := range []string{"D", "Q", "Extra[0]", "Extra[1]"} {
		b.actors[name] = &laws.Actor{Part: silent{}}
	}
	a := b.actors
	b.owners = &laws.Owners{D: a["D"], K: b.keepers["K"], P: b.keepers["P"], Q: a["Q"], Extra: []hook.Hook{a["Extra[0]"], a["Extra[1]"]}}
	b.generated = b.owners.Compose()
	made, err := composite.New(b.owners)
	require.NoError(t, err)
	b.dynamic = made
	return b
}

// calls are the names that the model calls.
func (m *market) calls() []string {
	names := slices.Clone(contested)
	for name := range m.public() {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// check plays the round on h and says what breaks the law.
func (m *market) check(t *testing.T, b *bazaar, h hook.Hook) error {
	m.ran, m.bound, m.judged, m.prompt = nil, nil, nil, ""
	for _, s := range stalls {
		if a := b.actors[s.owner]; a != nil {
			a.Part = trader{name: s.owner, m: m}
			continue
		}
		b.keepers[s.owner].Ran = func(tool string) { m.runs(s.owner + " " + tool) }
	}
	all := script.Rule{When: &script.When{Step: 1}}
	for _, name := range m.calls() {
		all.Calls = append(all.Calls, script.Call{Tool: name})
	}
	model := script.New(all, script.Rule{When: &script.When{}, Say: "done"})
	s := &stage{}
	s.rt = runtime.New(h, model, nil)
	require.NoError(t, s.rt.Open(t.Context()))
	defer s.close(t)
	_, err := s.rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
	if twice := m.collisions(); len(twice) > 0 || err != nil {
		return m.refused(s.rt, err, twice)
	}
	s.conv, err = dialog.Conversation(t.Context(), s.rt, "a", "ann")
	require.NoError(t, err)
	_, err = s.send(t.Context(), "go")
	require.NoError(t, err)
	return m.owned(s)
}

func (m *market) collisions() (twice []string) {
	for name, owners := range m.public() {
		if len(owners) > 1 {
			twice = append(twice, name)
		}
	}
	return twice
}

// refused says what is wrong with how the registration ended.
func (m *market) refused(rt *runtime.Runtime, err error, twice []string) error {
	_, known := rt.Agent("a")
	switch {
	case len(twice) == 0:
		return fmt.Errorf("refused without a reason: %w", err)
	case err == nil:
		return fmt.Errorf("%v have two owners, and nobody says so", twice)
	case !errors.Is(known, runtime.ErrAgentUnknown):
		return fmt.Errorf("the agent is there all the same: %v", known)
	case !slices.ContainsFunc(twice, func(name string) bool { return strings.Contains(err.Error(), fmt.Sprintf("%q", name)) }):
		return fmt.Errorf("%v have two owners, and the error is %w", twice, err)
	}
	return nil
}

// owned says what is wrong with who was asked for the calls.
func (m *market) owned(s *stage) error {
	public := m.public()
	var ran, bound, judged, unknown, told []string
	for _, name := range m.calls() {
		owners := public[name]
		local := ""
		if len(owners) == 1 {
			prefix := stalls[slices.IndexFunc(stalls, func(o struct {
				owner, prefix string
				own           []string
			}) bool {
				return o.owner == owners[0]
			})].prefix
			local = strings.TrimPrefix(name, prefix)
		}
		if len(owners) == 0 || owners[0] == "Q" && m.scope != nil && !slices.Contains(m.scope, local) {
			unknown = append(unknown, name)
			continue
		}
		ran = append(ran, owners[0]+" "+local)
		if owners[0] != "K" && owners[0] != "P" {
			bound = append(bound, owners[0]+" binds "+local)
		}
		for _, judge := range []string{"D", "Q", "Extra[0]", "Extra[1]"} {
			judged = append(judged, judge+" judges "+name)
		}
	}
	for _, ev := range s.events {
		if d := ev.Detail(); ev.Kind == event.CallResult && d.Outcome == message.OutcomeUnknown {
			told = append(told, d.Tool)
		}
	}
	slices.Sort(ran)
	slices.Sort(m.ran) // they run at once
	switch {
	case !slices.Equal(ran, m.ran):
		return fmt.Errorf("run were %v, and had to be %v", m.ran, ran)
	case !slices.Equal(bound, m.bound):
		return fmt.Errorf("bound were %v, and had to be %v", m.bound, bound)
	case !slices.Equal(judged, m.judged):
		return fmt.Errorf("judged were %v, and had to be %v", m.judged, judged)
	case !slices.Equal(unknown, told):
		return fmt.Errorf("unknown were %v, and had to be %v", told, unknown)
	case strings.Contains(m.prompt, "Q has") && !strings.Contains(m.prompt, "Q has q_one"):
		return fmt.Errorf("the owner under a prefix names its tool otherwise: %s", m.prompt)
	}
	return nil
}

func TestLaw8EveryToolHasOneOwner(t *testing.T) {
	t.Parallel()
	seed := needs.Seed(t)
	r, b, seen := rand.New(rand.NewPCG(seed, 8)), newBazaar(t), map[string]int{}
	twin := b.generated.Recorded(nil)
	want := []string{"D, K", "D, P", "D, Q", "D, Extra[0]", "D, Extra[1]", "K, Extra[0]", "P, Extra[1]", "Q, Extra[0]", "Q, Extra[1]", "Extra[0], Extra[1]"}
	for i := range 8 {
		want = append(want, fmt.Sprint("greedy ", i&1 > 0, " scope ", i&2 > 0, " fine ", i&4 > 0))
	}
	for round := 0; !enough(round, seen, want); round++ {
		m := drawMarket(r)
		subjects := map[string]hook.Hook{"generated": b.generated, "dynamic": b.dynamic}
		if round%16 == 0 {
			subjects["recording"] = twin
		}
		for name, h := range subjects {
			require.NoError(t, m.check(t, b, h), "seed %d, round %d, %s: %+v", seed, round, name, m)
		}
		for _, owners := range m.public() {
			for i := 1; i < len(owners); i++ {
				seen[owners[i-1]+", "+owners[i]]++
			}
		}
		seen[fmt.Sprint("greedy ", m.greedy, " scope ", m.scope != nil, " fine ", len(m.collisions()) == 0)]++
	}
	assertSeen(t, seen, want)
}

// fence is a composite that breaks the law in one of several ways.
type fence struct {
	hook.Hook
	how    string
	owners *laws.Owners
}

func (f fence) Schema() []message.Tool {
	tools := f.Hook.Schema()
	if f.how == "the first of two wins" {
		known := map[string]bool{}
		tools = slices.DeleteFunc(slices.Clone(tools), func(t message.Tool) bool { twice := known[t.Name]; known[t.Name] = true; return twice })
	}
	return tools
}

func (f fence) Dispatch(ctx context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	switch f.how {
	case "run-time tools come first":
		if inv, ok := f.owners.D.Dispatch(ctx, call); ok {
			return inv, true
		}
	case "the owner gets the public name":
		if strings.HasPrefix(call.Name(), "q_") {
			return f.owners.Q.Dispatch(ctx, call)
		}
	}
	return f.Hook.Dispatch(ctx, call)
}

func (f fence) BeforeTool(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	if f.how == "judges get the local name" {
		call = call.As(strings.TrimPrefix(call.Name(), "q_"))
	}
	return f.Hook.(hook.BeforeTool).BeforeTool(ctx, call)
}

// TestLaw8IsTested: the check catches what breaks the law.
func TestLaw8IsTested(t *testing.T) {
	t.Parallel()
	b := newBazaar(t)
	for _, how := range []string{"the first of two wins", "run-time tools come first", "the owner gets the public name", "judges get the local name"} {
		requireCaught(t, how, 8, func(r *rand.Rand) error { return drawMarket(r).check(t, b, fence{b.generated, how, b.owners}) })
	}
	r := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		require.NoError(t, drawMarket(r).check(t, b, fence{b.generated, "", b.owners}), "and none that keeps it")
	}
}
