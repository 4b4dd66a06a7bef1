package agents_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
)

// F8, F15, J2: what an agent may call, for whom, and with which grant.

func TestSpecAPatternOffersAndAllowsTheSameTools(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Calls(rig.Call("1", "mcp__files__read", "{}"), rig.Call("2", "mcp__mail__send", "{}"), rig.Call("3", "bash", "{}")), rig.Says("done"))
	w := rig.StartWith(t, m, rig.Configured("mcp__files__*"), nil,
		rig.Box(rig.Named("mcp__files__read"), rig.Named("mcp__files__list"), rig.Does("mcp__mail__send", rig.Never(t)), rig.Does("bash", rig.Never(t))))
	w.Send("go")
	assert.Equal(t, []string{"mcp__files__read", "mcp__files__list"}, m.Offered(0))
	assert.ElementsMatch(t, []string{"mcp__files__read:", `tool "mcp__mail__send" is not available to this agent`, `tool "bash" is not available to this agent`}, w.Results())
}

func TestSpecAPatternCoversToolsThatComeLater(t *testing.T) {
	t.Parallel()
	b := rig.Box(rig.Named("read"))
	m := rig.Plays(rig.Says("none yet"), rig.Calls(rig.Call("1", "mcp__web__search", "{}")), rig.Says("done"))
	w := rig.StartWith(t, m, rig.Configured("mcp__web__*"), nil, b)
	w.Send("1")
	b.Tools = append(b.Tools, rig.Named("mcp__web__search"), rig.Does("mcp__mail__send", rig.Never(t)))
	require.NoError(t, w.Runtime.Refresh(t.Context(), "a"))
	w.Send("2")
	assert.Empty(t, m.Offered(0))
	assert.Equal(t, []string{"mcp__web__search"}, m.Offered(1))
	assert.Equal(t, []string{"mcp__web__search:"}, w.Results())
}

func TestSpecAPatternWithoutAToolIsADiagnosticAndANameIsAnError(t *testing.T) {
	t.Parallel()
	var told []string
	listen := hook.Hook(&hearer{hear: func(ev hook.Event) {
		if ev.Kind == event.Diagnostic && ev.Detail().Code == event.CodeToolPattern {
			told = append(told, ev.Text)
		}
	}})
	w := rig.StartWith(t, rig.Plays(), rig.Configured("mcp__web__*", "read"), nil, listen, rig.Box(rig.Named("read")))
	assert.Equal(t, []string{`agent "a": no tool matches "mcp__web__*" now; tools that come later will`}, told)
	for tools, says := range map[string]string{"write": `tool "write": nobody owns it`, "mcp:*": "a pattern has letters"} {
		_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b", Tools: []string{tools}})
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
	one, two := rig.Box(rig.Named("x_read"), rig.Named("x_write")), rig.Box(rig.Named("y_read"), rig.Named("y_write"))
	one.Scope = hook.Scope{Tools: []string{"*_read", "y_write"}}
	m := rig.Plays(rig.Says("done"))
	w := rig.StartWith(t, m, rig.Configured("*_read", "x_write"), nil, one, two)
	w.Send("go")
	assert.Equal(t, []string{"x_read", "y_read"}, m.Offered(0))

	m = rig.Plays(rig.Says("done"))
	w = rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, nil, one, two)
	w.Send("go")
	assert.Equal(t, []string{"x_read", "y_read", "y_write"}, m.Offered(0), "only the hook's own tools are narrowed")
}

// TestSpecAChildGetsTheIntersectionOfPatterns: B4. No child has a tool that its parent lacks, whatever its own list says.
func TestSpecAChildGetsTheIntersectionOfPatterns(t *testing.T) {
	t.Parallel()
	var m *rig.Model
	hands := rig.Tool{Tool: message.Tool{Name: "hand"}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "child", Input: message.TextInput("do it"), Tools: []string{"*_read", "a_write"}, Call: env.Call})
		require.NoError(t, err)
		return message.TextResult(out.Text())
	}}
	m = rig.Plays(rig.Calls(rig.Call("1", "hand", "{}")), rig.Calls(rig.Call("2", "b_read", "{}")), rig.Says("child done"), rig.Says("done"))
	w := rig.StartWith(t, m, rig.Configured("hand", "a_*"), nil, rig.Box(hands, rig.Named("a_read"), rig.Named("a_write"), rig.Does("b_read", rig.Never(t))))
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "child", Tools: []string{"*"}})
	require.NoError(t, err)
	w.Send("go")
	assert.Equal(t, []string{"a_read", "a_write"}, m.Offered(1))
	assert.Contains(t, w.Results(), `tool "b_read" is not available to this agent`)
}

// TestSpecBashRejectedForGatewaySender: bug B6 of others. The tool is neither offered nor run, and its name is not in the prompt.
func TestSpecBashRejectedForGatewaySender(t *testing.T) {
	t.Parallel()
	cfg := hook.AgentConfig{Name: "a", Senders: []message.SenderRule{{Tools: []string{"ba*"}, Senders: []string{"ann", "ops:*"}}}}
	m := rig.Plays(rig.Calls(rig.Call("1", "bash", "{}")), rig.Says("no"), rig.Calls(rig.Call("2", "bash", "{}")), rig.Says("yes"), rig.Says("yes"))
	w := rig.StartWith(t, m, cfg, nil, rig.Box(rig.Named("read"), rig.Named("bash")))
	w.SendsAs("a", "gateway:ann")
	assert.Equal(t, []string{"read"}, m.Offered(0))
	assert.NotContains(t, m.Requests[0].System, "bash")
	assert.Equal(t, []string{`tool "bash" is not available to this agent`}, w.Results())
	w.Events = nil
	w.SendsAs("a", "ann")
	assert.Equal(t, []string{"read", "bash"}, m.Offered(2))
	assert.Equal(t, []string{"bash:"}, w.Results())
	w.SendsAs("a", "ops:eve")
	assert.Equal(t, []string{"read", "bash"}, m.Offered(4))
}

// TestSpecAHooksScopeHasSenders: a hook's rule holds beside that of the configuration.
func TestSpecAHooksScopeHasSenders(t *testing.T) {
	t.Parallel()
	b := rig.Box(rig.Named("read"), rig.Named("bash"))
	b.Scope = hook.Scope{Senders: []message.SenderRule{{Tools: []string{"bash"}, Senders: []string{"ann", "bob"}}}}
	for _, others := range [][]hook.Hook{{}, {rig.Box(rig.Named("other"))}} {
		m := rig.Plays(rig.Says("1"), rig.Says("2"), rig.Says("3"))
		cfg := hook.AgentConfig{Name: "a", Senders: []message.SenderRule{{Tools: []string{"bash"}, Senders: []string{"bob", "eve"}}}}
		w := rig.StartWith(t, m, cfg, nil, append([]hook.Hook{b}, others...)...)
		for i, sender := range []string{"ann", "bob", "eve"} {
			w.SendsAs("a", sender)
			assert.Equal(t, sender == "bob", len(m.Offered(i)) == 2+len(others), "%s %v", sender, m.Offered(i))
		}
	}
}

// TestSpecAChildHasTheSenderOfItsRoot: an agent cannot reach a tool for its user by running another agent.
func TestSpecAChildHasTheSenderOfItsRoot(t *testing.T) {
	t.Parallel()
	hands := rig.Tool{Tool: message.Tool{Name: "hand"}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "child", Input: message.TextInput("do it"), Call: env.Call})
		require.NoError(t, err)
		return message.TextResult(out.Text())
	}}
	for sender, offered := range map[string][]string{"ann": {"hand", "bash"}, "gateway:ann": {"hand"}} {
		m := rig.Plays(rig.Calls(rig.Call("1", "hand", "{}")), rig.Calls(rig.Call("2", "bash", "{}")), rig.Says("child done"), rig.Says("done"))
		w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, nil, rig.Box(hands, rig.Named("bash")))
		_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "child", Senders: []message.SenderRule{{Tools: []string{"bash"}, Senders: []string{"ann"}}}})
		require.NoError(t, err)
		w.SendsAs("a", sender)
		assert.Equal(t, offered, m.Offered(1), sender)
		assert.Equal(t, sender == "ann", w.Results()[0] == "bash:", "%v", w.Results())
	}
}

// TestSpecAToolThatAHookAddsIsKeptFromOtherSenders: a rule by a pattern holds for tools of one turn, too.
func TestSpecAToolThatAHookAddsIsKeptFromOtherSenders(t *testing.T) {
	t.Parallel()
	lamp := lender{rig.Box(rig.Named("lamp_on"))}
	for sender, n := range map[string]int{"ann": 1, "eve": 0} {
		m := rig.Plays(rig.Says("done"))
		w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Senders: []message.SenderRule{{Tools: []string{"lamp_*"}, Senders: []string{"ann"}}}}, nil, lamp, rig.Box())
		w.SendsAs("a", sender)
		assert.Len(t, m.Offered(0), n, sender)
	}
}

// lender adds its tools in each turn.
type lender struct{ *rig.Toolbox }

func (lender) Schema() []message.Tool { return nil }

func (l lender) TurnTools(context.Context, *hook.Turn) ([]hook.ToolChange, error) {
	var add []hook.AddedTool
	for _, t := range l.Tools {
		add = append(add, hook.AddedTool{Tool: message.Tool{Name: t.Name, Input: rig.BoxSchema}})
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
	runs := rig.Tool{Tool: message.Tool{Name: "x"}, Run: func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
		seen["tool"] = env.Grant
		return message.TextResult("ok")
	}}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")),
		gate("first", hook.Grant{Root: "/srv/a", ReadOnly: true}), gate("second", hook.Grant{Root: "/", MaxOutput: 9}),
		gate("third", hook.Grant{}), asks, approves, wrap, rig.Box(runs))
	w.Send("go")
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
	p := &rig.Person{Answers: []hook.ApprovalDecision{hook.ModifyCall(`{"s":"mine"}`), hook.ApproveCall()}}
	var granted hook.Grant
	runs := rig.Tool{Tool: message.Tool{Name: "x"}, Run: func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
		granted = env.Grant
		return message.TextResult("ok")
	}}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), gate, p, rig.Box(runs))
	w.Send("go")
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
	var all []rig.ToolCall
	for _, id := range []string{"denied", "answered", "refused", "approved", "plain"} {
		all = append(all, rig.Call(id, "echo", `{"s":"x"}`))
	}
	w := rig.Start(t, rig.Plays(rig.Calls(all...), rig.Says("done")), gate, people, rig.Box(rig.Named("echo")))
	w.Send("go")
	by := map[string]string{}
	for _, ev := range w.EventsOf(event.CallResult) {
		by[ev.Detail().CallID] = ev.Detail().By
	}
	assert.Equal(t, map[string]string{"denied": "H0", "answered": "H0", "refused": "H1", "approved": "", "plain": ""}, by)
}
