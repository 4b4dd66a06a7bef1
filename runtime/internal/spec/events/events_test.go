package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

func TestEventsAreNumberedWithoutGapsAndKnowTheirPlace(t *testing.T) {
	t.Parallel()
	var seen []hook.Event
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done"), rig.Says("more")),
		rig.Observer{Do: func(_ context.Context, ev hook.Event) { seen = append(seen, ev) }}, rig.Box(rig.Named("x")))
	w.Send("one")
	w.Send("two")
	require.Equal(t, event.AgentRegistered, seen[0].Kind)
	assert.Equal(t, "a", seen[0].Agent)
	assert.Zero(t, seen[0].Seq, "outside a conversation nothing is numbered")
	require.Len(t, seen[1:], len(w.Events), "the hook and the caller get the same")
	turn := ""
	for i, ev := range w.Events {
		assert.Equal(t, uint64(i+1), ev.Seq)
		assert.Equal(t, w.Conv.ID(), ev.Conversation)
		assert.Equal(t, "a", ev.Agent)
		assert.False(t, ev.Time.IsZero())
		if ev.Kind == event.TurnStart {
			assert.NotEqual(t, turn, ev.Turn)
			turn = ev.Turn
		}
		assert.Equal(t, turn, ev.Turn)
		outside := ev.Kind == event.TurnStart || ev.Kind == event.TurnEnd
		assert.Equal(t, outside, ev.Step == 0, "%s in step %d", ev.Kind, ev.Step)
	}
}

func TestASegmentEndsWhereAnotherBegins(t *testing.T) {
	t.Parallel()
	think := func(s string) message.Chunk { return message.Chunk{Kind: message.ChunkReasoning, Text: s} }
	w := rig.Start(t, rig.Plays(rig.Chunks(think("a"), think("b"), rig.Text("c"), think("d"), rig.Text(""), rig.Text("e"), rig.Finish(message.FinishStop))))
	w.Send("go")
	assert.Equal(t, []hook.EventKind{
		event.TurnStart, event.StepStart,
		event.ReasoningStart, event.ReasoningDelta, event.ReasoningDelta, event.ReasoningEnd,
		event.TextStart, event.TextDelta, event.TextEnd,
		event.ReasoningStart, event.ReasoningDelta, event.ReasoningEnd,
		event.TextStart, event.TextDelta, event.TextEnd,
		event.Usage, event.StepEnd, event.TurnEnd,
	}, w.Kinds())
}

func TestAnEventEmittedFromAnEventComesAfterIt(t *testing.T) {
	t.Parallel()
	var order []hook.EventKind
	depth := 0
	h := rig.Observer{Do: func(ctx context.Context, ev hook.Event) {
		depth++
		assert.Equal(t, 1, depth, "never within a delivery")
		if ev.Kind == event.StepStart {
			ev.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "from within"})
		}
		order = append(order, ev.Kind)
		depth--
	}}
	w := rig.Start(t, rig.Plays(rig.Says("ok")), h)
	w.Send("go")
	assert.Equal(t, []hook.EventKind{event.TurnStart, event.StepStart, event.Diagnostic, event.TextStart}, order[1:5])
	assert.Equal(t, order[1:], w.Kinds())
	assert.Equal(t, "from within", w.Events[2].Text)
	assert.Equal(t, 1, w.Events[2].Step, "the runtime fills in the place")
	assert.Equal(t, uint64(3), w.Events[2].Seq)
}

func TestLawAPanicInAnObserverKillsNothing(t *testing.T) {
	t.Parallel()
	for name, hooks := range map[string][]hook.Hook{
		"alone":          {rig.Panicky{At: "OnEvent"}},
		"in a composite": {rig.Panicky{At: "OnEvent"}, hook.Nop{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rig.Start(t, rig.Plays(rig.Says("fine")), hooks...)
			assert.Equal(t, "fine", w.Send("go").Text())
			assert.NotEmpty(t, w.EventsOf(event.HookFailed), "it is said that it failed")
		})
	}
	w := rig.Start(t, rig.Plays(rig.Says("fine")))
	told := 0
	out, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(hook.Event) { told++; panic("boom") }})
	require.NoError(t, err)
	assert.Equal(t, "fine", out.Text())
	assert.Equal(t, 1, told, "it is not called again")
}

func TestProgressIsEmittedWhileTheToolRuns(t *testing.T) {
	t.Parallel()
	told := make(chan struct{})
	slow := rig.Tool{Tool: message.Tool{Name: "x"}, Run: func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
		env.Progress("half way")
		<-told // the tool goes on only when the client knows
		return message.TextResult("ok")
	}}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), rig.Box(slow))
	var progress hook.Event
	_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.CallProgress {
			progress = ev
			close(told)
		}
	}})
	require.NoError(t, err)
	assert.Equal(t, "half way", progress.Text)
	assert.Equal(t, "1", progress.Detail().CallID)
}

func TestManyToolsMayReportAtOnce(t *testing.T) {
	t.Parallel()
	busy := rig.Tool{Tool: message.Tool{Name: "x"}, Run: func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
		for range 50 {
			env.Progress("working")
		}
		return message.TextResult("ok")
	}}
	ws := make([]rig.ToolCall, 8)
	for i := range ws {
		ws[i] = rig.Call("", "x", "{}")
	}
	w := rig.Start(t, rig.Plays(rig.Calls(ws...), rig.Says("done")), rig.Box(busy))
	w.Send("go")
	assert.Len(t, w.EventsOf(event.CallProgress), 8*50, "nothing is dropped")
	for i, ev := range w.Events {
		require.Equal(t, uint64(i+1), ev.Seq, "in order, one at a time")
	}
}

func TestAnAbandonedToolEmitsNothingAfterTheTurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release, ended := make(chan struct{}), make(chan struct{})
	deaf := rig.Tool{Tool: message.Tool{Name: "x"}, Run: func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
		cancel()
		<-release
		env.Progress("still here")
		close(ended)
		return message.ToolResult{}
	}}
	w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}"))), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Millisecond}}, rig.Box(deaf))
	_, err := w.Try(ctx, "go")
	require.ErrorIs(t, err, context.Canceled)
	n := len(w.Events)
	close(release)
	<-ended
	assert.Len(t, w.Events, n)
}

func TestEveryEventIsWritableAsJSON(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", `{"s":`), rig.Call("2", "nobody", "\xff"), rig.Call("3", "x", `{"s":"a"}`)), rig.Says("done")), rig.Box(rig.Named("x")))
	w.Send("go \xff")
	for _, ev := range w.Events {
		data, err := json.Marshal(ev)
		require.NoError(t, err, "%s", ev.Kind)
		assert.True(t, json.Valid(data))
	}
}

// A clock that is set back takes no event back.
func TestTimeDoesNotGoBack(t *testing.T) {
	t.Parallel()
	began, readings := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 0
	clock := func() time.Time { readings++; return began.Add(time.Duration(readings%7) * time.Second) }
	w := rig.StartWith(t, rig.Plays(rig.Says("a", "b", "c", "d", "e", "f", "g", "h")), hook.AgentConfig{Name: "a"}, &runtime.Options{Now: clock})
	w.Send("go")
	last := time.Time{}
	for _, ev := range w.Events {
		assert.False(t, ev.Time.Before(last), ev.Kind)
		last = ev.Time
	}
	assert.Equal(t, began.Add(6*time.Second), last)
}

// What takes time between two events shows in their times.
func TestTheTimesOfATurn(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var passed atomic.Int64
	clock := func() time.Time { return began.Add(time.Duration(passed.Load()) * time.Minute) }
	minute := func() { passed.Add(1) }
	takes := func(s message.ModelStream) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			minute() // before the first chunk, and before the last
			for c, err := range s {
				if c.Kind == message.ChunkFinish {
					minute()
				}
				if !yield(c, err) {
					return
				}
			}
		}
	}
	slow := rig.Does("x", func(context.Context) message.ToolResult { minute(); return message.TextResult("ok") })
	w := rig.StartWith(t, rig.Plays(takes(rig.Calls(rig.Call("1", "x", "{}"))), takes(rig.Says("a", "b"))), hook.AgentConfig{Name: "a"},
		&runtime.Options{Now: clock}, rig.Box(slow))
	w.Send("go")
	var got []string
	for _, ev := range w.Events {
		got = append(got, fmt.Sprintf("%d %s", ev.Time.Sub(began)/time.Minute, ev.Kind))
	}
	assert.Equal(t, []string{
		"0 turn_start", "0 step_start", "2 usage", "2 calls_begin", "2 call_start", "3 call_result", "3 calls_complete", "3 step_end",
		"3 step_start", "4 text_start", "4 text_delta", "4 text_delta", "5 text_end", "5 usage", "5 step_end", "5 turn_end",
	}, got)
}

// A gate may take as long as a person takes to answer.
func TestTheTimeOfAGateIsNotThatOfTheReply(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var passed atomic.Int64
	clock := func() time.Time { return began.Add(time.Duration(passed.Load()) * time.Minute) }
	gate := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		passed.Add(1)
		return hook.ToolDecision{}, nil
	})
	w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}"), rig.Call("2", "x", "{}")), rig.Says("a")), hook.AgentConfig{Name: "a"},
		&runtime.Options{Now: clock}, rig.Box(rig.Named("x")), gate)
	w.Send("go")
	var got []time.Duration
	for _, ev := range w.EventsOf(event.CallStart) {
		got = append(got, ev.Time.Sub(began))
	}
	assert.Equal(t, []time.Duration{0, time.Minute}, got)
}

func TestHistoryDoesNotDependOnTheObserver(t *testing.T) {
	t.Parallel()
	play := func() *rig.Model { return rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("a", "b")) }
	with := rig.Start(t, play(), rig.Box(rig.Named("x")))
	with.Send("go")
	without := rig.Start(t, play(), rig.Box(rig.Named("x")))
	_, err := dialog.Send(t.Context(), without.Conv, message.TextInput("go"), nil)
	require.NoError(t, err)
	assert.Equal(t, with.History(), without.History())
}

func TestConversationsRunAtTheSameTimeAndDoNotMix(t *testing.T) {
	t.Parallel()
	w := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, nil, rig.Box(rig.Named("x")))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			sender := fmt.Sprint("s", i)
			c, err := dialog.Conversation(context.Background(), w.Runtime, "a", sender)
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				_, err := dialog.Send(context.Background(), c, message.TextInput(sender), &runtime.TurnOptions{Observe: func(ev hook.Event) {
					if ev.Conversation != c.ID() {
						t.Errorf("an event of %s in %s", ev.Conversation, c.ID())
					}
				}})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	records, err := w.Store.List(t.Context())
	require.NoError(t, err)
	for _, r := range records {
		if r.Key.Sender == "ann" {
			continue
		}
		ms, err := w.Store.Messages(t.Context(), r.ID)
		require.NoError(t, err)
		require.Len(t, ms, 40)
		for _, m := range ms {
			assert.True(t, m.Role == message.RoleAssistant || m.Text() == r.Key.Sender)
		}
		assert.Equal(t, 20, r.Turns)
	}
}

func TestOneTurnAtATimeInAConversation(t *testing.T) {
	t.Parallel()
	running, release := make(chan struct{}), make(chan struct{})
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), rig.Box(rig.Does("x", func(context.Context) message.ToolResult {
		close(running)
		<-release
		return message.ToolResult{}
	})))
	ended := make(chan error, 1)
	go func() { _, err := w.Try(context.Background(), "one"); ended <- err }()
	<-running
	out, err := dialog.Send(t.Context(), w.Conv, message.TextInput("two"), nil)
	require.ErrorIs(t, err, runtime.ErrBusy)
	assert.Equal(t, hook.StopError, out.Stop)
	close(release)
	require.NoError(t, <-ended)
	assert.NotContains(t, strings.Join(w.History(), "\n"), "two")
	_, err = dialog.Send(t.Context(), w.Conv, message.Input{}, nil)
	require.True(t, errors.Is(err, runtime.ErrNoInput))
}

func TestAnObserverThatEndsItsGoroutineLeavesTheConversationUsable(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says("one"), rig.Says("two")))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = dialog.Send(context.Background(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(hook.Event) { goruntime.Goexit() }})
	}()
	<-ended
	assert.Equal(t, "one", w.Send("again").Text())
	assert.Same(t, w.Conv.Agent().Tools(), w.Conv.Agent().Tools())
	assert.Equal(t, "ann", w.Conv.Sender())
}

// cache answers every call with a long text.
type cache struct{ hook.Nop }

func (cache) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.AnswerTool(message.TextResult(strings.Repeat("x", 90_000))), nil
}

// TestTheLoopDoesNotWaitForItself: events that are held until they are written
// down may be more than the queue takes.
func TestTheLoopDoesNotWaitForItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wants := make([]rig.ToolCall, 20)
		for i := range wants {
			wants[i] = rig.Call(fmt.Sprint("c", i), "echo", `{}`)
		}
		o := &runtime.Options{Store: mem.New(&mem.Options{Journal: true})}
		w := rig.StartWith(t, rig.Plays(rig.Calls(wants...), rig.Says("done")), hook.AgentConfig{Name: "a"}, o, rig.Box(rig.Named("echo")), cache{})
		began := time.Now()
		w.Send("go")
		assert.Zero(t, time.Since(began))
		assert.Len(t, w.Results(), len(wants))
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}
