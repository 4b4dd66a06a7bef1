package storage_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// trail is an audit hook that takes its time.
type trail struct {
	hook.Nop
	turns hook.TurnState[int]
	all   hook.ConversationState[int]
	do    func(ctx context.Context, turn *hook.Turn)

	mu    sync.Mutex
	lines []string
	heard []hook.Event
}

// States implements hook.Stateful.
func (s *trail) States() map[string]hook.State { return map[string]hook.State{"all": &s.all} }

func (a *trail) AfterTurn(ctx context.Context, turn *hook.Turn, out hook.TurnOutcome) {
	if a.do != nil {
		a.do(ctx, turn)
	}
	a.note(fmt.Sprintf("%d %s %v", turn.Number(), out.Text(), ctx.Err()))
}

func (a *trail) OnEvent(_ context.Context, ev hook.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = append(a.heard, ev)
}

func (a *trail) OnClose(context.Context) error {
	a.note("closed")
	return nil
}

func (a *trail) note(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, line)
}

func (a *trail) noted() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.lines)
}

func (a *trail) of(kind hook.EventKind) (out []hook.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ev := range a.heard {
		if ev.Kind == kind {
			out = append(out, ev)
		}
	}
	return out
}

type trails struct {
	Trail *trail `hook:"AfterTurn: record"`
}

func startTrail(t *testing.T, a *trail, o *runtime.Options, replies ...message.ModelStream) *rig.World {
	t.Helper()
	c, err := composite.New(&trails{a})
	require.NoError(t, err)
	return rig.StartWith(t, rig.Plays(replies...), hook.AgentConfig{Name: "a", Instructions: "Help."}, o, c)
}

// Turns end without it, it sees them in order, and closing waits for it.
func TestRecordedObserversDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &trail{do: func(context.Context, *hook.Turn) { time.Sleep(time.Minute) }}
		w := startTrail(t, a, nil, rig.Says("one"), rig.Says("two"), rig.Says("three"))
		began := time.Now()
		for range 3 {
			w.Send("hi")
		}
		assert.Zero(t, time.Since(began))
		assert.Empty(t, a.noted())
		time.Sleep(90 * time.Second)
		assert.Equal(t, []string{"1 one <nil>"}, a.noted(), "one after the other")
		require.NoError(t, w.Runtime.Close(t.Context()))
		assert.Equal(t, []string{"1 one <nil>", "2 two <nil>", "3 three <nil>", "closed"}, a.noted())
	})
}

// Closing does not wait for ever: a run that does not end is counted, and the hook is closed.
func TestClosingBoundsBackgroundRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &trail{do: func(context.Context, *hook.Turn) { time.Sleep(time.Hour) }}
		w := startTrail(t, a, &runtime.Options{Calls: runtime.Calls{Grace: 5 * time.Second}}, rig.Says("one"), rig.Says("two"))
		w.Send("hi")
		w.Send("hi")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		require.NoError(t, w.Runtime.Close(ctx))
		assert.Equal(t, 15*time.Second, time.Since(began))
		assert.Equal(t, []string{"closed"}, a.noted())
		assert.Equal(t, 1, w.Runtime.LateHooks())
		left := a.of(event.Diagnostic)
		require.Len(t, left, 1)
		assert.Equal(t, "background runs that did not end in time: 1; queued behind them and never started: 1", left[0].Text)
		time.Sleep(time.Hour)
		assert.Zero(t, w.Runtime.LateHooks())
		assert.Equal(t, []string{"closed", "1 one context canceled"}, a.noted())
	})
}

// A background run never acts within a turn, not even within the one that runs meanwhile.
func TestWhatABackgroundRunMayDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs []error
		a := new(trail)
		a.do = func(ctx context.Context, turn *hook.Turn) {
			if turn.Number() > 1 {
				return
			}
			time.Sleep(time.Minute) // until the second turn runs
			host := turn.Host()
			_, err := host.Ask(ctx, hook.Inquiry{ID: "q", Questions: message.ListOf(hook.Question{Text: "?"})})
			errs = append(errs, err)
			_, err = host.CallModel(ctx, message.ModelRequest{})
			errs = append(errs, err)
			_, err = host.RunAgent(ctx, hook.AgentRun{Agent: "a", Input: message.TextInput("x")})
			errs = append(errs, err, host.Enqueue(ctx, hook.Job{Kind: "k", Key: "1"}))
			host.Emit(ctx, hook.Event{Kind: event.SkillLoaded, Text: "background"})
			a.turns.Update(turn, func(n int) int { return n + 1 })
			a.all.Update(turn.Conversation(), func(n int) int { return n + 1 })
			a.note(fmt.Sprint(turn.Standing().History.Len(), a.turns.Get(turn)))
			panic("over")
		}
		slow := rig.Says("two")
		w := startTrail(t, a, nil, rig.Says("one"), func(yield func(message.Chunk, error) bool) {
			time.Sleep(2 * time.Minute)
			slow(yield)
		})
		w.Send("hi")
		first := w.Events[0].Turn
		w.Events = nil
		w.Send("again")
		require.NoError(t, w.Runtime.Close(t.Context()))
		for _, err := range errs[:3] {
			assert.ErrorIs(t, err, hook.ErrNoTurn)
		}
		assert.NoError(t, errs[3])
		assert.Equal(t, []string{"2 1", "2 two <nil>", "closed"}, a.noted())
		for _, kind := range []hook.EventKind{event.SkillLoaded, event.HookFailed} {
			evs := a.of(kind)
			require.Len(t, evs, 1, kind)
			assert.Empty(t, evs[0].Turn, "the turn is over, and the one that runs is another")
			assert.Equal(t, w.Conv.ID(), evs[0].Conversation)
			assert.NotContains(t, w.Kinds(), kind, "the observer of the second turn does not get it")
		}
		jobs, err := w.Store.(store.Jobs).Jobs(t.Context(), store.JobFilter{})
		require.NoError(t, err)
		assert.Equal(t, first, jobs[0].Turn, "the job is of the turn that it is about")
	})
}
