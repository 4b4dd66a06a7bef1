package runtime_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// goroutine is the first line of the stack, which names the goroutine.
func goroutine() string {
	line, _, _ := strings.Cut(string(debug.Stack()), " [")
	return line
}

// where is a tool that answers with the goroutine that it runs on.
func where(t hook.Tool) tool {
	t.Name, t.Inline = "where", true
	return tool{t, func(context.Context, *hook.Env, string) hook.ToolResult { return hook.TextResult(goroutine()) }}
}

// TestSpecAnInlineToolRunsWhereTheTurnDoes: and only where nothing could have to be
// waited for.
func TestSpecAnInlineToolRunsWhereTheTurnDoes(t *testing.T) {
	t.Parallel()
	narrow := hook.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.NarrowTool(hook.Grant{Timeout: time.Minute}), nil
	})
	wraps := hook.WrapToolFunc(func(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) hook.ToolResult { return next.Run(ctx) })
	for name, c := range map[string]struct {
		tool  hook.Tool
		hooks []hook.Hook
		apart bool
	}{
		"it only computes":      {},
		"others decide":         {hooks: []hook.Hook{&adds{}}},
		"a bound of its own":    {tool: hook.Tool{Timeout: time.Minute}, apart: true},
		"a bound that is set":   {hooks: []hook.Hook{narrow}, apart: true},
		"a key":                 {tool: hook.Tool{Exclusive: "key"}, apart: true},
		"it waits for a person": {tool: hook.Tool{Waits: true}, apart: true},
		"somebody wraps all":    {hooks: []hook.Hook{wraps}, apart: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, plays(calls(want{"1", "where", "{}"}), says("done")), append(c.hooks, box(where(c.tool)))...)
			loop := ""
			_, err := w.conv.Send(t.Context(), hook.TextInput("go"), &runtime.SendOptions{Observe: func(ev hook.Event) {
				if ev.Kind == hook.EventTurnStart {
					loop = goroutine()
				}
				w.events = append(w.events, ev)
			}})
			require.NoError(t, err)
			assert.Equal(t, c.apart, w.results()[0] != loop, w.results()[0])
			assert.Equal(t, hook.OutcomeExecuted, w.eventsOf(hook.EventCallResult)[0].Detail().Outcome)
		})
	}
}

// TestSpecAnInlineToolIsLikeAnyOther: events, results, history and journal do not show
// where a tool ran.
func TestSpecAnInlineToolIsLikeAnyOther(t *testing.T) {
	t.Parallel()
	play := func(inline bool) (kinds []hook.EventKind, history []string) {
		echo, bad := named("echo"), does("bad", func(context.Context) hook.ToolResult { panic("secret") })
		echo.Inline, bad.Inline = inline, inline
		w := startWith(t, plays(calls(want{"1", "echo", `{"s":"x"}`}), calls(want{"2", "bad", `{}`}), says("done")),
			hook.AgentConfig{Name: "a"}, &runtime.Options{Store: mem.New(&mem.Options{Journal: true}), Slots: 1}, box(echo, bad))
		w.send("go")
		assert.NotContains(t, strings.Join(w.history(), "\n"), "secret")
		return w.kinds(), w.history()
	}
	kinds, history := play(false)
	gotKinds, gotHistory := play(true)
	assert.Equal(t, kinds, gotKinds)
	assert.Equal(t, history, gotHistory)
	assert.Contains(t, history, "tool 2 bad panic: the tool panicked")
}

// TestSpecAnInlineToolTakesNoSlot: one that others have taken all of holds it up no
// more than a slow call of its own step does.
func TestSpecAnInlineToolTakesNoSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		quick := named("quick")
		quick.Inline = true
		wants := []want{{"slow", "slow", "{}"}}
		for i := range 8 {
			wants = append(wants, want{fmt.Sprint(i), "quick", "{}"})
		}
		w := startWith(t, plays(calls(wants...), says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Slots: 1},
			box(sleeps("slow", time.Second), quick))
		began := time.Now()
		w.send("go")
		assert.Equal(t, time.Second, time.Since(began))
		ends := w.eventsOf(hook.EventCallResult)
		require.Len(t, ends, 9)
		for _, ev := range ends[:8] {
			assert.Zero(t, ev.Time.Sub(began), ev.Detail().CallID)
		}
		assert.Equal(t, "slow", ends[8].Detail().CallID)
		require.NoError(t, w.rt.Close(t.Context()))
	})
}

// TestSpecACancelledTurnKeepsWhatAnInlineToolDid: it is not interrupted; what comes
// behind it does not begin.
func TestSpecACancelledTurnKeepsWhatAnInlineToolDid(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	stops := does("stops", func(context.Context) hook.ToolResult { cancel(); return hook.TextResult("did it") })
	quick := named("quick")
	stops.Inline, quick.Inline = true, true
	w := start(t, plays(calls(want{"1", "stops", "{}"}, want{"2", "quick", "{}"}), says("never")), box(stops, quick))
	_, err := w.try(ctx, "go")
	require.ErrorIs(t, err, context.Canceled)
	history := w.history()
	assert.Contains(t, history, "tool 1 stops: did it")
	assert.Contains(t, history, "tool 2 quick cancelled: cancelled before it started")
}

// TestSpecAnInlineToolThatEndsItsGoroutineEndsTheTurn: it is the turn's goroutine. The
// conversation stays usable.
func TestSpecAnInlineToolThatEndsItsGoroutineEndsTheTurn(t *testing.T) {
	t.Parallel()
	quits := does("quits", func(context.Context) hook.ToolResult { goruntime.Goexit(); return hook.ToolResult{} })
	quits.Inline = true
	w := start(t, plays(calls(want{"1", "quits", "{}"}), says("two")), box(quits))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = w.conv.Send(context.Background(), hook.TextInput("go"), nil)
	}()
	<-ended
	assert.Equal(t, "two", w.send("again").Text())
}
