package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/allocs"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// TestRandomFaults runs turns in which everything may fail: models, tools, hooks
// and the user's patience. Whatever happens, the history is one that every
// provider takes, every call is concluded once, every bracket closes, and the
// turn ends in time.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	turns := 800
	if testing.Short() && allocs.Counted { // the race detector sees more in more turns
		turns = 200
	}
	for seed := range uint64(turns / 4) {
		synctest.Test(t, func(t *testing.T) { faultyConversation(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

type chaos struct {
	*rand.Rand
	release chan struct{}
	after   map[string]int
	turns   int
}

func (c *chaos) one(n int) bool { return c.IntN(n) == 0 }

// lockedSource is a source for several goroutines: a call that waits for its key reports so from its own, and
// OnEvent hears it beside the hooks of the loop.
type lockedSource struct {
	mu sync.Mutex
	rand.Source
}

func (l *lockedSource) Uint64() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Source.Uint64()
}

func faultyConversation(t *testing.T, seed uint64) {
	c := &chaos{Rand: rand.New(&lockedSource{Source: rand.NewPCG(seed, 7)}), release: make(chan struct{}), after: map[string]int{}}
	var scripts []hook.ModelStream
	for range 40 {
		scripts = append(scripts, c.reply())
	}
	w := startWith(t, plays(scripts...), hook.AgentConfig{Name: "a", Limits: hook.Limits{Steps: 4}},
		&runtime.Options{Grace: time.Second, Slots: 3, Store: mem.New(nil)}, c.hooks()...)
	for n := range 4 {
		w.events = nil
		clear(c.after)
		ctx, cancel := t.Context(), func() {}
		if c.one(2) {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(c.IntN(3000))*time.Millisecond)
		}
		began := time.Now()
		out, err := w.try(ctx, "go")
		cancel()
		require.Less(t, time.Since(began), 30*time.Second, "the turn ends in time")
		assert.Equal(t, err != nil, out.Stop == hook.StopError || out.Stop == hook.StopCancelled)
		assert.Equal(t, n+1, c.turns, "AfterTurn once for every turn")
		c.check(t, w, out)
	}
	close(c.release)
	require.NoError(t, w.rt.Close(t.Context()))
	synctest.Wait()
}

// reply is what the model does in one step.
func (c *chaos) reply() hook.ModelStream {
	if c.one(6) {
		return says("an answer")
	}
	if c.one(12) {
		return chunks(text("cut o"))
	}
	ids := []string{"", "same", "1", "2", "3"}
	tools := []string{"ok", "error", "panic", "hang", "deaf", "big", "broken", "alone", "unknown"}
	args := []string{"{}", `{"s":"x"}`, `{"s":`, `{"s":"\ud800"}`, "[1]", "", `{"S":"x"}`, "\xff"}
	ws := make([]want, 1+c.IntN(6))
	for i := range ws {
		ws[i] = want{ids[c.IntN(len(ids))], tools[c.IntN(len(tools))], args[0]}
		if c.one(3) {
			ws[i].args = args[c.IntN(len(args))]
		}
	}
	if c.one(4) {
		return finishes(hook.FinishLength, ws...)
	}
	return calls(ws...)
}

func (c *chaos) hooks() []hook.Hook {
	alone := sleeps("alone", 100*time.Millisecond)
	alone.Exclusive = "key"
	hang := sleeps("hang", time.Hour)
	hang.Timeout = 5 * time.Second
	deaf := does("deaf", func(context.Context) hook.ToolResult { <-c.release; return hook.TextResult("late") })
	deaf.Timeout = 2 * time.Second
	tools := box(named("ok"), alone, hang, deaf,
		does("error", func(context.Context) hook.ToolResult { return hook.FailedResult(hook.FailOperation, "no") }),
		does("panic", func(context.Context) hook.ToolResult { panic("boom") }),
		does("big", func(context.Context) hook.ToolResult { return hook.TextResult(strings.Repeat("ä", 1<<17)) }),
		does("broken", func(context.Context) hook.ToolResult { return hook.TextResult("\xff\xfe") }),
	)
	return []hook.Hook{
		hook.RewriteArgsFunc(func(_ context.Context, _ *hook.ToolCall, args hook.JSON) (hook.JSON, error) {
			return pick(c, args, []hook.JSON{`{"s":"rewritten"}`, `{"no":"such"}`, "nonsense"})
		}),
		hook.BeforeToolFunc(func(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
			return pick(c, hook.ToolDecision{}, []hook.ToolDecision{
				hook.DenyTool("no"), hook.AskTool("sure?"), hook.AnswerTool(hook.TextResult("instead")),
				hook.NarrowTool(hook.Grant{Timeout: time.Second}), hook.StopTool("enough"),
			})
		}),
		hook.ApproveFunc(func(context.Context, *hook.ToolCall, hook.ToolDecision) (hook.ApprovalDecision, error) {
			return pick(c, hook.ApproveCall(), []hook.ApprovalDecision{{}, hook.RefuseCall("no"), hook.ModifyCall(`{"s":"mine"}`), hook.ModifyCall("{")})
		}),
		hook.AfterToolFunc(func(_ context.Context, call *hook.ToolCall, _ hook.ToolOutcome) (hook.OutcomeDecision, error) {
			c.after[call.ID()]++
			return pick(c, hook.OutcomeDecision{}, []hook.OutcomeDecision{hook.WithholdOutcome("no"), hook.ContextOutcome("note"), hook.StopOutcome("enough")})
		}),
		hook.RewriteResultFunc(func(_ context.Context, _ *hook.ToolCall, r hook.ToolResult) (hook.ToolResult, error) {
			return pick(c, r, []hook.ToolResult{hook.TextResult("rewritten")})
		}),
		hook.AfterModelFunc(func(context.Context, *hook.Step, hook.ModelReply) (hook.ReplyDecision, error) {
			return pick(c, hook.ReplyDecision{}, []hook.ReplyDecision{hook.RetryReply("again"), hook.RetryReply("again"), hook.StopReply("enough"), hook.RejectReply("no")})
		}),
		hook.AfterTurnFunc(func(context.Context, *hook.Turn, hook.TurnOutcome) {
			if c.turns++; c.one(10) {
				panic("boom")
			}
		}),
		observer{f: func(context.Context, hook.Event) {
			if c.one(200) {
				panic("boom")
			}
		}},
		tools,
	}
}

// pick is what a hook answers: mostly the first, sometimes one of the others, an
// error or a panic.
func pick[T any](c *chaos, usual T, others []T) (T, error) {
	switch {
	case !c.one(8):
		return usual, nil
	case c.one(6):
		return usual, errors.New("broken")
	case c.one(6):
		panic("boom")
	}
	return others[c.IntN(len(others))], nil
}

func (c *chaos) check(t *testing.T, w *world, out hook.TurnOutcome) {
	t.Helper()
	assertBrackets(t, w)
	last := w.events[len(w.events)-1]
	assert.Equal(t, hook.EventTurnEnd, last.Kind)
	assert.Equal(t, out.Stop, last.Detail().Stop)
	results := w.eventsOf(hook.EventCallResult)
	assert.Len(t, results, out.Calls)
	assert.Len(t, c.after, out.Calls)
	for id, n := range c.after {
		assert.Equal(t, 1, n, "AfterTool for %s", id)
	}
	for i, ev := range w.events[1:] {
		assert.Equal(t, w.events[i].Seq+1, ev.Seq)
	}
	ms, err := w.store.Messages(context.Background(), w.conv.ID())
	require.NoError(t, err)
	assertSendable(t, ms)
}

// assertSendable checks a history by the rules of the strictest providers.
func assertSendable(t *testing.T, ms []hook.Message) {
	t.Helper()
	ids := map[string]bool{}
	for i := 0; i < len(ms); i++ {
		m := ms[i]
		require.NotEqual(t, hook.RoleTool, m.Role, "a result without its call: %s", line(m))
		require.Positive(t, m.Content.Len())
		for _, b := range m.Content.All() {
			if b.Kind != hook.BlockToolCall {
				continue
			}
			require.NotEmpty(t, b.CallID)
			require.False(t, ids[b.CallID], "id %s twice", b.CallID)
			ids[b.CallID] = true
			var args map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(b.JSON), &args), "arguments %s", b.JSON)
			i++
			require.Less(t, i, len(ms), "a call without its result: %s", line(m))
			require.Equal(t, []string{string(hook.RoleTool), b.CallID, b.Tool}, []string{string(ms[i].Role), ms[i].CallID, ms[i].Tool})
			require.LessOrEqual(t, len(ms[i].Result.Text()), runtime.DefaultMaxResult+100)
		}
	}
	data, err := json.Marshal(ms)
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%q", data), `\xff`)
}
