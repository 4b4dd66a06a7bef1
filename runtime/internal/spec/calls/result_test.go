package calls_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// resultOf runs one call of a tool that returns r and returns what was stored.
func resultOf(t *testing.T, r message.ToolResult, o *runtime.Options, max int, hooks ...hook.Hook) message.ToolResult {
	t.Helper()
	x := rig.Does("x", func(context.Context) message.ToolResult { return r })
	x.MaxResult = max
	w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), hook.AgentConfig{Name: "a"}, o, append(hooks, rig.Box(x))...)
	w.Send("go")
	ms, err := w.Store.Messages(t.Context(), w.Conv.ID())
	require.NoError(t, err)
	require.Len(t, ms, 4)
	assert.Equal(t, ms[2].Result.Text(), w.Results()[0], "clients see what the model sees")
	return ms[2].Result
}

func TestResultsAreCutAtRuneBordersHeadAndTailKept(t *testing.T) {
	t.Parallel()
	long := "begin " + strings.Repeat("ä😀", 1000) + " end"
	for limit := 100; limit < 110; limit++ {
		got := resultOf(t, message.TextResult(long), nil, limit).Text()
		assert.True(t, utf8.ValidString(got))
		assert.True(t, strings.HasPrefix(got, "begin ä"))
		assert.True(t, strings.HasSuffix(got, " end"))
		assert.Contains(t, got, "bytes left out")
		assert.Less(t, len(got), limit+50)
	}
	assert.Less(t, len(resultOf(t, message.TextResult(strings.Repeat("x", 1e6)), nil, 0).Text()), 100_000+50)
	assert.Less(t, len(resultOf(t, message.TextResult(long), &runtime.Options{Limits: runtime.Limits{Result: 50}}, 0).Text()), 100)
	assert.Equal(t, long, resultOf(t, message.TextResult(long), &runtime.Options{Limits: runtime.Limits{Result: 50}}, 1e6).Text(), "the tool's own bound counts")
	assert.Equal(t, "short", resultOf(t, message.TextResult("short"), nil, 5).Text())
}

func TestBytesThatAreNoTextAreReplaced(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a\uFFFDb", resultOf(t, message.TextResult("a\xff\xfeb"), nil, 0).Text())
}

func TestAGrantBoundsTheOutput(t *testing.T) {
	t.Parallel()
	narrow := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.NarrowTool(hook.Grant{MaxOutput: 10}), nil
	})
	assert.Less(t, len(resultOf(t, message.TextResult(strings.Repeat("x", 1000)), nil, 500, narrow).Text()), 60)
}

func TestLawResultsAreRewrittenThenJudgedThenEmitted(t *testing.T) {
	t.Parallel()
	var judged string
	rewrite := point.RewriteResultFunc(func(_ context.Context, _ *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
		return message.TextResult(strings.ReplaceAll(r.Text(), "secret", "[gone]")), nil
	})
	judge := point.AfterToolFunc(func(_ context.Context, _ *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
		judged = o.Result.Text()
		return hook.OutcomeDecision{}, nil
	})
	got := resultOf(t, message.TextResult("the secret"), nil, 0, rewrite, judge)
	assert.Equal(t, "the [gone]", got.Text())
	assert.Equal(t, "the [gone]", judged)
}

func TestLawAHookThatFailsAtAResultWithholdsIt(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]hook.Hook{
		"RewriteResult error": point.RewriteResultFunc(func(_ context.Context, _ *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
			return r, errors.New("broken")
		}),
		"RewriteResult panic": point.RewriteResultFunc(func(context.Context, *hook.ToolCall, message.ToolResult) (message.ToolResult, error) {
			panic("broken")
		}),
		"AfterTool error": point.AfterToolFunc(func(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
			return hook.OutcomeDecision{}, errors.New("broken")
		}),
		"AfterTool panic": point.AfterToolFunc(func(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
			panic("broken")
		}),
		"AfterTool says so": point.AfterToolFunc(func(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
			return hook.WithholdOutcome("private"), nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := resultOf(t, message.TextResult("the secret"), nil, 0, h, hook.Nop{})
			assert.Contains(t, got.Text(), "the result was withheld")
			assert.NotContains(t, got.Text(), "secret")
			assert.NotContains(t, got.Text(), "broken")
			assert.Equal(t, message.FailDenied, got.Failure)
		})
	}
}

func TestAfterToolMayStopTheTurnAfterTheStep(t *testing.T) {
	t.Parallel()
	stop := point.AfterToolFunc(func(_ context.Context, c *hook.ToolCall, _ hook.ToolOutcome) (hook.OutcomeDecision, error) {
		if c.ID() == "1" {
			return hook.StopOutcome("found it"), nil
		}
		return hook.OutcomeDecision{}, nil
	})
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}"), rig.Call("2", "x", "{}"))), stop, rig.Box(rig.Named("x")))
	out := w.Send("go")
	assert.Equal(t, hook.StopStopRequested, out.Stop)
	assert.Equal(t, "H0", out.Signals.At(0).By)
	assert.Equal(t, []string{"tool 1 x: x:", "tool 2 x: x:"}, w.History()[2:], "the results stay")
	assert.Len(t, w.Model.Requests, 1)
}

func TestBeforeToolMayStopTheTurn(t *testing.T) {
	t.Parallel()
	stop := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		if c.ID() == "2" {
			return hook.StopTool("that is the limit"), nil
		}
		return hook.ToolDecision{}, nil
	})
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}"), rig.Call("2", "x", "{}"), rig.Call("3", "x", "{}"))), stop, rig.Box(rig.Does("x", rig.Never(t))))
	out := w.Send("go")
	assert.Equal(t, hook.StopStopRequested, out.Stop)
	assert.Equal(t, []string{
		"tool 1 x cancelled: not run: the turn was stopped", "tool 2 x denied: that is the limit",
		"tool 3 x cancelled: not run: the turn was stopped",
	}, w.History()[2:])
	assert.Len(t, w.EventsOf(event.CallResult), 3)
}

func TestAWrapSurroundsTheRun(t *testing.T) {
	t.Parallel()
	attempts := []int{}
	keys := map[string]bool{}
	flaky := rig.Tool{Tool: message.Tool{Name: "x"}, Run: func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
		attempts = append(attempts, env.Attempt)
		keys[env.Key] = true
		if env.Attempt == 1 {
			panic("flaky")
		}
		return message.TextResult("ok")
	}}
	retry := point.WrapToolFunc(func(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
		r := next.Run(ctx)
		if r.IsError() {
			assert.Equal(t, message.FailPanic, r.Failure, "a wrap sees a panic as a result")
			r = next.Run(ctx)
		}
		return r
	})
	for name, hooks := range map[string][]hook.Hook{"alone": {wrapBox{rig.Box(flaky), retry.(hook.WrapTool)}}, "composite": {retry, rig.Box(flaky)}} {
		attempts = nil
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), hooks...)
		w.Send("go")
		assert.Equal(t, "tool 1 x: ok", w.History()[2], name)
		assert.Equal(t, []int{1, 2}, attempts)
		assert.Equal(t, message.OutcomeExecuted, w.EventsOf(event.CallResult)[0].Detail().Outcome)
	}
	assert.Len(t, keys, 2, "one key for every attempt at a call")
}

// wrapBox is one hook with both tools and a wrap.
type wrapBox struct {
	*rig.Toolbox
	wrap hook.WrapTool
}

func (w wrapBox) WrapTool(ctx context.Context, c *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	return w.wrap.WrapTool(ctx, c, next)
}

func TestLawAWrapThatPanicsLeavesTheResultIfThereIsOne(t *testing.T) {
	t.Parallel()
	before := point.WrapToolFunc(func(context.Context, *hook.ToolCall, hook.ToolNext) message.ToolResult { panic("early") })
	after := point.WrapToolFunc(func(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
		next.Run(ctx)
		panic("late")
	})
	for name, compose := range map[string]func(h hook.Hook) []hook.Hook{
		"alone":     func(h hook.Hook) []hook.Hook { return []hook.Hook{wrapBox{rig.Box(rig.Named("x")), h.(hook.WrapTool)}} },
		"composite": func(h hook.Hook) []hook.Hook { return []hook.Hook{h, rig.Box(rig.Named("x"))} },
	} {
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), compose(before)...)
		w.Send("go")
		assert.Contains(t, w.History()[2], "tool 1 x panic:", name)
		assert.NotEmpty(t, w.EventsOf(event.HookFailed))

		w = rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), compose(after)...)
		w.Send("go")
		assert.Equal(t, "tool 1 x: x:", w.History()[2], name)
		assert.NotEmpty(t, w.EventsOf(event.HookFailed))
	}
}
