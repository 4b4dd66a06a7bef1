package agents_test

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
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// Hooks contribute to a turn: policies, context, tools, sections of the prompt. The
// runtime asks once, merges, keeps the budget, and leaves no trace in the history.

func toolNames(s *message.ToolSet) []string {
	var out []string
	for _, t := range s.Tools().All() {
		out = append(out, t.Name)
	}
	return out
}

func TestSpecHooksContributeInOrderAndSeeWhatIsMergedSoFar(t *testing.T) {
	t.Parallel()
	var w *rig.World
	var stages []string
	saw := func(point string, turn *hook.Turn) {
		c := turn.Contributed()
		stages = append(stages, fmt.Sprintf("%s: stored %v, policies %d, recall %v, blocks %d, left %d/%d",
			point, w.History(), c.Policies.Len(), c.Recall.Queries.Slice(), c.Context.Len(), c.BlocksLeft, c.CharsLeft))
	}
	a := &rig.Adds{
		Policies: func(turn *hook.Turn) ([]hook.Policy, error) {
			saw("TurnPolicy", turn)
			return []hook.Policy{{Domain: "memory", Key: "recall", Value: "on", Recall: hook.RecallPlan{Queries: message.ListOf("boats")}}}, nil
		},
		Context: func(turn *hook.Turn) ([]hook.ContextBlock, error) {
			saw("TurnContext", turn)
			v, ok := turn.Contributed().Policy("memory", "recall")
			return []hook.ContextBlock{{Domain: "d", ID: "a", Text: fmt.Sprintf("%s %t", v, ok)}}, nil
		},
		Refined: func(turn *hook.Turn) ([]hook.ContextBlock, error) {
			saw("RefineContext", turn)
			return []hook.ContextBlock{{Domain: "d", ID: "b", Text: "12345"}}, nil
		},
		Tools: func(turn *hook.Turn) ([]hook.ToolChange, error) { saw("TurnTools", turn); return nil, nil },
		Sections: func(turn *hook.Turn) ([]hook.PromptSection, error) {
			saw("PromptSections", turn)
			return nil, nil
		},
	}
	m := rig.Plays(rig.Says("hi"))
	w = rig.Start(t, m, a)
	w.Send("go")
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
	}, m.Shown(0))
}

func TestSpecContextIsEphemeralAndWhatIsInFrontOfItStaysTheSame(t *testing.T) {
	t.Parallel()
	a := &rig.Adds{
		Context: func(turn *hook.Turn) ([]hook.ContextBlock, error) {
			return []hook.ContextBlock{{Domain: "clock", ID: "turn", Text: fmt.Sprintf("this is turn %d", turn.Number())}}, nil
		},
		Sections: rig.Gives(hook.PromptSection{Title: "Style", Text: "Be brief."}),
	}
	m := rig.Plays(rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`)), rig.Says("one"), rig.Says("two"))
	w := rig.Start(t, m, a, rig.Box(rig.Named("echo")))
	w.Send("1")
	w.Send("2")

	first, again, second := m.Requests[0], m.Requests[1], m.Requests[2]
	assert.Equal(t, "Help.\n\n## Style\n\nBe brief.", first.System, "sections stand behind the agent's own prompt")
	assert.Equal(t, first.System, second.System)
	entry := func(n int) string {
		return fmt.Sprintf("context! user <context domain=\"clock\" id=\"turn\">\nthis is turn %d\n</context>", n)
	}
	assert.Equal(t, []string{"user 1", entry(1)}, m.Shown(0))
	assert.Equal(t, []string{"user 1", entry(1), `assistant [c1 echo {"s":"x"}]`, "tool c1 echo: echo:x"}, m.Shown(1), "it stands behind the input in every step")
	assert.Equal(t, []string{"user 1", `assistant [c1 echo {"s":"x"}]`, "tool c1 echo: echo:x", "assistant one", "user 2", entry(2)}, m.Shown(2))
	assert.Equal(t, w.History(), slices.Concat(m.Shown(2)[:5], []string{"assistant two"}), "and is not stored")

	assert.True(t, strings.HasPrefix(bytesOf(t, again), bytesOf(t, first)), "each step's request begins with the last one's")
	stored, err := w.Store.Messages(t.Context(), w.Conv.ID())
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(bytesOf(t, second), bytesOf(t, message.ModelRequest{System: first.System, Messages: message.MessagesOf(stored[:4]...)})),
		"the next turn's begins with the prompt and all that is stored of the turn before")
	assert.True(t, strings.HasPrefix(first.System, w.Agent().Prompt()))
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
		a := &rig.Adds{
			Policies: func(*hook.Turn) (out []hook.Policy, _ error) {
				for name, weight := range byName {
					out = append(out, hook.Policy{Domain: "d", Key: "k", Value: name, Weight: weight})
				}
				return out, nil
			},
			Context: func(turn *hook.Turn) (out []hook.ContextBlock, _ error) {
				v, _ := turn.Contributed().Policy("d", "k")
				for name, weight := range byName {
					out = append(out, hook.ContextBlock{Domain: "d", ID: name, Text: name + v, Weight: weight})
				}
				return out, nil
			},
			Tools: func(*hook.Turn) (out []hook.ToolChange, _ error) {
				for name, weight := range byName {
					out = append(out, hook.ToolChange{Weight: weight, Add: message.ListOf(hook.AddedTool{Tool: message.Tool{Name: name}, Owner: "H2"})})
				}
				return out, nil
			},
			Sections: func(*hook.Turn) (out []hook.PromptSection, _ error) {
				for name, weight := range byName {
					out = append(out, hook.PromptSection{ID: name, Text: name, Weight: weight})
				}
				return out, nil
			},
		}
		m := rig.Plays(rig.Says("ok"))
		later := &late{rig.Box(rig.Named("a"), rig.Named("b"), rig.Named("c"), rig.Named("d"), rig.Named("e"))}
		rig.Start(t, m, a, rig.Box(rig.Named("echo")), later).Send("go")
		got := bytesOf(t, m.Requests[0]) + strings.Join(toolNames(m.Requests[0].Tools), ",")
		if want == "" {
			want = got
		}
		require.Equal(t, want, got)
	}
	assert.Contains(t, want, "echo,a,b,c,d,e")
}

func TestSpecToolsAreHiddenAndAddedForOneTurn(t *testing.T) {
	t.Parallel()
	extra := rig.Named("extra")
	owner := &late{Toolbox: rig.Box(extra)}
	on := true
	a := &rig.Adds{Tools: func(*hook.Turn) ([]hook.ToolChange, error) {
		if !on {
			return nil, nil
		}
		return []hook.ToolChange{{ID: "x", Hide: message.ListOf("echo"), Add: message.ListOf(
			hook.AddedTool{Tool: message.Tool{Name: "extra", Input: rig.BoxSchema}, Owner: "H1"}, hook.AddedTool{Tool: message.Tool{Name: "look"}},
		)}}, nil
	}}
	var told []*message.ToolSet
	a.Sections = func(turn *hook.Turn) ([]hook.PromptSection, error) {
		told = append(told, turn.Contributed().Tools)
		return nil, nil
	}
	m := rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`), rig.Call("c2", "extra", `{"s":"y"}`), rig.Call("c3", "look", `{}`)), rig.Says("done"), rig.Says("again"), rig.Says("none"))
	static := rig.Box(rig.Named("echo"), rig.Named("look"))
	w := rig.Start(t, m, static, owner, a)
	w.Send("go")
	assert.Equal(t, []string{"look", "extra"}, toolNames(m.Requests[0].Tools), "hidden ones are not advertised, added ones are, and none is shadowed")
	assert.Equal(t, []string{
		`tool "echo" is not available to this agent`, "extra:y", "look:",
	}, historyResults(w), "nor can they be called")
	assert.Zero(t, static.Dispatched["echo"], "a hidden tool's owner hears nothing")
	w.Send("go")
	assert.Same(t, m.Requests[0].Tools, m.Requests[2].Tools, "the same changes are encoded once")
	on = false
	w.Send("go")
	assert.Equal(t, []string{"echo", "look"}, toolNames(m.Requests[3].Tools), "the next turn has the agent's own again")
	assert.Same(t, w.Agent().Tools(), m.Requests[3].Tools)
	require.Len(t, told, 3)
	assert.Same(t, m.Requests[0].Tools, told[0], "who writes the prompt knows the tools of the turn")
	assert.Same(t, m.Requests[3].Tools, told[2])
}

// late is a hook whose tools are not known when the agent is registered.
type late struct{ *rig.Toolbox }

func (*late) Schema() []message.Tool { return nil }

func historyResults(w *rig.World) []string {
	ms, err := w.Store.Messages(context.Background(), w.Conv.ID())
	require.NoError(w.T, err)
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
	a := &rig.Adds{
		Tools: rig.Gives(hook.ToolChange{Add: message.ListOf(hook.AddedTool{Tool: message.Tool{Name: "extra"}}, hook.AddedTool{Tool: message.Tool{Name: "look"}})}),
		Event: func(ev hook.Event) {
			if d := ev.Detail(); d.Code != "" {
				told = append(told, string(d.Code))
			}
		},
	}
	m := rig.Plays(rig.Says("ok"))
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Tools: []string{"echo"}}, nil, a, rig.Box(rig.Named("echo"), rig.Named("look")))
	w.Send("go")
	assert.Equal(t, []string{"echo"}, toolNames(m.Requests[0].Tools))
	assert.Equal(t, []string{"tool_bundle.out_of_scope", "tool_bundle.out_of_scope"}, told)
}

func TestSpecAToolIsAddedOnlyIfItsOwnerTakesIt(t *testing.T) {
	t.Parallel()
	var told []string
	add := func(name, owner string) hook.AddedTool {
		return hook.AddedTool{Tool: message.Tool{Name: name, Input: rig.BoxSchema}, Owner: owner}
	}
	a := &rig.Adds{
		Tools: rig.Gives(hook.ToolChange{Add: message.ListOf(add("extra", "H1"), add("other", "H1"), add("third", "Nobody"), add("mine", ""))}),
		Event: func(ev hook.Event) {
			if d := ev.Detail(); d.Code != "" {
				told = append(told, string(d.Code)+" "+ev.Text)
			}
		},
	}
	m := rig.Plays(rig.Says("ok"))
	w := rig.Start(t, m, rig.Box(rig.Named("echo")), &late{rig.Box(rig.Named("extra"))}, a)
	w.Send("go")
	assert.Equal(t, []string{"echo", "extra"}, toolNames(m.Requests[0].Tools))
	assert.Equal(t, []string{
		"tool_bundle.owner H2: tool other is not added: H1 does not bind calls of it",
		"tool_bundle.owner H2: tool third is not added: there is no subsystem Nobody",
		"tool_bundle.owner H2: tool mine is not added: H2 does not bind calls of it",
	}, told)
}

func TestSpecAContributorThatFailsIsLeftOut(t *testing.T) {
	t.Parallel()
	oops := errors.New("oops")
	good := &rig.Adds{Context: rig.Gives(hook.ContextBlock{ID: "good", Text: "good"})}
	cases := []struct {
		name string
		hook *rig.Adds
	}{
		{"error", &rig.Adds{Context: func(*hook.Turn) ([]hook.ContextBlock, error) {
			return []hook.ContextBlock{{ID: "bad", Text: "bad"}}, oops
		}}},
		{"panic", &rig.Adds{Context: func(*hook.Turn) ([]hook.ContextBlock, error) { panic(oops) }}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := rig.Plays(rig.Says("ok"))
			w := rig.Start(t, m, c.hook, good)
			w.Send("go")
			assert.Equal(t, []string{"user go", "context! user <context id=\"good\">\ngood\n</context>"}, m.Shown(0))
			failed := w.EventsOf(event.HookFailed)
			require.Len(t, failed, 1)
			assert.Equal(t, "H0 failed at TurnContext", failed[0].Text)
		})
		t.Run(c.name+" of a hook alone", func(t *testing.T) {
			t.Parallel()
			m := rig.Plays(rig.Says("ok"))
			w := rig.Start(t, m, c.hook)
			w.Send("go")
			assert.Equal(t, []string{"user go"}, m.Shown(0))
			failed := w.EventsOf(event.HookFailed)
			require.Len(t, failed, 1)
			assert.Equal(t, "a hook failed at TurnContext", failed[0].Text)
		})
	}
}

func TestSpecAContributorThatFailsClosedRejectsTheTurn(t *testing.T) {
	t.Parallel()
	points := []struct {
		name string
		hook *rig.Adds
	}{
		{"TurnPolicy", &rig.Adds{Policies: func(*hook.Turn) ([]hook.Policy, error) { return nil, errors.New("oops") }}},
		{"TurnContext", &rig.Adds{Context: func(*hook.Turn) ([]hook.ContextBlock, error) { panic("oops") }}},
		{"RefineContext", &rig.Adds{Refined: func(*hook.Turn) ([]hook.ContextBlock, error) { return nil, errors.New("oops") }}},
		{"TurnTools", &rig.Adds{Tools: func(*hook.Turn) ([]hook.ToolChange, error) { return nil, errors.New("oops") }}},
		{"PromptSections", &rig.Adds{Sections: func(*hook.Turn) ([]hook.PromptSection, error) { return nil, errors.New("oops") }}},
	}
	for _, p := range points {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			c, err := composite.New(&struct {
				Strict *rig.Adds `hook:"TurnPolicy: failclosed; TurnContext: failclosed; RefineContext: failclosed; TurnTools: failclosed; PromptSections: failclosed"`
			}{p.hook})
			require.NoError(t, err)
			m := rig.Plays(rig.Says("never"))
			w := rig.Start(t, m, c)
			out, err := w.Try(t.Context(), "go")
			assert.Equal(t, hook.StopError, out.Stop)
			var f *hook.Failure
			require.ErrorAs(t, err, &f)
			assert.Equal(t, "Strict failed at "+p.name, f.Public())
			assert.Empty(t, m.Requests, "no model is asked")
			assert.Len(t, w.EventsOf(event.HookFailed), 1)
			assert.Equal(t, []string{"user go"}, w.History(), "the input is kept, and the next turn goes on from there")
		})
	}
}

func TestSpecATurnMayBeCancelledWhileHooksContribute(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	a := &rig.Adds{
		Context: func(*hook.Turn) ([]hook.ContextBlock, error) { cancel(); return nil, ctx.Err() },
		Refined: func(*hook.Turn) ([]hook.ContextBlock, error) { asked++; return nil, nil },
	}
	m := rig.Plays(rig.Says("never"))
	w := rig.Start(t, m, a)
	out, err := w.Try(ctx, "go")
	assert.Equal(t, hook.StopCancelled, out.Stop)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, m.Requests)
	assert.Zero(t, asked, "nobody else is asked")
	assert.Empty(t, w.EventsOf(event.HookFailed), "that is no failure of the hook")
}

func TestSpecDiagnosticsReachWhomTheyAreFor(t *testing.T) {
	t.Parallel()
	const canary = "CANARY"
	var hooks []string
	note := func(v hook.Visibility) hook.Diagnostic {
		return hook.Diagnostic{Code: "x." + hook.DiagnosticCode(v), Text: "about " + string(v), Visibility: v}
	}
	a := &rig.Adds{
		Policies: rig.Gives(hook.Policy{Attached: hook.Attached{Diagnostics: message.ListOf(
			note(""), note(event.VisibleInternal), note(event.VisibleDebug), note(event.VisibleAudit), note(event.VisibleUser))}}),
		Context: rig.Gives(hook.ContextBlock{ID: "long", Text: strings.Repeat(canary, 3_000), Sources: message.ListOf(canary)}),
		Event: func(ev hook.Event) {
			if ev.Kind == event.Diagnostic {
				d := ev.Detail()
				hooks = append(hooks, fmt.Sprintf("%s %s %t", d.Code, d.Visibility, ev.Seq > 0))
				assert.NotEmpty(t, ev.Conversation)
				assert.NotEmpty(t, ev.Turn)
			}
			assert.NotContains(t, ev.Text, canary)
		},
	}
	w := rig.Start(t, rig.Plays(rig.Says("ok")), a)
	r := w.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: w.Conv.ID()})
	defer r.Close()
	w.Send("go")
	assert.Equal(t, []string{
		"x. internal false", "x.internal internal false", "x.debug debug true", "x.audit audit true", "x.user user true",
		"prompt_context.truncated internal false",
	}, hooks, "hooks are told of all")
	var clients []string
	for i, ev := range w.Events {
		assert.EqualValues(t, i+1, ev.Seq, "what is internal leaves no gap")
		if ev.Kind == event.Diagnostic {
			clients = append(clients, string(ev.Detail().Code))
		}
	}
	assert.Equal(t, []string{"x.debug", "x.audit", "x.user"}, clients, "clients of what is not internal")
}

func TestSpecBudgetsAreOptions(t *testing.T) {
	t.Parallel()
	a := &rig.Adds{
		Context:  rig.Gives(hook.ContextBlock{ID: "a", Text: "abcdef"}, hook.ContextBlock{ID: "b", Text: "b"}),
		Sections: rig.Gives(hook.PromptSection{Text: "uvwxyz"}, hook.PromptSection{Text: "never"}),
	}
	m := rig.Plays(rig.Says("ok"))
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{
		Limits: runtime.Limits{Contributions: runtime.ContributionBudget{BlocksChars: 4, Sections: 1, SectionChars: 3}},
	}, a)
	w.Send("go")
	assert.Equal(t, []string{"user go", "context! user <context id=\"a\">\nabc…\n</context>"}, m.Shown(0))
	assert.Equal(t, "uv…", m.Requests[0].System)
}

func TestSpecAResumedTurnAsksAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	safe := rig.NewGate("extra")
	safe.Annotations.ReadOnly = true
	hooks := func(n int) []hook.Hook {
		return []hook.Hook{&late{Toolbox: rig.Box(safe.Tool)}, &rig.Adds{
			Context: rig.Gives(hook.ContextBlock{ID: "p", Text: fmt.Sprint("process ", n)}),
			Tools:   rig.Gives(hook.ToolChange{Add: message.ListOf(hook.AddedTool{Tool: safe.Tool.Tool, Owner: "H0"})}),
		}}
	}
	step := rig.Calls(rig.Call("c1", "extra", `{}`))
	first := rig.Boot(t, dir, rig.Plays(step), runtime.Options{}, hooks(1)...)
	first.Sends("1")
	<-safe.Reached
	first.Dies()
	close(safe.Open)
	m := rig.Plays(rig.Says("done"))
	second := rig.Boot(t, dir, m, runtime.Options{}, hooks(2)...)
	second.Resumes()
	require.NoError(t, second.Ends().Returned)
	assert.Equal(t, []string{
		"user 1", "context! user <context id=\"p\">\nprocess 2\n</context>", "assistant [c1 extra {}]", "tool c1 extra: through",
	}, m.Shown(0), "context stands behind the input, and the tool that was added is there again")
}

func TestSpecChildrenAndGuestsAreContributedTo(t *testing.T) {
	t.Parallel()
	a := &rig.Adds{
		Context: func(turn *hook.Turn) ([]hook.ContextBlock, error) {
			return []hook.ContextBlock{{ID: "who", Text: fmt.Sprintf("%s at depth %d", turn.Conversation().Agent().Name, turn.Depth())}}, nil
		},
		Tools: func(turn *hook.Turn) ([]hook.ToolChange, error) {
			if turn.Depth() == 0 {
				return []hook.ToolChange{{Add: message.ListOf(hook.AddedTool{Tool: message.Tool{Name: "extra"}, Owner: "H2"}), Hide: message.ListOf("echo")}}, nil
			}
			return []hook.ToolChange{{Add: message.ListOf(hook.AddedTool{Tool: message.Tool{Name: "extra"}, Owner: "H2"}, hook.AddedTool{Tool: message.Tool{Name: "more"}, Owner: "H2"})}}, nil
		},
	}
	c := rig.Cast{
		"chief":  rig.Plays(rig.Delegates("clerk"), rig.Says("done"), rig.Says("thanks")),
		"clerk":  rig.Plays(rig.Says("filed")),
		"critic": rig.Plays(rig.Says("bad")),
	}
	w := rig.Stage(t, c, nil, rig.Agents("chief", "clerk", "critic"), delegate.New(nil), rig.Box(rig.Named("echo")), &late{Toolbox: rig.Box(rig.Named("extra"), rig.Named("more"))}, a)
	w.Send("go")
	assert.Equal(t, "context! user <context id=\"who\">\nclerk at depth 1\n</context>", c["clerk"].Shown(0)[1])
	assert.Equal(t, []string{"delegate", "delegate_tasks", "extra"}, toolNames(c["clerk"].Requests[0].Tools),
		"a child is added what its parent has, and has not what is hidden from its parent")
	_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("and you?"), &runtime.TurnOptions{Guest: "critic"})
	require.NoError(t, err)
	shown := c["critic"].Shown(0)
	assert.Equal(t, "context! user <context id=\"who\">\nchief at depth 0\n</context>", shown[len(shown)-1])
	assert.NotContains(t, toolNames(c["critic"].Requests[0].Tools), "extra", "a guest is given no tools")
}

func TestATurnWithoutContributionsPaysForNone(t *testing.T) {
	turn := func(h hook.Hook) float64 {
		rt := runtime.New(h, rig.Same{Reply: rig.Says("ok")}, nil)
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
	unlimited := composite.Field{Name: "A", Hook: &rig.Adds{}}
	for p, info := range point.All() {
		if info.Kind == "contribute" {
			unlimited.Options.Points = append(unlimited.Options.Points, plan.PointUse{Name: p.String(), Timeout: plan.NoTimeout})
		}
	}
	c, err := composite.Of("Unlimited", unlimited)
	require.NoError(t, err)
	none, silent, timed := turn(hook.Nop{}), turn(c), turn(&rig.Adds{})
	assert.LessOrEqual(t, silent, none+4, "hooks that contribute nothing: the place is told three times of what is left")
	assert.LessOrEqual(t, timed, silent+5*13, "each of five has a goroutine, a context and two timers of its own")
	t.Logf("allocations: without the points %v, with silent ones %v, and with a timeout %v", none, silent, timed)
}
