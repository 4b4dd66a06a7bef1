package calls_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// The laws of composition as the runtime keeps them, one test each.

func TestLawEventsComeInCompletionOrderAndHistoryInCallOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "slow", "{}"), rig.Call("2", "quick", "{}"), rig.Call("3", "quick", "{}")), rig.Says("done")),
			rig.Box(rig.Sleeps("slow", 150*time.Millisecond), rig.Sleeps("quick", 0)))
		began := time.Now()
		w.Send("go")

		assert.Equal(t, 150*time.Millisecond, time.Since(began), "the calls run at the same time")
		var order []string
		for _, ev := range w.EventsOf(event.CallResult) {
			order = append(order, ev.Detail().CallID)
		}
		assert.ElementsMatch(t, []string{"2", "3"}, order[:2])
		assert.Equal(t, "1", order[2])
		assert.Equal(t, []string{
			"user go", "assistant [1 slow {}] [2 quick {}] [3 quick {}]",
			"tool 1 slow: slow", "tool 2 quick: quick", "tool 3 quick: quick", "assistant done",
		}, w.History())
		last := w.EventsOf(event.CallResult)[2].Detail()
		assert.Equal(t, 150*time.Millisecond, last.Duration)
	})
}

func TestLawGatesAreSequentialInCallOrderBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	var log []string
	note := func(what string, call *hook.ToolCall) { log = append(log, what+" "+call.ID()) }
	rewriter := point.RewriteArgsFunc(func(_ context.Context, c *hook.ToolCall, args message.JSON) (message.JSON, error) {
		note("rewrite", c)
		return args, nil
	})
	guard := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		note("before", c)
		return hook.ToolDecision{}, nil
	})
	ran := make(chan string, 2)
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}"), rig.Call("2", "x", "{}"))), rewriter, guard,
		rig.Box(rig.Does("x", func(context.Context) message.ToolResult {
			ran <- strings.Join(log, ", ") // safe: no gate may run any more
			return message.ToolResult{}
		})))
	w.Send("go")
	for range 2 {
		assert.Equal(t, "rewrite 1, before 1, rewrite 2, before 2", <-ran)
	}
}

func TestLawAPanicStaysInItsCall(t *testing.T) {
	t.Parallel()
	for k := range 4 {
		t.Run(fmt.Sprintf("call %d of 4", k), func(t *testing.T) {
			t.Parallel()
			var ws []rig.ToolCall
			for i := range 4 {
				name := "fine"
				if i == k {
					name = "broken"
				}
				ws = append(ws, rig.Call(fmt.Sprint(i), name, `{"s":"x"}`))
			}
			w := rig.Start(t, rig.Plays(rig.Calls(ws...), rig.Says("done")), rig.Box(rig.Named("fine"),
				rig.Does("broken", func(context.Context) message.ToolResult { panic("boom") })))
			out := w.Send("go")

			assert.Equal(t, "done", out.Text())
			require.Len(t, w.EventsOf(event.CallResult), 4)
			for _, ev := range w.EventsOf(event.CallResult) {
				d := ev.Detail()
				if d.CallID == fmt.Sprint(k) {
					assert.Equal(t, message.OutcomePanicked, d.Outcome)
					assert.Equal(t, message.FailPanic, d.Result.Failure)
					assert.NotContains(t, d.Result.Text(), "boom", "the value may quote secrets")
					continue
				}
				assert.Equal(t, message.OutcomeExecuted, d.Outcome)
				assert.Equal(t, "fine:x", d.Result.Text())
			}
		})
	}
}

func TestLawAnUnknownToolIsAResult(t *testing.T) {
	t.Parallel()
	b := rig.Box(rig.Named("read"))
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "raed", "{}"), rig.Call("2", "read", `{"s":"x"}`)), rig.Says("done")), b)
	w.Send("go")
	assert.Equal(t, []string{
		"user go", `assistant [1 raed {}] [2 read {"s":"x"}]`,
		`tool 1 raed not_registered: tool "raed" is not registered; did you mean "read"?`,
		"tool 2 read: read:x", "assistant done",
	}, w.History())
	assert.Zero(t, b.Dispatched["raed"], "no owner was asked")
	assert.Equal(t, message.OutcomeUnknown, w.EventsOf(event.CallResult)[0].Detail().Outcome)
}

func TestLawMalformedArgumentsAreAResultWithTheSchema(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, sent, stored string }{
		{"no object", `["x"]`, `{"unparsed_arguments":"[\"x\"]"}`},
		{"unknown key", `{"s": "x", "S":"y"}`, `{"s":"x","S":"y"}`},
		{"a lone surrogate", `{"t":"\ud800"}`, `{"unparsed_arguments":"{\"t\":\"\\ud800\"}"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := rig.Box(rig.Named("x"))
			m := rig.Plays(rig.Calls(rig.Call("1", "x", tc.sent)), rig.Says("done"))
			w := rig.Start(t, m, b)
			out := w.Send("go")
			assert.Equal(t, "done", out.Text(), "the model gets another chance")
			assert.Equal(t, "assistant [1 x "+tc.stored+"]", w.History()[1])
			assert.Contains(t, w.History()[2], "tool 1 x invalid_arguments:")
			assert.Contains(t, w.History()[2], rig.BoxSchema)
			assert.Equal(t, message.OutcomeInvalid, w.EventsOf(event.CallResult)[0].Detail().Outcome)
		})
	}
}

func TestLawArgumentsThatAreNoJSONGoBackToTheModel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, sent, stored string }{
		{"truncated", `{"s":"x`, `{"unparsed_arguments":"{\"s\":\"x"}`},
		{"trailing data", `{"s":"x"} {}`, `{"unparsed_arguments":"{\"s\":\"x\"} {}"}`},
		{"no JSON", "ls -l", `{"unparsed_arguments":"ls -l"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "y", "{}"), rig.Call("2", "x", tc.sent)), rig.Says("sorry")), rig.Box(rig.Named("x"), rig.Named("y")))
			assert.Equal(t, "sorry", w.Send("go").Text(), "the model gets another chance")
			assert.Equal(t, "assistant [1 y {}] [2 x "+tc.stored+"]", w.History()[1])
			assert.Equal(t, "tool 1 y: y:", w.History()[2], "the other call runs")
			assert.Contains(t, w.History()[3], "tool 2 x invalid_arguments:")
			assert.Contains(t, w.History()[3], rig.BoxSchema, "the model is told what was expected")
			rig.AssertBrackets(t, w)
		})
	}
}

func TestLawArgumentsThatAreNoJSONAgainAndAgainEndTheTurn(t *testing.T) {
	t.Parallel()
	bad := func(id string) message.ModelStream { return rig.Calls(rig.Call(id, "x", `{"s":`)) }
	last := rig.Calls(rig.Call("8", "y", "{}"), rig.Call("9", "x", `{"s":`))
	for name, tc := range map[string]struct {
		limit   int
		replies []message.ModelStream
	}{
		"three by default":     {0, []message.ModelStream{bad("1"), bad("2"), last}},
		"in a row":             {2, []message.ModelStream{bad("1"), rig.Calls(rig.Call("2", "x", "{}")), bad("3"), last}},
		"one":                  {1, []message.ModelStream{last}},
		"not those cut off":    {2, []message.ModelStream{bad("1"), rig.Finishes(message.FinishLength, rig.Call("2", "x", `{"s":`)), bad("3"), last}},
		"fewer than no number": {-1, []message.ModelStream{last}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := rig.Plays(append(tc.replies, rig.Says("never"))...)
			w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{Limits: runtime.Limits{Unreadable: tc.limit}}, rig.Box(rig.Named("x"), rig.Does("y", rig.Never(t))))
			out, err := w.Try(t.Context(), "go")
			require.ErrorIs(t, err, runtime.ErrArguments)
			assert.Equal(t, hook.StopRetryLimit, out.Signals.At(0).Reason)
			assert.Len(t, m.Requests, len(tc.replies))
			lines := w.History()
			assert.Contains(t, lines[len(lines)-2], "tool 8 y cancelled: not run: the arguments of another call")
			rig.AssertBrackets(t, w)
			w.Send("and the conversation goes on")
		})
	}
}

// raw has tools that take any text; what it binds it has not read.
type raw struct {
	hook.Nop
	t *testing.T
}

func (raw) Schema() []message.Tool { return []message.Tool{{Name: "shell", Input: rig.BoxSchema}} }

func (r raw) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound(call.Args(), r), call.Name() == "shell"
}

func (r raw) Run(ctx context.Context, _ *hook.Env) message.ToolResult { return rig.Never(r.t)(ctx) }

func TestLawArgumentsThatTheirOwnerDoesNotReadAreReadAllTheSame(t *testing.T) {
	t.Parallel()
	for _, finish := range []message.FinishReason{message.FinishTools, message.FinishLength} {
		w := rig.Start(t, rig.Plays(rig.Finishes(finish, rig.Call("1", "y", "{}"), rig.Call("2", "shell", "ls -l")), rig.Says("done")), rig.Box(rig.Named("y")), raw{t: t})
		w.Send("go")
		assert.Equal(t, "tool 1 y: y:", w.History()[2])
		assert.Contains(t, w.History()[3], "tool 2 shell invalid_arguments: the arguments are no JSON")
		rig.AssertBrackets(t, w)
	}
}

func TestLawArgumentsCutAtTheTokenLimitSaySo(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Finishes(message.FinishLength, rig.Call("1", "x", "{}"), rig.Call("2", "x", `{"s":"lon`)), rig.Says("done")), rig.Box(rig.Named("x")))
	w.Send("go")
	assert.Equal(t, "tool 1 x: x:", w.History()[2], "a call that came whole runs")
	assert.Contains(t, w.History()[3], "cut off at its token limit")
}

func TestLawNoAnswerLiftsADeny(t *testing.T) {
	t.Parallel()
	deny := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.DenyTool("not here"), nil
	})
	answers := map[string]hook.ToolDecision{
		"no opinion": {}, "ask": hook.AskTool("sure?"), "narrow": hook.NarrowTool(hook.Grant{ReadOnly: true}),
		"answer": hook.AnswerTool(message.TextResult("instead")),
	}
	approve := point.ApproveFunc(func(context.Context, *hook.ToolCall, hook.ToolDecision) (hook.ApprovalDecision, error) {
		return hook.ApproveCall(), nil
	})
	for name, answer := range answers {
		other := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) { return answer, nil })
		for order, guards := range map[string][]hook.Hook{"before": {other, deny}, "after": {deny, other}} {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Parallel()
				w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), append(guards, approve, rig.Box(rig.Does("x", rig.Never(t))))...)
				w.Send("go")
				assert.Equal(t, "tool 1 x denied: not here", w.History()[2])
				assert.Empty(t, w.EventsOf(event.ApprovalAsked))
			})
		}
	}
}

func TestLawRewrittenArgumentsAreBoundAgain(t *testing.T) {
	t.Parallel()
	var original, decided message.JSON
	rewriter := point.RewriteArgsFunc(func(context.Context, *hook.ToolCall, message.JSON) (message.JSON, error) {
		return ` { "s" : "safe" } `, nil
	})
	guard := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		original, decided = c.Original(), c.Args()
		return hook.ToolDecision{}, nil
	})
	b := rig.Box(rig.Named("x"))
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", `{"s": "rm"}`)), rig.Says("done")), rewriter, guard, b)
	w.Send("go")
	assert.Equal(t, message.JSON(`{"s":"safe"}`), decided, "deciders see what will run, canonical")
	assert.Equal(t, message.JSON(`{"s": "rm"}`), original, "the original is kept for the audit")
	assert.Equal(t, []string{`assistant [1 x {"s":"safe"}]`, "tool 1 x: x:safe"}, w.History()[1:3])
	assert.Equal(t, 2, b.Dispatched["x"])
}

func TestLawArgumentsRewrittenBadlyDoNotRun(t *testing.T) {
	t.Parallel()
	rewriter := point.RewriteArgsFunc(func(context.Context, *hook.ToolCall, message.JSON) (message.JSON, error) {
		return `{"nonsense":1}`, nil
	})
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", `{"s":"a"}`)), rig.Says("done")), rewriter, rig.Box(rig.Does("x", rig.Never(t))))
	w.Send("go")
	assert.Contains(t, w.History()[2], "tool 1 x invalid_arguments:")
}

func TestLawScopeAdvertisedIsScopeEnforced(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		asked []string
		scope []string
		want  []string
	}{
		{"nil is all", nil, nil, []string{"a", "b", "c"}},
		{"empty is none", []string{}, nil, []string{}},
		{"an empty scope is none", nil, []string{}, []string{}},
		{"the configuration narrows", []string{"c", "a"}, nil, []string{"a", "c"}},
		{"the hook narrows", nil, []string{"b"}, []string{"b"}},
		{"both intersect", []string{"a", "b"}, []string{"b", "c"}, []string{"b"}},
		{"neither widens", []string{"a"}, []string{"b", "nobody"}, []string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := rig.Box(rig.Named("a"), rig.Named("b"), rig.Named("c"))
			b.Scope.Tools = tc.scope
			m := rig.Plays(rig.Calls(rig.Call("1", "a", "{}"), rig.Call("2", "b", "{}"), rig.Call("3", "c", "{}")))
			w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Tools: tc.asked}, nil, b)
			w.Send("go")

			advertised := []string{}
			for _, tool := range m.Requests[0].Tools.Tools().All() {
				advertised = append(advertised, tool.Name)
			}
			assert.Equal(t, tc.want, advertised)
			agent, err := w.Runtime.Agent("a")
			require.NoError(t, err)
			assert.Equal(t, tc.want, agent.Config().Tools)
			for _, name := range []string{"a", "b", "c"} {
				reached := b.Dispatched[name] > 0
				assert.Equal(t, contains(tc.want, name), reached, "Dispatch reached for %s", name)
			}
			for _, ev := range w.EventsOf(event.CallResult) {
				d := ev.Detail()
				if contains(tc.want, d.Tool) {
					assert.Equal(t, message.OutcomeExecuted, d.Outcome)
					continue
				}
				assert.Equal(t, message.FailNotAvailable, d.Result.Failure)
				assert.Equal(t, message.OutcomeUnknown, d.Outcome)
			}
		})
	}
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

func TestLawNopChangesNothing(t *testing.T) {
	t.Parallel()
	run := func(hooks ...hook.Hook) ([]string, []hook.EventKind, string) {
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", `{"s":"y"}`), rig.Call("2", "z", "{}")), rig.Says("done")), hooks...)
		w.Send("go")
		agent, err := w.Runtime.Agent("a")
		require.NoError(t, err)
		return w.History(), w.Kinds(), agent.Prompt()
	}
	history, kinds, prompt := run(rig.Box(rig.Named("x")))
	for name, hooks := range map[string][]hook.Hook{
		"before": {hook.Nop{}, rig.Box(rig.Named("x"))}, "after": {rig.Box(rig.Named("x")), hook.Nop{}},
		"around": {hook.Nop{}, rig.Box(rig.Named("x")), hook.Nop{}},
	} {
		h, k, p := run(hooks...)
		assert.Equal(t, history, h, name)
		assert.Equal(t, kinds, k, name)
		assert.Equal(t, prompt, p, name)
	}
}

func TestLawANilHookIsNop(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says("hello"))
	w := rig.Start(t, m)
	out := w.Send("hi")
	assert.Equal(t, "hello", out.Text())
	assert.Equal(t, "Help.", m.Requests[0].System, "the instructions alone")
	assert.Zero(t, m.Requests[0].Tools.Tools().Len())
}

func TestLawEveryAfterRunsExactlyOnceForEveryCall(t *testing.T) {
	t.Parallel()
	seen := map[string][]message.Outcome{}
	turns := 0
	after := point.AfterToolFunc(func(_ context.Context, c *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
		seen[c.Name()] = append(seen[c.Name()], o.Outcome)
		return hook.OutcomeDecision{}, nil
	})
	afterTurn := point.AfterTurnFunc(func(context.Context, *hook.Turn, hook.TurnOutcome) { turns++ })
	guard := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		switch c.Name() {
		case "denied":
			return hook.DenyTool("no"), nil
		case "answered":
			return hook.AnswerTool(message.TextResult("instead")), nil
		case "unapproved":
			return hook.AskTool("sure?"), nil
		case "guardfails":
			return hook.ToolDecision{}, errors.New("broken")
		case "guardpanics":
			panic("broken")
		}
		return hook.ToolDecision{}, nil
	})
	fails := rig.Does("failed", func(context.Context) message.ToolResult { return message.FailedResult(message.FailOperation, "no") })
	slow := rig.Does("timedout", func(ctx context.Context) message.ToolResult {
		<-ctx.Done()
		return message.FailedResult(message.FailTimeout, "late")
	})
	slow.Timeout = time.Millisecond
	panics := rig.Does("panicked", func(context.Context) message.ToolResult { panic("boom") })
	want1 := func(name string) rig.ToolCall { return rig.Call(name, name, "{}") }
	w := rig.Start(t, rig.Plays(rig.Calls(
		want1("executed"), want1("failed"), want1("timedout"), want1("panicked"), want1("denied"), want1("answered"),
		want1("unapproved"), want1("guardfails"), want1("guardpanics"), want1("unknown"), rig.Call("invalid", "executed2", "[]"),
	), rig.Says("done")), after, afterTurn, guard, rig.Box(
		rig.Named("executed"), fails, slow, panics, rig.Named("denied"), rig.Named("answered"), rig.Named("unapproved"),
		rig.Named("guardfails"), rig.Named("guardpanics"), rig.Named("executed2")))
	w.Send("go")
	assert.Equal(t, map[string][]message.Outcome{
		"executed": {message.OutcomeExecuted}, "failed": {message.OutcomeFailed}, "timedout": {message.OutcomeTimedOut},
		"panicked": {message.OutcomePanicked}, "denied": {message.OutcomeDenied}, "answered": {message.OutcomeAnswered},
		"unapproved": {message.OutcomeDenied}, "guardfails": {message.OutcomeDenied}, "guardpanics": {message.OutcomeDenied},
		"unknown": {message.OutcomeUnknown}, "executed2": {message.OutcomeInvalid},
	}, seen)
	assert.Equal(t, 1, turns)
}

func TestLawAfterTurnRunsForTurnsThatFailEarly(t *testing.T) {
	t.Parallel()
	var outcomes []hook.StopReason
	afterTurn := point.AfterTurnFunc(func(ctx context.Context, _ *hook.Turn, o hook.TurnOutcome) {
		assert.NoError(t, ctx.Err(), "the context of AfterTurn is alive")
		outcomes = append(outcomes, o.Stop)
	})
	w := rig.Start(t, rig.Plays(), afterTurn, rig.Preprocess(func(message.Input) (message.Input, error) { return message.Input{}, errors.New("no such command") }))
	_, err := w.Try(t.Context(), "/nothing")
	require.ErrorContains(t, err, "no such command")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.Try(ctx, "/nothing")
	require.Error(t, err)
	assert.Equal(t, []hook.StopReason{hook.StopError, hook.StopCancelled}, outcomes)
	assert.Empty(t, w.History(), "a rejected turn stores nothing")
}

// careless is a subsystem whose Dispatch breaks its promises.
type careless struct{ hook.Nop }

func (careless) Schema() []message.Tool {
	return []message.Tool{{Name: "panics"}, {Name: "forgets"}, {Name: "unbound"}, {Name: "nilrunner"}}
}

func (careless) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	switch call.Name() {
	case "panics":
		panic("password is hunter2")
	case "unbound":
		return hook.Invocation{}, true
	case "nilrunner":
		return hook.Bound("{}", nil), true
	}
	return hook.Invocation{}, false
}

func TestLawADispatchThatBreaksItsPromisesIsAResult(t *testing.T) {
	t.Parallel()
	for name, hooks := range map[string][]hook.Hook{"alone": {careless{}}, "in a composite": {hook.Nop{}, careless{}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rig.Start(t, rig.Plays(rig.Calls(
				rig.Call("1", "panics", "{}"), rig.Call("2", "forgets", "{}"), rig.Call("3", "unbound", "{}"), rig.Call("4", "nilrunner", "{}"),
			), rig.Says("done")), hooks...)
			assert.Equal(t, "done", w.Send("go").Text())
			outcomes := []message.Outcome{}
			for _, ev := range w.EventsOf(event.CallResult) {
				outcomes = append(outcomes, ev.Detail().Outcome)
			}
			assert.Equal(t, []message.Outcome{message.OutcomePanicked, message.OutcomeUnknown, message.OutcomeFailed, message.OutcomeFailed}, outcomes)
			assert.NotContains(t, strings.Join(w.History(), "\n"), "hunter2")
			assert.Len(t, w.EventsOf(event.HookFailed), 1)
		})
	}
}
