package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// Hooks contribute to a turn: policies, context, tools, sections of the prompt. The
// runtime asks once, merges, keeps the budget, and leaves no trace in the history.

// adds is a hook with all contributing points, each a function or nothing.
type adds struct {
	hook.Nop
	policies func(*hook.Turn) ([]hook.Policy, error)
	context  func(*hook.Turn) ([]hook.ContextBlock, error)
	refined  func(*hook.Turn) ([]hook.ContextBlock, error)
	tools    func(*hook.Turn) ([]hook.ToolChange, error)
	sections func(*hook.Turn) ([]hook.PromptSection, error)
	event    func(hook.Event)
}

func perhaps[T any](f func(*hook.Turn) ([]T, error), t *hook.Turn) ([]T, error) {
	if f == nil {
		return nil, nil
	}
	return f(t)
}

func (a *adds) TurnPolicy(_ context.Context, t *hook.Turn) ([]hook.Policy, error) {
	return perhaps(a.policies, t)
}

func (a *adds) TurnContext(_ context.Context, t *hook.Turn) ([]hook.ContextBlock, error) {
	return perhaps(a.context, t)
}

func (a *adds) RefineContext(_ context.Context, t *hook.Turn) ([]hook.ContextBlock, error) {
	return perhaps(a.refined, t)
}

func (a *adds) TurnTools(_ context.Context, t *hook.Turn) ([]hook.ToolChange, error) {
	return perhaps(a.tools, t)
}

func (a *adds) PromptSections(_ context.Context, t *hook.Turn) ([]hook.PromptSection, error) {
	return perhaps(a.sections, t)
}

func (a *adds) OnEvent(_ context.Context, ev hook.Event) {
	if a.event != nil {
		a.event(ev)
	}
}

// gives contributes the same in every turn.
func gives[T any](items ...T) func(*hook.Turn) ([]T, error) {
	return func(*hook.Turn) ([]T, error) { return items, nil }
}

// shown returns what the model was shown in its n-th request, one line per message,
// ephemeral entries with their label.
func (m *model) shown(n int) []string {
	var out []string
	for _, msg := range m.requests[n].Messages.All() {
		s := line(msg)
		if msg.Ephemeral {
			s = msg.Label + "! " + s
		}
		out = append(out, s)
	}
	return out
}

func toolNames(s *message.ToolSet) []string {
	var out []string
	for _, t := range s.Tools().All() {
		out = append(out, t.Name)
	}
	return out
}

func TestSpecHooksContributeInOrderAndSeeWhatIsMergedSoFar(t *testing.T) {
	t.Parallel()
	var w *world
	var stages []string
	saw := func(point string, turn *hook.Turn) {
		c := turn.Contributed()
		stages = append(stages, fmt.Sprintf("%s: stored %v, policies %d, recall %v, blocks %d, left %d/%d",
			point, w.history(), c.Policies.Len(), c.Recall.Queries.Slice(), c.Context.Len(), c.BlocksLeft, c.CharsLeft))
	}
	a := &adds{
		policies: func(turn *hook.Turn) ([]hook.Policy, error) {
			saw("TurnPolicy", turn)
			return []hook.Policy{{Domain: "memory", Key: "recall", Value: "on", Recall: hook.RecallPlan{Queries: message.ListOf("boats")}}}, nil
		},
		context: func(turn *hook.Turn) ([]hook.ContextBlock, error) {
			saw("TurnContext", turn)
			v, ok := turn.Contributed().Policy("memory", "recall")
			return []hook.ContextBlock{{Domain: "d", ID: "a", Text: fmt.Sprintf("%s %t", v, ok)}}, nil
		},
		refined: func(turn *hook.Turn) ([]hook.ContextBlock, error) {
			saw("RefineContext", turn)
			return []hook.ContextBlock{{Domain: "d", ID: "b", Text: "12345"}}, nil
		},
		tools: func(turn *hook.Turn) ([]hook.ToolChange, error) { saw("TurnTools", turn); return nil, nil },
		sections: func(turn *hook.Turn) ([]hook.PromptSection, error) {
			saw("PromptSections", turn)
			return nil, nil
		},
	}
	m := plays(says("hi"))
	w = start(t, m, a)
	w.send("go")
	assert.Equal(t, []string{
		"TurnPolicy: stored [user go], policies 0, recall [], blocks 0, left 0/0",
		"TurnContext: stored [user go], policies 1, recall [boats], blocks 0, left 16/12000",
		"RefineContext: stored [user go], policies 1, recall [boats], blocks 1, left 15/11993",
		"TurnTools: stored [user go], policies 1, recall [boats], blocks 2, left 14/11988",
		"PromptSections: stored [user go], policies 1, recall [boats], blocks 2, left 14/11988",
	}, stages)
	assert.Equal(t, []string{
		"user go",
		"context! user <context domain=\"d\" id=\"a\">\non true\n</context>", "context! user <context domain=\"d\" id=\"b\">\n12345\n</context>",
	}, m.shown(0))
}

func TestSpecContextIsEphemeralAndWhatIsInFrontOfItStaysTheSame(t *testing.T) {
	t.Parallel()
	a := &adds{
		context: func(turn *hook.Turn) ([]hook.ContextBlock, error) {
			return []hook.ContextBlock{{Domain: "clock", ID: "turn", Text: fmt.Sprintf("this is turn %d", turn.Number())}}, nil
		},
		sections: gives(hook.PromptSection{Title: "Style", Text: "Be brief."}),
	}
	m := plays(calls(want{"c1", "echo", `{"s":"x"}`}), says("one"), says("two"))
	w := start(t, m, a, box(named("echo")))
	w.send("1")
	w.send("2")

	first, again, second := m.requests[0], m.requests[1], m.requests[2]
	assert.Equal(t, "Help.\n\n## Style\n\nBe brief.", first.System, "sections stand behind the agent's own prompt")
	assert.Equal(t, first.System, second.System)
	entry := func(n int) string {
		return fmt.Sprintf("context! user <context domain=\"clock\" id=\"turn\">\nthis is turn %d\n</context>", n)
	}
	assert.Equal(t, []string{"user 1", entry(1)}, m.shown(0))
	assert.Equal(t, []string{"user 1", entry(1), `assistant [c1 echo {"s":"x"}]`, "tool c1 echo: echo:x"}, m.shown(1), "it stands behind the input in every step")
	assert.Equal(t, []string{"user 1", `assistant [c1 echo {"s":"x"}]`, "tool c1 echo: echo:x", "assistant one", "user 2", entry(2)}, m.shown(2))
	assert.Equal(t, w.history(), slices.Concat(m.shown(2)[:5], []string{"assistant two"}), "and is not stored")

	assert.True(t, strings.HasPrefix(bytesOf(t, again), bytesOf(t, first)), "each step's request begins with the last one's")
	stored, err := w.store.Messages(t.Context(), w.conv.ID())
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(bytesOf(t, second), bytesOf(t, message.ModelRequest{System: first.System, Messages: message.MessagesOf(stored[:4]...)})),
		"the next turn's begins with the prompt and all that is stored of the turn before")
	assert.True(t, strings.HasPrefix(first.System, w.agent().Prompt()))
}

// bytesOf is the part of a request that providers cache: prompt and messages, one
// behind the other.
func bytesOf(t *testing.T, req message.ModelRequest) string {
	t.Helper()
	var sb strings.Builder
	sb.WriteString(req.System)
	for _, m := range req.Messages.All() {
		m.Ephemeral, m.Label = false, ""
		data, err := json.Marshal(m)
		require.NoError(t, err)
		sb.Write(data)
	}
	return sb.String()
}

func TestSpecTheSameTurnGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	byName := map[string]int{"a": 3, "b": 2, "c": 1, "d": 0, "e": -1}
	var want string
	for range 100 {
		a := &adds{
			policies: func(*hook.Turn) (out []hook.Policy, _ error) {
				for name, weight := range byName {
					out = append(out, hook.Policy{Domain: "d", Key: "k", Value: name, Weight: weight})
				}
				return out, nil
			},
			context: func(turn *hook.Turn) (out []hook.ContextBlock, _ error) {
				v, _ := turn.Contributed().Policy("d", "k")
				for name, weight := range byName {
					out = append(out, hook.ContextBlock{Domain: "d", ID: name, Text: name + v, Weight: weight})
				}
				return out, nil
			},
			tools: func(*hook.Turn) (out []hook.ToolChange, _ error) {
				for name, weight := range byName {
					out = append(out, hook.ToolChange{Weight: weight, Add: message.ListOf(hook.AddedTool{Tool: message.Tool{Name: name}, Owner: "H2"})})
				}
				return out, nil
			},
			sections: func(*hook.Turn) (out []hook.PromptSection, _ error) {
				for name, weight := range byName {
					out = append(out, hook.PromptSection{ID: name, Text: name, Weight: weight})
				}
				return out, nil
			},
		}
		m := plays(says("ok"))
		later := &late{box(named("a"), named("b"), named("c"), named("d"), named("e"))}
		start(t, m, a, box(named("echo")), later).send("go")
		got := bytesOf(t, m.requests[0]) + strings.Join(toolNames(m.requests[0].Tools), ",")
		if want == "" {
			want = got
		}
		require.Equal(t, want, got)
	}
	assert.Contains(t, want, "echo,a,b,c,d,e")
}

func TestSpecToolsAreHiddenAndAddedForOneTurn(t *testing.T) {
	t.Parallel()
	extra := named("extra")
	owner := &late{toolbox: box(extra)}
	on := true
	a := &adds{tools: func(*hook.Turn) ([]hook.ToolChange, error) {
		if !on {
			return nil, nil
		}
		return []hook.ToolChange{{ID: "x", Hide: message.ListOf("echo"), Add: message.ListOf(
			hook.AddedTool{Tool: message.Tool{Name: "extra", Input: boxSchema}, Owner: "H1"}, hook.AddedTool{Tool: message.Tool{Name: "look"}},
		)}}, nil
	}}
	var told []*message.ToolSet
	a.sections = func(turn *hook.Turn) ([]hook.PromptSection, error) {
		told = append(told, turn.Contributed().Tools)
		return nil, nil
	}
	m := plays(calls(want{"c1", "echo", `{}`}, want{"c2", "extra", `{"s":"y"}`}, want{"c3", "look", `{}`}), says("done"), says("again"), says("none"))
	static := box(named("echo"), named("look"))
	w := start(t, m, static, owner, a)
	w.send("go")
	assert.Equal(t, []string{"look", "extra"}, toolNames(m.requests[0].Tools), "hidden ones are not advertised, added ones are, and none is shadowed")
	assert.Equal(t, []string{
		`tool "echo" is not available to this agent`, "extra:y", "look:",
	}, historyResults(w), "nor can they be called")
	assert.Zero(t, static.dispatched["echo"], "a hidden tool's owner hears nothing")
	w.send("go")
	assert.Same(t, m.requests[0].Tools, m.requests[2].Tools, "the same changes are encoded once")
	on = false
	w.send("go")
	assert.Equal(t, []string{"echo", "look"}, toolNames(m.requests[3].Tools), "the next turn has the agent's own again")
	assert.Same(t, w.agent().Tools(), m.requests[3].Tools)
	require.Len(t, told, 3)
	assert.Same(t, m.requests[0].Tools, told[0], "who writes the prompt knows the tools of the turn")
	assert.Same(t, m.requests[3].Tools, told[2])
}

// late is a hook whose tools are not known when the agent is registered.
type late struct{ *toolbox }

func (*late) Schema() []message.Tool { return nil }

func (w *world) agent() *runtime.Agent { return w.conv.Agent() }

func historyResults(w *world) []string {
	ms, err := w.store.Messages(context.Background(), w.conv.ID())
	require.NoError(w.t, err)
	var out []string
	for _, m := range ms {
		if m.Role == message.RoleTool {
			out = append(out, m.Result.Text())
		}
	}
	return out
}

func TestSpecAnAgentIsAddedNoToolBeyondItsScope(t *testing.T) {
	t.Parallel()
	var told []string
	a := &adds{
		tools: gives(hook.ToolChange{Add: message.ListOf(hook.AddedTool{Tool: message.Tool{Name: "extra"}}, hook.AddedTool{Tool: message.Tool{Name: "look"}})}),
		event: func(ev hook.Event) {
			if d := ev.Detail(); d.Code != "" {
				told = append(told, string(d.Code))
			}
		},
	}
	m := plays(says("ok"))
	w := startWith(t, m, hook.AgentConfig{Name: "a", Tools: []string{"echo"}}, nil, a, box(named("echo"), named("look")))
	w.send("go")
	assert.Equal(t, []string{"echo"}, toolNames(m.requests[0].Tools))
	assert.Equal(t, []string{"tool_bundle.out_of_scope", "tool_bundle.out_of_scope"}, told)
}

func TestSpecAToolIsAddedOnlyIfItsOwnerTakesIt(t *testing.T) {
	t.Parallel()
	var told []string
	add := func(name, owner string) hook.AddedTool {
		return hook.AddedTool{Tool: message.Tool{Name: name, Input: boxSchema}, Owner: owner}
	}
	a := &adds{
		tools: gives(hook.ToolChange{Add: message.ListOf(add("extra", "H1"), add("other", "H1"), add("third", "Nobody"), add("mine", ""))}),
		event: func(ev hook.Event) {
			if d := ev.Detail(); d.Code != "" {
				told = append(told, string(d.Code)+" "+ev.Text)
			}
		},
	}
	m := plays(says("ok"))
	w := start(t, m, box(named("echo")), &late{box(named("extra"))}, a)
	w.send("go")
	assert.Equal(t, []string{"echo", "extra"}, toolNames(m.requests[0].Tools))
	assert.Equal(t, []string{
		"tool_bundle.owner H2: tool other is not added: H1 does not bind calls of it",
		"tool_bundle.owner H2: tool third is not added: there is no subsystem Nobody",
		"tool_bundle.owner H2: tool mine is not added: H2 does not bind calls of it",
	}, told)
}

func TestSpecAContributorThatFailsIsLeftOut(t *testing.T) {
	t.Parallel()
	oops := errors.New("oops")
	good := &adds{context: gives(hook.ContextBlock{ID: "good", Text: "good"})}
	cases := []struct {
		name string
		hook *adds
	}{
		{"error", &adds{context: func(*hook.Turn) ([]hook.ContextBlock, error) {
			return []hook.ContextBlock{{ID: "bad", Text: "bad"}}, oops
		}}},
		{"panic", &adds{context: func(*hook.Turn) ([]hook.ContextBlock, error) { panic(oops) }}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := plays(says("ok"))
			w := start(t, m, c.hook, good)
			w.send("go")
			assert.Equal(t, []string{"user go", "context! user <context id=\"good\">\ngood\n</context>"}, m.shown(0))
			failed := w.eventsOf(event.HookFailed)
			require.Len(t, failed, 1)
			assert.Equal(t, "H0 failed at TurnContext", failed[0].Text)
		})
		t.Run(c.name+" of a hook alone", func(t *testing.T) {
			t.Parallel()
			m := plays(says("ok"))
			w := start(t, m, c.hook)
			w.send("go")
			assert.Equal(t, []string{"user go"}, m.shown(0))
			failed := w.eventsOf(event.HookFailed)
			require.Len(t, failed, 1)
			assert.Equal(t, "a hook failed at TurnContext", failed[0].Text)
		})
	}
}

func TestSpecAContributorThatFailsClosedRejectsTheTurn(t *testing.T) {
	t.Parallel()
	points := []struct {
		name string
		hook *adds
	}{
		{"TurnPolicy", &adds{policies: func(*hook.Turn) ([]hook.Policy, error) { return nil, errors.New("oops") }}},
		{"TurnContext", &adds{context: func(*hook.Turn) ([]hook.ContextBlock, error) { panic("oops") }}},
		{"RefineContext", &adds{refined: func(*hook.Turn) ([]hook.ContextBlock, error) { return nil, errors.New("oops") }}},
		{"TurnTools", &adds{tools: func(*hook.Turn) ([]hook.ToolChange, error) { return nil, errors.New("oops") }}},
		{"PromptSections", &adds{sections: func(*hook.Turn) ([]hook.PromptSection, error) { return nil, errors.New("oops") }}},
	}
	for _, p := range points {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			c, err := composite.New(&struct {
				Strict *adds `hook:"TurnPolicy: failclosed; TurnContext: failclosed; RefineContext: failclosed; TurnTools: failclosed; PromptSections: failclosed"`
			}{p.hook})
			require.NoError(t, err)
			m := plays(says("never"))
			w := start(t, m, c)
			out, err := w.try(t.Context(), "go")
			assert.Equal(t, hook.StopError, out.Stop)
			var f *hook.Failure
			require.ErrorAs(t, err, &f)
			assert.Equal(t, "Strict failed at "+p.name, f.Public())
			assert.Empty(t, m.requests, "no model is asked")
			assert.Len(t, w.eventsOf(event.HookFailed), 1)
			assert.Equal(t, []string{"user go"}, w.history(), "the input is kept, and the next turn goes on from there")
		})
	}
}

func TestSpecATurnMayBeCancelledWhileHooksContribute(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	a := &adds{
		context: func(*hook.Turn) ([]hook.ContextBlock, error) { cancel(); return nil, ctx.Err() },
		refined: func(*hook.Turn) ([]hook.ContextBlock, error) { asked++; return nil, nil },
	}
	m := plays(says("never"))
	w := start(t, m, a)
	out, err := w.try(ctx, "go")
	assert.Equal(t, hook.StopCancelled, out.Stop)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, m.requests)
	assert.Zero(t, asked, "nobody else is asked")
	assert.Empty(t, w.eventsOf(event.HookFailed), "that is no failure of the hook")
}

func TestSpecDiagnosticsReachWhomTheyAreFor(t *testing.T) {
	t.Parallel()
	const canary = "CANARY"
	var hooks []string
	note := func(v hook.Visibility) hook.Diagnostic {
		return hook.Diagnostic{Code: "x." + hook.DiagnosticCode(v), Text: "about " + string(v), Visibility: v}
	}
	a := &adds{
		policies: gives(hook.Policy{Attached: hook.Attached{Diagnostics: message.ListOf(
			note(""), note(event.VisibleInternal), note(event.VisibleDebug), note(event.VisibleAudit), note(event.VisibleUser))}}),
		context: gives(hook.ContextBlock{ID: "long", Text: strings.Repeat(canary, 3_000), Sources: message.ListOf(canary)}),
		event: func(ev hook.Event) {
			if ev.Kind == event.Diagnostic {
				d := ev.Detail()
				hooks = append(hooks, fmt.Sprintf("%s %s %t", d.Code, d.Visibility, ev.Seq > 0))
				assert.NotEmpty(t, ev.Conversation)
				assert.NotEmpty(t, ev.Turn)
			}
			assert.NotContains(t, ev.Text, canary)
		},
	}
	w := start(t, plays(says("ok")), a)
	r := w.rt.Subscribe(&runtime.SubscribeOptions{Conversation: w.conv.ID()})
	defer r.Close()
	w.send("go")
	assert.Equal(t, []string{
		"x. internal false", "x.internal internal false", "x.debug debug true", "x.audit audit true", "x.user user true",
		"prompt_context.truncated internal false",
	}, hooks, "hooks are told of all")
	var clients []string
	for i, ev := range w.events {
		assert.EqualValues(t, i+1, ev.Seq, "what is internal leaves no gap")
		if ev.Kind == event.Diagnostic {
			clients = append(clients, string(ev.Detail().Code))
		}
	}
	assert.Equal(t, []string{"x.debug", "x.audit", "x.user"}, clients, "clients of what is not internal")
}

func TestSpecBudgetsAreOptions(t *testing.T) {
	t.Parallel()
	a := &adds{
		context:  gives(hook.ContextBlock{ID: "a", Text: "abcdef"}, hook.ContextBlock{ID: "b", Text: "b"}),
		sections: gives(hook.PromptSection{Text: "uvwxyz"}, hook.PromptSection{Text: "never"}),
	}
	m := plays(says("ok"))
	w := startWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{
		Limits: runtime.Limits{Contributions: runtime.ContributionBudget{BlocksChars: 4, Sections: 1, SectionChars: 3}},
	}, a)
	w.send("go")
	assert.Equal(t, []string{"user go", "context! user <context id=\"a\">\nabc…\n</context>"}, m.shown(0))
	assert.Equal(t, "uv…", m.requests[0].System)
}

func TestSpecAResumedTurnAsksAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	safe := newGate("extra")
	safe.Annotations.ReadOnly = true
	hooks := func(n int) []hook.Hook {
		return []hook.Hook{&late{toolbox: box(safe.tool)}, &adds{
			context: gives(hook.ContextBlock{ID: "p", Text: fmt.Sprint("process ", n)}),
			tools:   gives(hook.ToolChange{Add: message.ListOf(hook.AddedTool{Tool: safe.Tool, Owner: "H0"})}),
		}}
	}
	step := calls(want{"c1", "extra", `{}`})
	first := boot(t, dir, plays(step), runtime.Options{}, hooks(1)...)
	first.sends("1")
	<-safe.reached
	first.dies()
	close(safe.open)
	m := plays(says("done"))
	second := boot(t, dir, m, runtime.Options{}, hooks(2)...)
	second.resumes()
	require.NoError(t, second.ends().err)
	assert.Equal(t, []string{
		"user 1", "context! user <context id=\"p\">\nprocess 2\n</context>", "assistant [c1 extra {}]", "tool c1 extra: through",
	}, m.shown(0), "context stands behind the input, and the tool that was added is there again")
}

func TestSpecChildrenAndGuestsAreContributedTo(t *testing.T) {
	t.Parallel()
	a := &adds{
		context: func(turn *hook.Turn) ([]hook.ContextBlock, error) {
			return []hook.ContextBlock{{ID: "who", Text: fmt.Sprintf("%s at depth %d", turn.Conversation().Agent().Name, turn.Depth())}}, nil
		},
		tools: func(turn *hook.Turn) ([]hook.ToolChange, error) {
			if turn.Depth() == 0 {
				return []hook.ToolChange{{Add: message.ListOf(hook.AddedTool{Tool: message.Tool{Name: "extra"}, Owner: "H2"}), Hide: message.ListOf("echo")}}, nil
			}
			return []hook.ToolChange{{Add: message.ListOf(hook.AddedTool{Tool: message.Tool{Name: "extra"}, Owner: "H2"}, hook.AddedTool{Tool: message.Tool{Name: "more"}, Owner: "H2"})}}, nil
		},
	}
	c := cast{
		"chief":  plays(delegates("clerk"), says("done"), says("thanks")),
		"clerk":  plays(says("filed")),
		"critic": plays(says("bad")),
	}
	w := stage(t, c, nil, agents("chief", "clerk", "critic"), delegate.New(nil), box(named("echo")), &late{toolbox: box(named("extra"), named("more"))}, a)
	w.send("go")
	assert.Equal(t, "context! user <context id=\"who\">\nclerk at depth 1\n</context>", c["clerk"].shown(0)[1])
	assert.Equal(t, []string{"delegate", "delegate_tasks", "extra"}, toolNames(c["clerk"].requests[0].Tools),
		"a child is added what its parent has, and has not what is hidden from its parent")
	_, err := dialog.Send(t.Context(), w.conv, message.TextInput("and you?"), &runtime.TurnOptions{Guest: "critic"})
	require.NoError(t, err)
	shown := c["critic"].shown(0)
	assert.Equal(t, "context! user <context id=\"who\">\nchief at depth 0\n</context>", shown[len(shown)-1])
	assert.NotContains(t, toolNames(c["critic"].requests[0].Tools), "extra", "a guest is given no tools")
}

func TestATurnWithoutContributionsPaysForNone(t *testing.T) {
	turn := func(h hook.Hook) float64 {
		rt := runtime.New(h, same{says("ok")}, nil)
		require.NoError(t, rt.Open(t.Context()))
		t.Cleanup(func() { _ = rt.Close(context.Background()) })
		_, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
		require.NoError(t, err)
		conv, err := dialog.Conversation(t.Context(), rt, "a", "s")
		require.NoError(t, err)
		in := message.TextInput("go")
		return allocs.PerRun(100, func() {
			if _, err := dialog.Send(t.Context(), conv, in, nil); err != nil {
				panic(err)
			}
		})
	}
	unlimited := composite.Field{Name: "A", Hook: &adds{}}
	for p, info := range point.All() {
		if info.Kind == "contribute" {
			unlimited.Options.Points = append(unlimited.Options.Points, plan.PointUse{Name: p.String(), Timeout: plan.NoTimeout})
		}
	}
	c, err := composite.Of("Unlimited", unlimited)
	require.NoError(t, err)
	none, silent, timed := turn(hook.Nop{}), turn(c), turn(&adds{})
	assert.LessOrEqual(t, silent, none+4, "hooks that contribute nothing: the place is told three times of what is left")
	assert.LessOrEqual(t, timed, silent+5*13, "each of five has a goroutine, a context and two timers of its own")
	t.Logf("allocations: without the points %v, with silent ones %v, and with a timeout %v", none, silent, timed)
}
