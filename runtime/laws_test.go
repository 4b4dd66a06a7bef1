package runtime_test

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
	"github.com/grapnel-go/grapnel/runtime"
)

// The laws of composition as the runtime keeps them, one test each.

func TestLawEventsComeInCompletionOrderAndHistoryInCallOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t, plays(calls(want{"1", "slow", "{}"}, want{"2", "quick", "{}"}, want{"3", "quick", "{}"}), says("done")),
			box(sleeps("slow", 150*time.Millisecond), sleeps("quick", 0)))
		began := time.Now()
		w.send("go")

		assert.Equal(t, 150*time.Millisecond, time.Since(began), "the calls run at the same time")
		var order []string
		for _, ev := range w.eventsOf(event.CallResult) {
			order = append(order, ev.Detail().CallID)
		}
		assert.ElementsMatch(t, []string{"2", "3"}, order[:2])
		assert.Equal(t, "1", order[2])
		assert.Equal(t, []string{
			"user go", "assistant [1 slow {}] [2 quick {}] [3 quick {}]",
			"tool 1 slow: slow", "tool 2 quick: quick", "tool 3 quick: quick", "assistant done",
		}, w.history())
		last := w.eventsOf(event.CallResult)[2].Detail()
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
	w := start(t, plays(calls(want{"1", "x", "{}"}, want{"2", "x", "{}"})), rewriter, guard,
		box(does("x", func(context.Context) message.ToolResult {
			ran <- strings.Join(log, ", ") // safe: no gate may run any more
			return message.ToolResult{}
		})))
	w.send("go")
	for range 2 {
		assert.Equal(t, "rewrite 1, before 1, rewrite 2, before 2", <-ran)
	}
}

func TestLawAPanicStaysInItsCall(t *testing.T) {
	t.Parallel()
	for k := range 4 {
		t.Run(fmt.Sprintf("call %d of 4", k), func(t *testing.T) {
			t.Parallel()
			var ws []want
			for i := range 4 {
				name := "fine"
				if i == k {
					name = "broken"
				}
				ws = append(ws, want{fmt.Sprint(i), name, `{"s":"x"}`})
			}
			w := start(t, plays(calls(ws...), says("done")), box(named("fine"),
				does("broken", func(context.Context) message.ToolResult { panic("boom") })))
			out := w.send("go")

			assert.Equal(t, "done", out.Text())
			require.Len(t, w.eventsOf(event.CallResult), 4)
			for _, ev := range w.eventsOf(event.CallResult) {
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
	b := box(named("read"))
	w := start(t, plays(calls(want{"1", "raed", "{}"}, want{"2", "read", `{"s":"x"}`}), says("done")), b)
	w.send("go")
	assert.Equal(t, []string{
		"user go", `assistant [1 raed {}] [2 read {"s":"x"}]`,
		`tool 1 raed not_registered: tool "raed" is not registered; did you mean "read"?`,
		"tool 2 read: read:x", "assistant done",
	}, w.history())
	assert.Zero(t, b.dispatched["raed"], "no owner was asked")
	assert.Equal(t, message.OutcomeUnknown, w.eventsOf(event.CallResult)[0].Detail().Outcome)
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
			b := box(named("x"))
			m := plays(calls(want{"1", "x", tc.sent}), says("done"))
			w := start(t, m, b)
			out := w.send("go")
			assert.Equal(t, "done", out.Text(), "the model gets another chance")
			assert.Equal(t, "assistant [1 x "+tc.stored+"]", w.history()[1])
			assert.Contains(t, w.history()[2], "tool 1 x invalid_arguments:")
			assert.Contains(t, w.history()[2], boxSchema)
			assert.Equal(t, message.OutcomeInvalid, w.eventsOf(event.CallResult)[0].Detail().Outcome)
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
			w := start(t, plays(calls(want{"1", "y", "{}"}, want{"2", "x", tc.sent}), says("sorry")), box(named("x"), named("y")))
			assert.Equal(t, "sorry", w.send("go").Text(), "the model gets another chance")
			assert.Equal(t, "assistant [1 y {}] [2 x "+tc.stored+"]", w.history()[1])
			assert.Equal(t, "tool 1 y: y:", w.history()[2], "the other call runs")
			assert.Contains(t, w.history()[3], "tool 2 x invalid_arguments:")
			assert.Contains(t, w.history()[3], boxSchema, "the model is told what was expected")
			assertBrackets(t, w)
		})
	}
}

func TestLawArgumentsThatAreNoJSONAgainAndAgainEndTheTurn(t *testing.T) {
	t.Parallel()
	bad := func(id string) message.ModelStream { return calls(want{id, "x", `{"s":`}) }
	last := calls(want{"8", "y", "{}"}, want{"9", "x", `{"s":`})
	for name, tc := range map[string]struct {
		limit   int
		replies []message.ModelStream
	}{
		"three by default":     {0, []message.ModelStream{bad("1"), bad("2"), last}},
		"in a row":             {2, []message.ModelStream{bad("1"), calls(want{"2", "x", "{}"}), bad("3"), last}},
		"one":                  {1, []message.ModelStream{last}},
		"not those cut off":    {2, []message.ModelStream{bad("1"), finishes(message.FinishLength, want{"2", "x", `{"s":`}), bad("3"), last}},
		"fewer than no number": {-1, []message.ModelStream{last}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := plays(append(tc.replies, says("never"))...)
			w := startWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{Limits: runtime.Limits{Unreadable: tc.limit}}, box(named("x"), does("y", never(t))))
			out, err := w.try(t.Context(), "go")
			require.ErrorIs(t, err, runtime.ErrArguments)
			assert.Equal(t, hook.StopRetryLimit, out.Signals.At(0).Reason)
			assert.Len(t, m.requests, len(tc.replies))
			lines := w.history()
			assert.Contains(t, lines[len(lines)-2], "tool 8 y cancelled: not run: the arguments of another call")
			assertBrackets(t, w)
			w.send("and the conversation goes on")
		})
	}
}

// raw has tools that take any text; what it binds it has not read.
type raw struct {
	hook.Nop
	t *testing.T
}

func (raw) Schema() []message.Tool { return []message.Tool{{Name: "shell", Input: boxSchema}} }

func (r raw) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound(call.Args(), r), call.Name() == "shell"
}

func (r raw) Run(ctx context.Context, _ *hook.Env) message.ToolResult { return never(r.t)(ctx) }

func TestLawArgumentsThatTheirOwnerDoesNotReadAreReadAllTheSame(t *testing.T) {
	t.Parallel()
	for _, finish := range []message.FinishReason{message.FinishTools, message.FinishLength} {
		w := start(t, plays(finishes(finish, want{"1", "y", "{}"}, want{"2", "shell", "ls -l"}), says("done")), box(named("y")), raw{t: t})
		w.send("go")
		assert.Equal(t, "tool 1 y: y:", w.history()[2])
		assert.Contains(t, w.history()[3], "tool 2 shell invalid_arguments: the arguments are no JSON")
		assertBrackets(t, w)
	}
}

func TestLawArgumentsCutAtTheTokenLimitSaySo(t *testing.T) {
	t.Parallel()
	w := start(t, plays(finishes(message.FinishLength, want{"1", "x", "{}"}, want{"2", "x", `{"s":"lon`}), says("done")), box(named("x")))
	w.send("go")
	assert.Equal(t, "tool 1 x: x:", w.history()[2], "a call that came whole runs")
	assert.Contains(t, w.history()[3], "cut off at its token limit")
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
				w := start(t, plays(calls(want{"1", "x", "{}"}), says("done")), append(guards, approve, box(does("x", never(t))))...)
				w.send("go")
				assert.Equal(t, "tool 1 x denied: not here", w.history()[2])
				assert.Empty(t, w.eventsOf(event.ApprovalAsked))
			})
		}
	}
}

// never is a tool that must not run.
func never(t *testing.T) func(context.Context) message.ToolResult {
	return func(context.Context) message.ToolResult {
		t.Error("a call ran that must not")
		return message.ToolResult{}
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
	b := box(named("x"))
	w := start(t, plays(calls(want{"1", "x", `{"s": "rm"}`}), says("done")), rewriter, guard, b)
	w.send("go")
	assert.Equal(t, message.JSON(`{"s":"safe"}`), decided, "deciders see what will run, canonical")
	assert.Equal(t, message.JSON(`{"s": "rm"}`), original, "the original is kept for the audit")
	assert.Equal(t, []string{`assistant [1 x {"s":"safe"}]`, "tool 1 x: x:safe"}, w.history()[1:3])
	assert.Equal(t, 2, b.dispatched["x"])
}

func TestLawArgumentsRewrittenBadlyDoNotRun(t *testing.T) {
	t.Parallel()
	rewriter := point.RewriteArgsFunc(func(context.Context, *hook.ToolCall, message.JSON) (message.JSON, error) {
		return `{"nonsense":1}`, nil
	})
	w := start(t, plays(calls(want{"1", "x", `{"s":"a"}`}), says("done")), rewriter, box(does("x", never(t))))
	w.send("go")
	assert.Contains(t, w.history()[2], "tool 1 x invalid_arguments:")
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
			b := box(named("a"), named("b"), named("c"))
			b.scope.Tools = tc.scope
			m := plays(calls(want{"1", "a", "{}"}, want{"2", "b", "{}"}, want{"3", "c", "{}"}))
			w := startWith(t, m, hook.AgentConfig{Name: "a", Tools: tc.asked}, nil, b)
			w.send("go")

			advertised := []string{}
			for _, tool := range m.requests[0].Tools.Tools().All() {
				advertised = append(advertised, tool.Name)
			}
			assert.Equal(t, tc.want, advertised)
			agent, err := w.rt.Agent("a")
			require.NoError(t, err)
			assert.Equal(t, tc.want, agent.Config().Tools)
			for _, name := range []string{"a", "b", "c"} {
				reached := b.dispatched[name] > 0
				assert.Equal(t, contains(tc.want, name), reached, "Dispatch reached for %s", name)
			}
			for _, ev := range w.eventsOf(event.CallResult) {
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
		w := start(t, plays(calls(want{"1", "x", `{"s":"y"}`}, want{"2", "z", "{}"}), says("done")), hooks...)
		w.send("go")
		agent, err := w.rt.Agent("a")
		require.NoError(t, err)
		return w.history(), w.kinds(), agent.Prompt()
	}
	history, kinds, prompt := run(box(named("x")))
	for name, hooks := range map[string][]hook.Hook{
		"before": {hook.Nop{}, box(named("x"))}, "after": {box(named("x")), hook.Nop{}},
		"around": {hook.Nop{}, box(named("x")), hook.Nop{}},
	} {
		h, k, p := run(hooks...)
		assert.Equal(t, history, h, name)
		assert.Equal(t, kinds, k, name)
		assert.Equal(t, prompt, p, name)
	}
}

func TestLawANilHookIsNop(t *testing.T) {
	t.Parallel()
	m := plays(says("hello"))
	w := start(t, m)
	out := w.send("hi")
	assert.Equal(t, "hello", out.Text())
	assert.Equal(t, "Help.", m.requests[0].System, "the instructions alone")
	assert.Zero(t, m.requests[0].Tools.Tools().Len())
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
	fails := does("failed", func(context.Context) message.ToolResult { return message.FailedResult(message.FailOperation, "no") })
	slow := does("timedout", func(ctx context.Context) message.ToolResult {
		<-ctx.Done()
		return message.FailedResult(message.FailTimeout, "late")
	})
	slow.Timeout = time.Millisecond
	panics := does("panicked", func(context.Context) message.ToolResult { panic("boom") })
	want1 := func(name string) want { return want{name, name, "{}"} }
	w := start(t, plays(calls(
		want1("executed"), want1("failed"), want1("timedout"), want1("panicked"), want1("denied"), want1("answered"),
		want1("unapproved"), want1("guardfails"), want1("guardpanics"), want1("unknown"), want{"invalid", "executed2", "[]"},
	), says("done")), after, afterTurn, guard, box(
		named("executed"), fails, slow, panics, named("denied"), named("answered"), named("unapproved"),
		named("guardfails"), named("guardpanics"), named("executed2")))
	w.send("go")
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
	w := start(t, plays(), afterTurn, preprocess(func(message.Input) (message.Input, error) { return message.Input{}, errors.New("no such command") }))
	_, err := w.try(t.Context(), "/nothing")
	require.ErrorContains(t, err, "no such command")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.try(ctx, "/nothing")
	require.Error(t, err)
	assert.Equal(t, []hook.StopReason{hook.StopError, hook.StopCancelled}, outcomes)
	assert.Empty(t, w.history(), "a rejected turn stores nothing")
}

type preprocessor struct {
	hook.Nop
	f func(message.Input) (message.Input, error)
}

func preprocess(f func(message.Input) (message.Input, error)) hook.Hook { return preprocessor{f: f} }

func (p preprocessor) Preprocess(_ context.Context, _ *hook.Turn, in message.Input) (message.Input, error) {
	return p.f(in)
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
			w := start(t, plays(calls(
				want{"1", "panics", "{}"}, want{"2", "forgets", "{}"}, want{"3", "unbound", "{}"}, want{"4", "nilrunner", "{}"},
			), says("done")), hooks...)
			assert.Equal(t, "done", w.send("go").Text())
			outcomes := []message.Outcome{}
			for _, ev := range w.eventsOf(event.CallResult) {
				outcomes = append(outcomes, ev.Detail().Outcome)
			}
			assert.Equal(t, []message.Outcome{message.OutcomePanicked, message.OutcomeUnknown, message.OutcomeFailed, message.OutcomeFailed}, outcomes)
			assert.NotContains(t, strings.Join(w.history(), "\n"), "hunter2")
			assert.Len(t, w.eventsOf(event.HookFailed), 1)
		})
	}
}
