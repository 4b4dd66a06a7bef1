package runtime_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
)

// F8, F15, J2: what an agent may call, for whom, and with which grant.

// offered returns the names of the tools in the n-th request to the model.
func (m *model) offered(n int) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := []string{}
	for _, t := range m.requests[n].Tools.Tools().All() {
		names = append(names, t.Name)
	}
	return names
}

func configured(tools ...string) hook.AgentConfig { return hook.AgentConfig{Name: "a", Tools: tools} }

func TestSpecAPatternOffersAndAllowsTheSameTools(t *testing.T) {
	t.Parallel()
	m := plays(calls(want{"1", "mcp__files__read", "{}"}, want{"2", "mcp__mail__send", "{}"}, want{"3", "bash", "{}"}), says("done"))
	w := startWith(t, m, configured("mcp__files__*"), nil,
		box(named("mcp__files__read"), named("mcp__files__list"), does("mcp__mail__send", never(t)), does("bash", never(t))))
	w.send("go")
	assert.Equal(t, []string{"mcp__files__read", "mcp__files__list"}, m.offered(0))
	assert.ElementsMatch(t, []string{"mcp__files__read:", `tool "mcp__mail__send" is not available to this agent`, `tool "bash" is not available to this agent`}, w.results())
}

func TestSpecAPatternCoversToolsThatComeLater(t *testing.T) {
	t.Parallel()
	b := box(named("read"))
	m := plays(says("none yet"), calls(want{"1", "mcp__web__search", "{}"}), says("done"))
	w := startWith(t, m, configured("mcp__web__*"), nil, b)
	w.send("1")
	b.tools = append(b.tools, named("mcp__web__search"), does("mcp__mail__send", never(t)))
	require.NoError(t, w.rt.Refresh(t.Context(), "a"))
	w.send("2")
	assert.Empty(t, m.offered(0))
	assert.Equal(t, []string{"mcp__web__search"}, m.offered(1))
	assert.Equal(t, []string{"mcp__web__search:"}, w.results())
}

func TestSpecAPatternWithoutAToolIsADiagnosticAndANameIsAnError(t *testing.T) {
	t.Parallel()
	var told []string
	listen := hook.Hook(&hearer{hear: func(ev hook.Event) {
		if ev.Kind == event.Diagnostic && ev.Detail().Code == event.CodeToolPattern {
			told = append(told, ev.Text)
		}
	}})
	w := startWith(t, plays(), configured("mcp__web__*", "read"), nil, listen, box(named("read")))
	assert.Equal(t, []string{`agent "a": no tool matches "mcp__web__*" now; tools that come later will`}, told)
	for tools, says := range map[string]string{"write": `tool "write": nobody owns it`, "mcp:*": "a pattern has letters"} {
		_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: "b", Tools: []string{tools}})
		assert.ErrorContains(t, err, says)
	}
}

// hearer hears all events, also those outside of turns.
type hearer struct {
	hook.Nop
	hear func(hook.Event)
}

func (l *hearer) OnEvent(_ context.Context, ev hook.Event) { l.hear(ev) }

// TestSpecAScopeNeverWidens: bugs B1 and B2 of others. What hooks allow and what is configured intersect, and the scope of one
// hook takes no tool from another.
func TestSpecAScopeNeverWidens(t *testing.T) {
	t.Parallel()
	one, two := box(named("x_read"), named("x_write")), box(named("y_read"), named("y_write"))
	one.scope = hook.Scope{Tools: []string{"*_read", "y_write"}}
	m := plays(says("done"))
	w := startWith(t, m, configured("*_read", "x_write"), nil, one, two)
	w.send("go")
	assert.Equal(t, []string{"x_read", "y_read"}, m.offered(0))

	m = plays(says("done"))
	w = startWith(t, m, hook.AgentConfig{Name: "a"}, nil, one, two)
	w.send("go")
	assert.Equal(t, []string{"x_read", "y_read", "y_write"}, m.offered(0), "only the hook's own tools are narrowed")
}

// TestSpecAChildGetsTheIntersectionOfPatterns: B4. No child has a tool that its parent lacks, whatever its own list says.
func TestSpecAChildGetsTheIntersectionOfPatterns(t *testing.T) {
	t.Parallel()
	var m *model
	hands := tool{message.Tool{Name: "hand"}, func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "child", Input: message.TextInput("do it"), Tools: []string{"*_read", "a_write"}, Call: env.Call})
		require.NoError(t, err)
		return message.TextResult(out.Text())
	}}
	m = plays(calls(want{"1", "hand", "{}"}), calls(want{"2", "b_read", "{}"}), says("child done"), says("done"))
	w := startWith(t, m, configured("hand", "a_*"), nil, box(hands, named("a_read"), named("a_write"), does("b_read", never(t))))
	_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: "child", Tools: []string{"*"}})
	require.NoError(t, err)
	w.send("go")
	assert.Equal(t, []string{"a_read", "a_write"}, m.offered(1))
	assert.Contains(t, w.results(), `tool "b_read" is not available to this agent`)
}

// sends runs a turn of the sender with the agent.
func (w *world) sendsAs(agent, sender string) hook.TurnOutcome {
	w.t.Helper()
	conv, err := dialog.Conversation(w.t.Context(), w.rt, agent, sender)
	require.NoError(w.t, err)
	out, err := dialog.Send(w.t.Context(), conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) { w.events = append(w.events, ev) }})
	require.NoError(w.t, err)
	return out
}

// TestSpecBashRejectedForGatewaySender: bug B6 of others. The tool is neither offered nor run, and its name is not in the prompt.
func TestSpecBashRejectedForGatewaySender(t *testing.T) {
	t.Parallel()
	cfg := hook.AgentConfig{Name: "a", Senders: []message.SenderRule{{Tools: []string{"ba*"}, Senders: []string{"ann", "ops:*"}}}}
	m := plays(calls(want{"1", "bash", "{}"}), says("no"), calls(want{"2", "bash", "{}"}), says("yes"), says("yes"))
	w := startWith(t, m, cfg, nil, box(named("read"), named("bash")))
	w.sendsAs("a", "gateway:ann")
	assert.Equal(t, []string{"read"}, m.offered(0))
	assert.NotContains(t, m.requests[0].System, "bash")
	assert.Equal(t, []string{`tool "bash" is not available to this agent`}, w.results())
	w.events = nil
	w.sendsAs("a", "ann")
	assert.Equal(t, []string{"read", "bash"}, m.offered(2))
	assert.Equal(t, []string{"bash:"}, w.results())
	w.sendsAs("a", "ops:eve")
	assert.Equal(t, []string{"read", "bash"}, m.offered(4))
}

// TestSpecAHooksScopeHasSenders: a hook's rule holds beside that of the configuration.
func TestSpecAHooksScopeHasSenders(t *testing.T) {
	t.Parallel()
	b := box(named("read"), named("bash"))
	b.scope = hook.Scope{Senders: []message.SenderRule{{Tools: []string{"bash"}, Senders: []string{"ann", "bob"}}}}
	for _, others := range [][]hook.Hook{{}, {box(named("other"))}} {
		m := plays(says("1"), says("2"), says("3"))
		cfg := hook.AgentConfig{Name: "a", Senders: []message.SenderRule{{Tools: []string{"bash"}, Senders: []string{"bob", "eve"}}}}
		w := startWith(t, m, cfg, nil, append([]hook.Hook{b}, others...)...)
		for i, sender := range []string{"ann", "bob", "eve"} {
			w.sendsAs("a", sender)
			assert.Equal(t, sender == "bob", len(m.offered(i)) == 2+len(others), "%s %v", sender, m.offered(i))
		}
	}
}

// TestSpecAChildHasTheSenderOfItsRoot: an agent cannot reach a tool for its user by running another agent.
func TestSpecAChildHasTheSenderOfItsRoot(t *testing.T) {
	t.Parallel()
	hands := tool{message.Tool{Name: "hand"}, func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "child", Input: message.TextInput("do it"), Call: env.Call})
		require.NoError(t, err)
		return message.TextResult(out.Text())
	}}
	for sender, offered := range map[string][]string{"ann": {"hand", "bash"}, "gateway:ann": {"hand"}} {
		m := plays(calls(want{"1", "hand", "{}"}), calls(want{"2", "bash", "{}"}), says("child done"), says("done"))
		w := startWith(t, m, hook.AgentConfig{Name: "a"}, nil, box(hands, named("bash")))
		_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: "child", Senders: []message.SenderRule{{Tools: []string{"bash"}, Senders: []string{"ann"}}}})
		require.NoError(t, err)
		w.sendsAs("a", sender)
		assert.Equal(t, offered, m.offered(1), sender)
		assert.Equal(t, sender == "ann", w.results()[0] == "bash:", "%v", w.results())
	}
}

// TestSpecAToolThatAHookAddsIsKeptFromOtherSenders: a rule by a pattern holds for tools of one turn, too.
func TestSpecAToolThatAHookAddsIsKeptFromOtherSenders(t *testing.T) {
	t.Parallel()
	lamp := lender{box(named("lamp_on"))}
	for sender, n := range map[string]int{"ann": 1, "eve": 0} {
		m := plays(says("done"))
		w := startWith(t, m, hook.AgentConfig{Name: "a", Senders: []message.SenderRule{{Tools: []string{"lamp_*"}, Senders: []string{"ann"}}}}, nil, lamp, box())
		w.sendsAs("a", sender)
		assert.Len(t, m.offered(0), n, sender)
	}
}

// lender adds its tools in each turn.
type lender struct{ *toolbox }

func (lender) Schema() []message.Tool { return nil }

func (l lender) TurnTools(context.Context, *hook.Turn) ([]hook.ToolChange, error) {
	var add []hook.AddedTool
	for _, t := range l.tools {
		add = append(add, hook.AddedTool{Tool: message.Tool{Name: t.Name, Input: boxSchema}})
	}
	return []hook.ToolChange{{Add: message.Freeze(add)}}, nil
}

// TestSpecAGateSeesTheGrantAsNarrowedSoFar: J2. Each gate sees what those before it left, and no answer of it widens that.
func TestSpecAGateSeesTheGrantAsNarrowedSoFar(t *testing.T) {
	t.Parallel()
	seen := map[string]hook.Grant{}
	gate := func(name string, g hook.Grant) hook.Hook {
		return point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
			seen[name] = c.Grant()
			return hook.NarrowTool(g), nil
		})
	}
	wrap := point.WrapToolFunc(func(ctx context.Context, c *hook.ToolCall, next hook.ToolNext) message.ToolResult {
		seen["wrap"] = c.Grant()
		return next.Run(ctx)
	})
	approves := point.ApproveFunc(func(_ context.Context, c *hook.ToolCall, _ hook.ToolDecision) (hook.ApprovalDecision, error) {
		seen["approve"] = c.Grant()
		return hook.ApproveCall(), nil
	})
	asks := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) { return hook.AskTool("sure?"), nil })
	runs := tool{message.Tool{Name: "x"}, func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
		seen["tool"] = env.Grant
		return message.TextResult("ok")
	}}
	w := start(t, plays(calls(want{"1", "x", "{}"}), says("done")),
		gate("first", hook.Grant{Root: "/srv/a", ReadOnly: true}), gate("second", hook.Grant{Root: "/", MaxOutput: 9}),
		gate("third", hook.Grant{}), asks, approves, wrap, box(runs))
	w.send("go")
	all := hook.Grant{Root: "/srv/a", ReadOnly: true, MaxOutput: 9}
	assert.Equal(t, map[string]hook.Grant{
		"first": {}, "second": {Root: "/srv/a", ReadOnly: true}, "third": all, "approve": all, "wrap": all, "tool": all,
	}, seen)
}

// TestSpecAGateSeesTheGrantOfTheRoundBefore: arguments that a person changes are decided about again, under the grant of the
// first decision.
func TestSpecAGateSeesTheGrantOfTheRoundBefore(t *testing.T) {
	t.Parallel()
	var seen []hook.Grant
	gate := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		seen = append(seen, c.Grant())
		if len(seen) > 1 {
			return hook.AskTool("again"), nil
		}
		return hook.ToolDecision{Ruling: hook.AskTool("sure?").Merge(hook.NarrowTool(hook.Grant{ReadOnly: true}).Ruling, false)}, nil
	})
	p := &person{answers: []hook.ApprovalDecision{hook.ModifyCall(`{"s":"mine"}`), hook.ApproveCall()}}
	var granted hook.Grant
	runs := tool{message.Tool{Name: "x"}, func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
		granted = env.Grant
		return message.TextResult("ok")
	}}
	w := start(t, plays(calls(want{"1", "x", "{}"}), says("done")), gate, p, box(runs))
	w.send("go")
	assert.Equal(t, []hook.Grant{{}, {ReadOnly: true}}, seen)
	assert.Equal(t, hook.Grant{ReadOnly: true}, granted)
}

// The result of a call that did not run names the hook because of which it did not.
func TestSpecACallResultNamesWhoTookThePlaceOfTheTool(t *testing.T) {
	t.Parallel()
	gate := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		switch c.ID() {
		case "denied":
			return hook.DenyTool("no"), nil
		case "answered":
			return hook.AnswerTool(message.TextResult("instead")), nil
		case "refused", "approved":
			return hook.AskTool("sure?"), nil
		}
		return hook.ToolDecision{}, nil
	})
	people := point.ApproveFunc(func(_ context.Context, c *hook.ToolCall, _ hook.ToolDecision) (hook.ApprovalDecision, error) {
		if c.ID() == "refused" {
			return hook.RefuseCall("not now"), nil
		}
		return hook.ApproveCall(), nil
	})
	var all []want
	for _, id := range []string{"denied", "answered", "refused", "approved", "plain"} {
		all = append(all, want{id, "echo", `{"s":"x"}`})
	}
	w := start(t, plays(calls(all...), says("done")), gate, people, box(named("echo")))
	w.send("go")
	by := map[string]string{}
	for _, ev := range w.eventsOf(event.CallResult) {
		by[ev.Detail().CallID] = ev.Detail().By
	}
	assert.Equal(t, map[string]string{"denied": "H0", "answered": "H0", "refused": "H1", "approved": "", "plain": ""}, by)
}
