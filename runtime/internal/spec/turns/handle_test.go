package turns_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// Start returns a handle on a turn that has begun. The turn does not depend on the context
// of Start from then on.

func TestSpecATurnContinuesWhenTheContextOfItsStartEnds(t *testing.T) {
	t.Parallel()
	tool := rig.NewGate("wait")
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("done")), rig.Box(tool.Tool))
	ctx, cancel := context.WithCancel(t.Context())
	turn, err := w.Conv.Start(ctx, message.TextInput("1"), nil)
	require.NoError(t, err)
	cancel()
	<-tool.Reached
	assert.NotEmpty(t, turn.ID())
	assert.Same(t, turn, w.Conv.Running())
	assert.Equal(t, []*runtime.Turn{turn}, w.Runtime.Running())
	_, err = turn.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled, "who waits can give up")
	close(tool.Open)
	out, err := turn.Wait(t.Context())
	require.NoError(t, err)
	require.NoError(t, out.Err)
	assert.Equal(t, "done", out.Text())
	assert.Nil(t, w.Conv.Running())
	assert.Empty(t, w.Runtime.Running())
	for range 50 {
		again, err := turn.Wait(ctx)
		require.NoError(t, err)
		assert.Equal(t, out, again, "it stays readable, whatever has become of the context")
	}
}

func TestSpecStartIsRefusedWithTheTurnThatRuns(t *testing.T) {
	t.Parallel()
	tool := rig.NewGate("wait")
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("done"), rig.Says("next")), rig.Box(tool.Tool))
	turn, err := w.Conv.Start(t.Context(), message.TextInput("1"), nil)
	require.NoError(t, err)
	<-tool.Reached
	other, err := w.Conv.Start(t.Context(), message.TextInput("2"), nil)
	require.ErrorIs(t, err, runtime.ErrBusy)
	assert.Same(t, turn, other)
	queued := make(chan *runtime.Turn)
	go func() {
		next, err := w.Conv.Start(t.Context(), message.TextInput("3"), &runtime.TurnOptions{WhenBusy: runtime.Queue})
		assert.NoError(t, err)
		queued <- next
	}()
	close(tool.Open)
	next := <-queued
	<-turn.Done()
	out, err := next.Wait(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "next", out.Text())
	assert.NotEqual(t, turn.ID(), next.ID())
	assert.ErrorIs(t, turn.Steer(t.Context(), message.TextInput("late")), runtime.ErrIdle, "a turn that has ended hears nothing of the next one's")
}

func TestSpecATurnThatDoesNotBeginIsAnErrorOfStart(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says("never")))
	_, err := w.Conv.Start(t.Context(), message.Input{}, nil)
	require.ErrorIs(t, err, runtime.ErrNoInput)
	_, err = w.Conv.Start(t.Context(), message.TextInput("1"), &runtime.TurnOptions{Guest: "nobody"})
	require.ErrorIs(t, err, runtime.ErrAgentUnknown)
	_, err = w.Conv.Resume(t.Context(), nil)
	require.ErrorIs(t, err, runtime.ErrNotInterrupted)
	_, err = w.Conv.Send(t.Context(), message.TextInput("1"), &runtime.TurnOptions{Guest: "nobody"})
	require.ErrorIs(t, err, runtime.ErrAgentUnknown)
	assert.Nil(t, w.Conv.Running())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	turn, err := w.Conv.Start(gone, message.TextInput("1"), nil)
	if err == nil { // its input was stored before the end of the context was seen
		_, err = turn.Wait(t.Context())
		require.NoError(t, err)
		return
	}
	assert.ErrorIs(t, err, context.Canceled)
}

// slowClaim is a store whose claims wait and then fail.
type slowClaim struct {
	*mem.Store
	reached, fail chan struct{}
}

func (s *slowClaim) Claim(context.Context, string, store.Claim) (store.Record, error) {
	close(s.reached)
	<-s.fail
	return store.Record{}, store.ErrFenced
}

// TestSpecATurnThatDoesNotBeginIsOver: whoever was refused because of it waits for nothing.
func TestSpecATurnThatDoesNotBeginIsOver(t *testing.T) {
	t.Parallel()
	s := &slowClaim{Store: mem.New(nil), reached: make(chan struct{}), fail: make(chan struct{})}
	w := rig.StartWith(t, rig.Plays(rig.Says("never")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: s})
	failed := make(chan error)
	go func() {
		_, err := w.Conv.Start(t.Context(), message.TextInput("1"), nil)
		failed <- err
	}()
	<-s.reached
	other, err := w.Conv.Start(t.Context(), message.TextInput("2"), nil)
	require.ErrorIs(t, err, runtime.ErrBusy)
	require.NotNil(t, other)
	assert.Empty(t, other.ID())
	close(s.fail)
	require.ErrorIs(t, <-failed, store.ErrFenced)
	select {
	case <-other.Done():
	case <-t.Context().Done():
	}
	_, err = other.Wait(t.Context())
	require.ErrorIs(t, err, store.ErrFenced)
}

// TestSpecTheErrorOfSendIsThatNoTurnBegan: how a turn ended is in its outcome.
func TestSpecTheErrorOfSendIsThatNoTurnBegan(t *testing.T) {
	t.Parallel()
	away := errors.New("the model is away")
	failing := func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, away) }
	w := rig.Start(t, rig.Plays(failing))
	out, err := w.Conv.Send(t.Context(), message.TextInput("1"), nil)
	require.NoError(t, err)
	assert.Equal(t, hook.StopError, out.Stop)
	assert.ErrorIs(t, out.Err, away)
}

func TestSpecStopEndsTheTurnWithItsCause(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cause, want error
		reason      hook.StopReason
	}{
		"its user":     {nil, runtime.ErrStopped, hook.StopUserRequested},
		"another one":  {errors.ErrUnsupported, errors.ErrUnsupported, hook.StopCancelled},
		"its deadline": {context.DeadlineExceeded, context.DeadlineExceeded, hook.StopCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waits := rig.Does("wait", func(ctx context.Context) message.ToolResult { <-ctx.Done(); return message.TextResult("ended") })
			w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`))), rig.Box(waits))
			turn, err := w.Conv.Start(t.Context(), message.TextInput("1"), nil)
			require.NoError(t, err)
			turn.Stop(tc.cause)
			out, err := turn.Wait(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tc.reason, out.Stop)
			require.ErrorIs(t, out.Err, tc.want)
			turn.Stop(nil)
			again, err := turn.Wait(t.Context())
			require.NoError(t, err)
			assert.Equal(t, out, again, "what has ended stays as it is")
		})
	}
}

// TestSpecEventsAreThoseOfTheTurn: while it runs and afterwards, from any of its events on.
func TestSpecEventsAreThoseOfTheTurn(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"kept": t.TempDir(), "not kept": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := runtime.Options{Events: runtime.Events{Recent: 100}}
			if dir != "" {
				o.Store = rig.OpenSQLite(t, dir)
			}
			tool := rig.NewGate("wait")
			m := rig.Plays(rig.Says("before"), rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("done"), rig.Says("after"))
			w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, &o, rig.Box(tool.Tool))
			w.Send("0")
			turn, err := w.Conv.Start(t.Context(), message.TextInput("1"), nil)
			require.NoError(t, err)
			go func() { <-tool.Reached; close(tool.Open) }()
			live := eventsOfTurn(t, turn, 0)
			assert.Equal(t, event.TurnStart, live[0].Kind)
			assert.Equal(t, event.TurnEnd, live[len(live)-1].Kind)
			for _, ev := range live {
				assert.Equal(t, turn.ID(), ev.Turn)
			}
			<-turn.Done()
			w.Send("2")
			assert.Equal(t, live, eventsOfTurn(t, turn, 0), "afterwards")
			assert.Equal(t, live[3:], eventsOfTurn(t, turn, live[2].Seq), "from one of them on")
		})
	}
}

func eventsOfTurn(t *testing.T, turn *runtime.Turn, after uint64) (out []hook.Event) {
	t.Helper()
	for item, err := range turn.Events(t.Context(), after) {
		require.NoError(t, err)
		require.Zero(t, item.Missed)
		out = append(out, item.Event())
	}
	return out
}

func TestSpecEventsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	tool := rig.NewGate("wait")
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("done")), rig.Box(tool.Tool))
	turn, err := w.Conv.Start(t.Context(), message.TextInput("1"), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, last = range turn.Events(ctx, 0) {
		cancel()
	}
	require.ErrorIs(t, last, context.Canceled)
	close(tool.Open)
	_, err = turn.Wait(t.Context())
	require.NoError(t, err)
}

// TestSpecAllEventsOfARunningTurnAreHeld: also where nothing else holds events. Afterwards
// they are gone, and nobody waits for them.
func TestSpecAllEventsOfARunningTurnAreHeld(t *testing.T) {
	t.Parallel()
	tool := rig.NewGate("wait")
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("done")), rig.Box(tool.Tool))
	turn, err := w.Conv.Start(t.Context(), message.TextInput("1"), nil)
	require.NoError(t, err)
	<-tool.Reached
	go close(tool.Open)
	live := eventsOfTurn(t, turn, 0)
	assert.Equal(t, event.TurnStart, live[0].Kind)
	assert.Equal(t, event.TurnEnd, live[len(live)-1].Kind)
	<-turn.Done()
	assert.Empty(t, eventsOfTurn(t, turn, 0))
}

// TestSpecATurnIsEndingWhenItsEndIsEmitted: whoever saw the end and is refused knows that there
// is nothing to wait for but Done.
func TestSpecATurnIsEndingWhenItsEndIsEmitted(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says("done")))
	var ending []bool
	_, err := w.Conv.Send(t.Context(), message.TextInput("1"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		ending = append(ending, w.Conv.Running().Ending())
		if ev.Kind == event.TurnEnd {
			other, err := w.Conv.Start(t.Context(), message.TextInput("2"), nil)
			assert.ErrorIs(t, err, runtime.ErrBusy)
			assert.True(t, other.Ending())
		}
	}})
	require.NoError(t, err)
	last := len(ending) - 1
	assert.True(t, ending[last])
	assert.NotContains(t, ending[:last], true)
}

// TestSpecAHookThatHangsAtTheStartHoldsNobodyWhoStarts: the input is stored, so the turn has
// begun, and whoever started it follows its end.
func TestSpecAHookThatHangsAtTheStartHoldsNobodyWhoStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stall := make(chan struct{})
		w := rig.StartWith(t, rig.Plays(rig.Says("never")), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}}, &staller{stall: stall})
		turn, err := w.Conv.Start(t.Context(), message.TextInput("1"), nil)
		require.NoError(t, err)
		assert.NotEmpty(t, turn.ID())
		turn.Stop(nil)
		out, err := turn.Wait(t.Context())
		require.NoError(t, err)
		assert.ErrorIs(t, out.Err, runtime.ErrStopped)
		close(stall)
		synctest.Wait()
	})
}

type staller struct {
	hook.Nop
	stall chan struct{}
}

func (s *staller) OnEvent(_ context.Context, ev hook.Event) {
	if ev.Kind == event.TurnStart {
		<-s.stall
	}
}
