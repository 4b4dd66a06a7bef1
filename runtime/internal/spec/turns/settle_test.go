package turns_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"strconv"
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

// A turn that follows an interrupted one has a handle of its own; and what is not a turn
// leaves nothing in the journal.

// atAfterTurn is a hook that calls the function at AfterTurn.
func atAfterTurn(call func()) hook.Hook {
	return point.AfterTurnFunc(func(context.Context, *hook.Turn, hook.TurnOutcome) { call() })
}

// interruptedTurn is what a process leaves that dies while a tool runs.
func interruptedTurn(t *testing.T) *mortal {
	t.Helper()
	pay := rig.NewGate("pay")
	w, s := bootOver(t, nil, rig.Plays(rig.Calls(rig.Call("c1", "pay", `{}`))), rig.Box(pay.Tool))
	dies(t, w, s, "1")
	return s
}

func TestSpecTheHandleBehindASettledTurnIsThatOfItsOwnTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := interruptedTurn(t)
		wait := rig.NewGate("wait")
		var w *rig.World
		var settled []error
		h := atAfterTurn(func() {
			running := w.Conv.Running()
			if running.ID() != "" {
				return
			}
			assert.False(t, running.Ending(), "it has not begun")
			settled = append(settled, running.Steer(t.Context(), message.TextInput("early")))
		})
		w, _ = bootOver(t, s, rig.Plays(rig.Calls(rig.Call("c2", "wait", `{}`)), rig.Says("done")), rig.Box(wait.Tool), h)
		turn, err := w.Conv.Start(t.Context(), message.TextInput("2"), nil)
		require.NoError(t, err)
		<-wait.Reached
		assert.False(t, turn.Ending(), "its first step runs")
		require.Len(t, settled, 1)
		assert.ErrorIs(t, settled[0], runtime.ErrIdle)
		close(wait.Open)
		out, err := turn.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "done", out.Text())
	})
}

func TestSpecTheErrorOfASettlementIsThatOfTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := interruptedTurn(t)
		var next *mortal
		h := atAfterTurn(func() { next.dead.Store(true) })
		w, n := bootOver(t, s, rig.Plays(rig.Says("never")), rig.Box(rig.NewGate("pay").Tool), h)
		next = n
		_, err := w.Try(t.Context(), "2")
		require.ErrorIs(t, err, rig.ErrDead)
		next.dead.Store(false)
	})
}

func TestSpecACancelledCompactionLeavesNoTurn(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 2)
	patient := point.BeforeModelFunc(func(ctx context.Context, _ *hook.Step, req message.ModelRequest) (d hook.ModelDecision, err error) {
		if req.Model.Choice.Mode != message.ToolChoiceNone { // a turn's
			return d, nil
		}
		asked <- struct{}{}
		<-ctx.Done()
		return d, ctx.Err()
	})
	w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Says("two")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: rig.OpenSQLite(t, t.TempDir())}, patient)
	w.Send("1")
	w.Send("2")
	for range 2 { // the first one does not make the second one ErrBusy
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		_, err := w.Conv.Compact(ctx, &runtime.CompactOptions{Keep: 1})
		require.ErrorIs(t, err, context.Canceled)
		was, err := w.Conv.Interrupted(t.Context())
		require.NoError(t, err)
		assert.False(t, was)
	}
}

func TestSpecAFunctionOfOptionsThatEndsItsGoroutineLeavesTheConversationFree(t *testing.T) {
	t.Parallel()
	ids, breaks := 0, func() {}
	o := &runtime.Options{NewID: func() string {
		breaks()
		ids++
		return "id" + strconv.Itoa(ids)
	}}
	w := rig.StartWith(t, rig.Plays(rig.Says("done")), hook.AgentConfig{Name: "a"}, o)
	breaks = func() { panic("no id") }
	assert.Panics(t, func() { _, _ = w.Conv.Send(t.Context(), message.TextInput("1"), nil) })
	breaks = goruntime.Goexit
	_, err := w.Conv.Start(t.Context(), message.TextInput("2"), nil)
	require.ErrorContains(t, err, "ended the goroutine of the turn")
	breaks = func() {}
	out, err := w.Conv.Send(t.Context(), message.TextInput("3"), nil)
	require.NoError(t, err)
	assert.Equal(t, "done", out.Text())
}

// talker holds the delivery of events from a background run until stall is closed.
type talker struct {
	hook.Nop
	stall, holds chan struct{}
}

const slowText = "slow"

func (h *talker) BeforeTurn(ctx context.Context, turn *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
	host := turn.Host()
	err := host.Go(ctx, "talks", func(ctx context.Context) {
		host.Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: slowText})
	})
	<-h.holds
	return hook.TurnDecision{}, err
}

func (h *talker) OnEvent(_ context.Context, ev hook.Event) {
	if ev.Text == slowText {
		close(h.holds)
		<-h.stall
	}
}

func TestSpecAGuestWhoseLoopWasAbandonedCanBeUnregistered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &talker{stall: make(chan struct{}), holds: make(chan struct{})}
		w := rig.StartWith(t, rig.Plays(rig.Says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}}, h)
		_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "guest"})
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { time.Sleep(time.Second); cancel(errors.New("enough")) }()
		_, err = w.Conv.Send(ctx, message.TextInput("1"), &runtime.TurnOptions{Guest: "guest"})
		require.NoError(t, err)
		close(h.stall)
		began := time.Now()
		require.NoError(t, w.Runtime.Unregister(t.Context(), "guest"))
		assert.Less(t, time.Since(began), time.Minute)
		synctest.Wait()
	})
}
