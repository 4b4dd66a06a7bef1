package calls_test

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
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/rig"
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

// lockedSource is a source for several goroutines: a call that waits for its key emits so from its own, and
// OnEvent gets that event while hooks of the loop run.
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
	var scripts []message.ModelStream
	for range 40 {
		scripts = append(scripts, c.reply())
	}
	w := rig.StartWith(t, rig.Plays(scripts...), hook.AgentConfig{Name: "a", Limits: hook.Limits{Steps: 4}},
		&runtime.Options{Calls: runtime.Calls{Grace: time.Second, Slots: 3}, Store: mem.New(nil)}, c.hooks()...)
	for n := range 4 {
		w.Events = nil
		clear(c.after)
		ctx, cancel := t.Context(), func() {}
		if c.one(2) {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(c.IntN(3000))*time.Millisecond)
		}
		began := time.Now()
		out, err := w.Try(ctx, "go")
		cancel()
		require.Less(t, time.Since(began), 30*time.Second, "the turn ends in time")
		assert.Equal(t, err != nil, out.Stop == hook.StopError || out.Stop == hook.StopCancelled)
		assert.Equal(t, n+1, c.turns, "AfterTurn once for every turn")
		c.check(t, w, out)
	}
	close(c.release)
	require.NoError(t, w.Runtime.Close(t.Context()))
	synctest.Wait()
}

// reply is what the model does in one step.
func (c *chaos) reply() message.ModelStream {
	if c.one(6) {
		return rig.Says("an answer")
	}
	if c.one(12) {
		return rig.Chunks(rig.Text("cut o"))
	}
	ids := []string{"", "same", "1", "2", "3"}
	tools := []string{"ok", "error", "panic", "hang", "deaf", "big", "broken", "alone", "unknown"}
	args := []string{"{}", `{"s":"x"}`, `{"s":`, `{"s":"\ud800"}`, "[1]", "", `{"S":"x"}`, "\xff"}
	ws := make([]rig.ToolCall, 1+c.IntN(6))
	for i := range ws {
		ws[i] = rig.Call(ids[c.IntN(len(ids))], tools[c.IntN(len(tools))], args[0])
		if c.one(3) {
			ws[i].Args = args[c.IntN(len(args))]
		}
	}
	if c.one(4) {
		return rig.Finishes(message.FinishLength, ws...)
	}
	return rig.Calls(ws...)
}

func (c *chaos) hooks() []hook.Hook {
	alone := rig.Sleeps("alone", 100*time.Millisecond)
	alone.Exclusive = "key"
	hang := rig.Sleeps("hang", time.Hour)
	hang.Timeout = 5 * time.Second
	deaf := rig.Does("deaf", func(context.Context) message.ToolResult { <-c.release; return message.TextResult("late") })
	deaf.Timeout = 2 * time.Second
	tools := rig.Box(rig.Named("ok"), alone, hang, deaf,
		rig.Does("error", func(context.Context) message.ToolResult { return message.FailedResult(message.FailOperation, "no") }),
		rig.Does("panic", func(context.Context) message.ToolResult { panic("boom") }),
		rig.Does("big", func(context.Context) message.ToolResult { return message.TextResult(strings.Repeat("ä", 1<<17)) }),
		rig.Does("broken", func(context.Context) message.ToolResult { return message.TextResult("\xff\xfe") }),
	)
	return []hook.Hook{
		point.RewriteArgsFunc(func(_ context.Context, _ *hook.ToolCall, args message.JSON) (message.JSON, error) {
			return pick(c, args, []message.JSON{`{"s":"rewritten"}`, `{"no":"such"}`, "nonsense"})
		}),
		point.BeforeToolFunc(func(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
			return pick(c, hook.ToolDecision{}, []hook.ToolDecision{
				hook.DenyTool("no"), hook.AskTool("sure?"), hook.AnswerTool(message.TextResult("instead")),
				hook.NarrowTool(hook.Grant{Timeout: time.Second}), hook.StopTool("enough"),
			})
		}),
		point.ApproveFunc(func(context.Context, *hook.ToolCall, hook.ToolDecision) (hook.ApprovalDecision, error) {
			return pick(c, hook.ApproveCall(), []hook.ApprovalDecision{{}, hook.RefuseCall("no"), hook.ModifyCall(`{"s":"mine"}`), hook.ModifyCall("{")})
		}),
		point.AfterToolFunc(func(_ context.Context, call *hook.ToolCall, _ hook.ToolOutcome) (hook.OutcomeDecision, error) {
			c.after[call.ID()]++
			return pick(c, hook.OutcomeDecision{}, []hook.OutcomeDecision{hook.WithholdOutcome("no"), hook.ContextOutcome("note"), hook.StopOutcome("enough")})
		}),
		point.RewriteResultFunc(func(_ context.Context, _ *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
			return pick(c, r, []message.ToolResult{message.TextResult("rewritten")})
		}),
		point.AfterModelFunc(func(context.Context, *hook.Step, message.ModelReply) (hook.ReplyDecision, error) {
			return pick(c, hook.ReplyDecision{}, []hook.ReplyDecision{hook.RetryReply("again"), hook.RetryReply("again"), hook.StopReply("enough"), hook.RejectReply("no")})
		}),
		point.AfterTurnFunc(func(context.Context, *hook.Turn, hook.TurnOutcome) {
			if c.turns++; c.one(10) {
				panic("boom")
			}
		}),
		rig.Observer{Do: func(context.Context, hook.Event) {
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

func (c *chaos) check(t *testing.T, w *rig.World, out hook.TurnOutcome) {
	t.Helper()
	rig.AssertBrackets(t, w)
	last := w.Events[len(w.Events)-1]
	assert.Equal(t, event.TurnEnd, last.Kind)
	assert.Equal(t, out.Stop, last.Detail().Stop)
	results := w.EventsOf(event.CallResult)
	assert.Len(t, results, out.Calls)
	assert.Len(t, c.after, out.Calls)
	for id, n := range c.after {
		assert.Equal(t, 1, n, "AfterTool for %s", id)
	}
	for i, ev := range w.Events[1:] {
		assert.Equal(t, w.Events[i].Seq+1, ev.Seq)
	}
	ms, err := w.Store.Messages(context.Background(), w.Conv.ID())
	require.NoError(t, err)
	assertSendable(t, ms)
}

// assertSendable checks a history by the rules of the strictest providers.
func assertSendable(t *testing.T, ms []message.Message) {
	t.Helper()
	ids := map[string]bool{}
	for i := 0; i < len(ms); i++ {
		m := ms[i]
		require.NotEqual(t, message.RoleTool, m.Role, "a result without its call: %s", rig.Line(m))
		require.Positive(t, m.Content.Len())
		for _, b := range m.Content.All() {
			if b.Kind != message.BlockToolCall {
				continue
			}
			require.NotEmpty(t, b.CallID)
			require.False(t, ids[b.CallID], "id %s twice", b.CallID)
			ids[b.CallID] = true
			var args map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(b.JSON), &args), "arguments %s", b.JSON)
			i++
			require.Less(t, i, len(ms), "a call without its result: %s", rig.Line(m))
			require.Equal(t, []string{string(message.RoleTool), b.CallID, b.Tool}, []string{string(ms[i].Role), ms[i].CallID, ms[i].Tool})
			require.LessOrEqual(t, len(ms[i].Result.Text()), 100_000+100)
		}
	}
	data, err := json.Marshal(ms)
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%q", data), `\xff`)
}
