package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	goruntime "runtime"
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
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

var errDisk = errors.New("the disk is full")

// moody is a store with a journal whose writes fail where refuse says so. refuse gets the
// name of every write: "claim", "append", "append end" or "note".
type moody struct {
	*mem.Store
	mu     sync.Mutex
	refuse func(write string) bool
}

func newMoody() *moody { return &moody{Store: mem.New(&mem.Options{Journal: true})} }

func (m *moody) ask(write string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil && m.refuse(write) {
		return errDisk
	}
	return nil
}

// refuses makes the writes fail that f says from now on; nil is none.
func (m *moody) refuses(f func(write string) bool) {
	m.mu.Lock()
	m.refuse = f
	m.mu.Unlock()
}

func (m *moody) Claim(ctx context.Context, id string, c store.Claim) (store.Record, error) {
	if err := m.ask("claim"); err != nil {
		return store.Record{}, err
	}
	return m.Store.Claim(ctx, id, c)
}

func (m *moody) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	write := "append"
	if a.TurnEnds {
		write = "append end"
	}
	if err := m.ask(write); err != nil {
		return 0, err
	}
	return m.Store.Append(ctx, id, a)
}

func (m *moody) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	if err := m.ask("note"); err != nil {
		return 0, err
	}
	return m.Store.Note(ctx, id, n)
}

// nth refuses the n-th of the writes of one sort, counted from 1.
func nth(n int, write string) func(string) bool {
	return func(w string) bool {
		if w == write {
			n--
		}
		return w == write && n == 0
	}
}

// kept are the events that the store has, by kind.
func kept(t *testing.T, s store.Log, id string) map[hook.EventKind]int {
	t.Helper()
	events, err := s.Events(t.Context(), id, 0, 10_000)
	require.NoError(t, err)
	out := map[hook.EventKind]int{}
	for _, e := range events {
		var ev struct{ Kind hook.EventKind }
		require.NoError(t, json.Unmarshal([]byte(e.Data), &ev))
		out[ev.Kind]++
	}
	return out
}

func TestAStoreThatFailsOnceLosesNoResult(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(string) bool{
		"the step":   nth(2, "append"), // the first is the input
		"a result":   nth(3, "note"),   // the first is the turn's beginning, the second what is about to run
		"the answer": nth(3, "append"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, turns := newMoody(), 0
			s.refuses(refuse)
			after := point.AfterTurnFunc(func(context.Context, *hook.Turn, hook.TurnOutcome) { turns++ })
			w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", `{"s":"a"}`), rig.Call("2", "x", `{"s":"b"}`)), rig.Says("done")),
				hook.AgentConfig{Name: "a"}, &runtime.Options{Store: s}, after, rig.Box(rig.Named("x")))
			_, err := w.Try(t.Context(), "go")
			require.ErrorIs(t, err, errDisk)
			assert.Subset(t, w.History(), []string{"tool 1 x: x:a", "tool 2 x: x:b"})
			interrupted, err := w.Conv.Interrupted(t.Context())
			require.NoError(t, err)
			assert.False(t, interrupted, "the end of the turn is stored")
			assert.Equal(t, 1, turns)
			have := kept(t, s, w.Conv.ID())
			assert.Equal(t, []int{2, 1}, []int{have[event.CallResult], have[event.TurnEnd]}, "events of the write that failed come with the next")
		})
	}
}

func TestTheEndOfATurnIsStoredAtTheSecondTry(t *testing.T) {
	t.Parallel()
	s, turns := newMoody(), 0
	s.refuses(nth(1, "append end"))
	after := point.AfterTurnFunc(func(context.Context, *hook.Turn, hook.TurnOutcome) { turns++ })
	w := rig.StartWith(t, rig.Plays(rig.Chunks(rig.Text("cut o"))), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: s}, after)
	_, err := w.Try(t.Context(), "go")
	require.ErrorIs(t, err, provider.ErrNoFinish)
	interrupted, err := w.Conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.False(t, interrupted)
	assert.Equal(t, 1, turns)
}

func TestATurnWhoseEndIsMissingHasItsAnswer(t *testing.T) {
	t.Parallel()
	for name, resume := range map[string]bool{"send": false, "resume": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ended := newMoody(), map[string][]hook.StopReason{}
			begins := nth(1, "note")
			s.refuses(func(write string) bool { return write == "append end" || write == "note" && !begins(write) })
			after := point.AfterTurnFunc(func(_ context.Context, turn *hook.Turn, out hook.TurnOutcome) {
				ended[turn.ID()] = append(ended[turn.ID()], out.Stop)
			})
			w := rig.StartWith(t, rig.Plays(rig.Says("an answer")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: s})
			assert.Equal(t, "an answer", w.Send("go").Text())
			s.refuses(nil)
			next, _ := takeOver(t, s, rig.Plays(rig.Says("another one")), after)
			var err error
			if resume {
				_, err = dialog.Resume(t.Context(), next, nil)
			} else {
				_, err = dialog.Send(t.Context(), next, message.TextInput("and"), nil)
			}
			require.NoError(t, err)
			assert.Equal(t, "assistant an answer", w.History()[1])
			for _, stops := range ended {
				assert.Equal(t, []hook.StopReason{hook.StopCompleted}, stops)
			}
			have := kept(t, s, next.ID())
			assert.Equal(t, len(ended), have[event.TurnEnd], "every end is told")
			assert.Len(t, w.History(), 2*len(ended))
		})
	}
}

func TestWhatIsSaidWhileAResumedTurnBeginsIsHeard(t *testing.T) {
	t.Parallel()
	s := newMoody()
	w := rig.StartWith(t, rig.Plays(rig.Says("never stored"), rig.Says("one"), rig.Says("two")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: s})
	appends := 0
	s.refuses(func(write string) bool { // the beginning is kept, and no answer
		if write == "append" {
			appends++
		}
		return appends > 1
	})
	_, err := w.Try(t.Context(), "go")
	require.Error(t, err)
	s.refuses(nil)
	_, err = dialog.Resume(t.Context(), w.Conv, &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.TurnStart {
			assert.NoError(t, dialog.Steer(t.Context(), w.Conv, message.TextInput("wait")))
		}
	}})
	require.NoError(t, err)
	assert.Contains(t, w.History(), "user wait")
}

func TestAToolThatEndsItsGoroutineHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		quits := rig.Does("quits", func(context.Context) message.ToolResult { goruntime.Goexit(); return message.ToolResult{} })
		quits.Timeout = time.Minute
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "quits", "{}")), rig.Says("done")), rig.Box(quits))
		began := time.Now()
		w.Send("go")
		assert.Zero(t, time.Since(began), "nobody waits for it")
		assert.Equal(t, message.OutcomePanicked, w.EventsOf(event.CallResult)[0].Detail().Outcome)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestAResultIsEmittedOnceItIsStored(t *testing.T) {
	t.Parallel()
	s := newMoody()
	notes := 0
	s.refuses(func(write string) bool { // the process dies behind the first result
		if write == "note" {
			notes++
		}
		return notes > 2 || notes == 2 && write != "note"
	})
	gate := make(chan struct{})
	second := rig.Does("y", func(context.Context) message.ToolResult { <-gate; return message.TextResult("y") })
	w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", `{"s":"a"}`), rig.Call("2", "y", "{}")), rig.Says("done")), hook.AgentConfig{Name: "a"},
		&runtime.Options{Store: s}, rig.Observer{Do: func(_ context.Context, ev hook.Event) {
			if ev.Kind == event.CallResult && ev.Detail().CallID == "1" {
				close(gate)
			}
		}}, rig.Box(rig.Named("x"), second))
	_, err := w.Try(t.Context(), "go")
	require.ErrorIs(t, err, errDisk)
	s.refuses(nil)
	next, _ := takeOver(t, s, rig.Plays(rig.Says("again")), rig.Box(rig.Named("x"), second))
	_, err = dialog.Send(t.Context(), next, message.TextInput("and"), nil)
	require.NoError(t, err)
	assert.Equal(t, 2, kept(t, s, next.ID())[event.CallResult])
}

// takeOver is the conversation in another runtime with the same store.
func takeOver(t *testing.T, s store.Store, p provider.Provider, hooks ...hook.Hook) (*runtime.Conversation, *runtime.Runtime) {
	t.Helper()
	rt := runtime.New(rig.Compose(t, hooks), p, &runtime.Options{Store: s, Gone: func(string) bool { return true }})
	require.NoError(t, rt.Open(t.Context()))
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	_, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	c, err := dialog.Conversation(t.Context(), rt, "a", "ann")
	require.NoError(t, err)
	return c, rt
}

func TestWhatHooksPutIntoAResultCanBeStored(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]hook.Hook{
		"rewritten": point.RewriteResultFunc(func(context.Context, *hook.ToolCall, message.ToolResult) (message.ToolResult, error) {
			return message.TextResult("a\xffb"), nil
		}),
		"withheld": point.AfterToolFunc(func(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
			return hook.WithholdOutcome("a\xffb"), nil
		}),
		"denied": point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
			return hook.DenyTool("a\xffb"), nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done"))
			w := rig.Start(t, m, h, rig.Box(rig.Named("x")))
			w.Send("go")
			assert.Contains(t, w.History()[2], "a\uFFFDb")
		})
	}
}

func TestAGuestRunsNothing(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done"))
	w := rig.Start(t, m, rig.Box(rig.Does("x", rig.Never(t))))
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
	require.NoError(t, err)
	_, err = dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Guest: "b"})
	require.NoError(t, err)
	ms, err := w.Store.Messages(t.Context(), w.Conv.ID())
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "b"}, []string{ms[1].From, ms[3].From}, "what a guest says is kept with its name")
}

// A child's turn that broke off has results of its own, and its journal is theirs
// alone: whoever ends the parent's turn ends it first.
func TestChildrenOfAnInterruptedTurnComeToTheirEnd(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"the call runs again": true, "the call is interrupted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ran := newMoody(), 0
			die := func() { s.refuses(func(string) bool { return true }) }
			gate := make(chan struct{})
			hooks := func(last func()) []hook.Hook {
				deleg := rig.Tool{Tool: message.Tool{Name: "deleg", Waits: true, Annotations: message.Annotations{ReadOnly: again}},
					Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
						out, err := env.Call.Step().Turn().Host().RunAgent(ctx, hook.AgentRun{Agent: "b", Input: message.TextInput("look"), Call: env.Call})
						if err != nil {
							return message.FailedResult(message.FailOperation, err.Error())
						}
						return message.TextResult(out.Text())
					}}
				x := rig.Does("x", func(context.Context) message.ToolResult { ran++; return message.TextResult("looked") })
				y := rig.Does("y", func(context.Context) message.ToolResult { <-gate; last(); return message.TextResult("never kept") })
				return []hook.Hook{rig.Box(deleg, x, y), rig.Observer{Do: func(_ context.Context, ev hook.Event) {
					if ev.Kind == event.CallResult && ev.Detail().Tool == "x" {
						close(gate)
					}
				}}}
			}
			agents := func(rt *runtime.Runtime) {
				_, err := rt.Register(t.Context(), hook.AgentConfig{Name: "b"})
				require.NoError(t, err)
			}
			w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "deleg", "{}")), rig.Calls(rig.Call("1", "x", "{}"), rig.Call("2", "y", "{}"))),
				hook.AgentConfig{Name: "a"}, &runtime.Options{Store: s}, hooks(die)...)
			agents(w.Runtime)
			_, err := w.Try(t.Context(), "go")
			require.ErrorIs(t, err, errDisk)
			s.refuses(nil)
			next, nextRT := takeOver(t, s, rig.Plays(rig.Says("child"), rig.Says("parent")), hooks(func() {})...)
			agents(nextRT)
			_, err = dialog.Resume(t.Context(), next, nil)
			require.NoError(t, err)
			children, err := s.Children(t.Context(), next.ID())
			require.NoError(t, err)
			require.Len(t, children, 1)
			assert.False(t, children[0].Journaled)
			ms, err := s.Messages(t.Context(), children[0].ID)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(ms), 4)
			assert.Equal(t, "tool 1 x: looked", rig.Line(ms[2]))
			assert.Contains(t, rig.Line(ms[3]), "tool 2 y cancelled: interrupted")
			assert.Equal(t, 1, ran)
			if again {
				assert.Equal(t, []string{"user look", "assistant child"}, []string{rig.Line(ms[4]), rig.Line(ms[5])})
			}
		})
	}
}

func TestAParentWaitsUntilItsChildHasGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deleg := rig.Tool{Tool: message.Tool{Name: "deleg", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
			out, _ := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "b", Input: message.TextInput("look"), Call: env.Call})
			return message.TextResult("the child: " + string(out.Stop))
		}}
		deaf := rig.Does("deaf", func(context.Context) message.ToolResult { <-release; return message.TextResult("late") })
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "deleg", "{}")), rig.Calls(rig.Call("2", "deaf", "{}"))), rig.Box(deleg, deaf))
		_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = w.Try(ctx, "go")
		require.Error(t, err)
		assert.Equal(t, "tool 1 deleg: the child: cancelled", w.History()[2])
		assert.Len(t, w.EventsOf(event.SubagentEnd), 1)
		close(release)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestNoCallIsKeptOfAnAnswerThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	adds := point.RewriteReplyFunc(func(_ context.Context, _ *hook.Step, r message.ModelReply) (message.ModelReply, error) {
		r.Content = r.Content.Append(message.Block{Kind: message.BlockToolCall, CallID: "1", Tool: "x", JSON: "{}"})
		return r, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	half := func(yield func(message.Chunk, error) bool) {
		yield(rig.Text("half an answer"), nil)
		cancel()
		yield(message.Chunk{}, ctx.Err())
	}
	w := rig.Start(t, rig.Plays(half), adds, rig.Box(rig.Does("x", rig.Never(t))))
	_, err := w.Try(ctx, "go")
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"user go", "assistant half an answer"}, w.History())
}

func TestARetryThatIsCancelledKeepsTheResultBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		again := point.WrapToolFunc(func(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) message.ToolResult {
			r := next.Run(ctx)
			if call.ID() == "1" {
				time.Sleep(time.Second)
				return next.Run(ctx) // waits for the key that the other call has
			}
			return r
		})
		x, y := rig.Named("x"), rig.Sleeps("y", time.Hour)
		x.Exclusive, y.Exclusive = "key", "key"
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", `{"s":"a"}`), rig.Call("2", "y", "{}"))), again, rig.Box(x, y))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := w.Try(ctx, "go")
		require.Error(t, err)
		assert.Contains(t, w.History(), "tool 1 x: x:a")
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

// liar is a store of which one note is written and reported as failed.
type liar struct {
	*mem.Store
	notes, lie int
}

func (l *liar) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	seq, err := l.Store.Note(ctx, id, n)
	if l.notes++; l.notes == l.lie {
		return 0, errDisk
	}
	return seq, err
}

// TestANoteThatWasMadeAlthoughItSeemedToFail: the turn fails, but it is brought to
// its end, and what has run is in the history.
func TestANoteThatWasMadeAlthoughItSeemedToFail(t *testing.T) {
	t.Parallel()
	for lie, results := range map[int][]string{
		2: {"tool c1 echo cancelled: not run: the turn has failed", "tool c2 echo cancelled: not run: the turn has failed"},
		3: {"tool c1 echo: echo:", "tool c2 echo: echo:"},
	} {
		l := &liar{Store: mem.New(&mem.Options{Journal: true}), lie: lie}
		m := rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`), rig.Call("c2", "echo", `{}`)), rig.Says("done"))
		w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{Store: l}, rig.Box(rig.Named("echo")))
		_, err := w.Try(t.Context(), "go")
		require.ErrorIs(t, err, errDisk)
		interrupted, err := w.Conv.Interrupted(t.Context())
		require.NoError(t, err)
		assert.False(t, interrupted)
		assert.Equal(t, append([]string{"user go", "assistant [c1 echo {}] [c2 echo {}]"}, results...), w.History())
	}
}
