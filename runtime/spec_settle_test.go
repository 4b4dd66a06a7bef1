package runtime_test

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
	pay := newGate("pay")
	w, s := bootOver(t, nil, plays(calls(want{"c1", "pay", `{}`})), box(pay.tool))
	dies(t, w, s, "1")
	return s
}

func TestSpecTheHandleBehindASettledTurnIsThatOfItsOwnTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := interruptedTurn(t)
		wait := newGate("wait")
		var w *world
		var settled []error
		h := atAfterTurn(func() {
			running := w.conv.Running()
			if running.ID() != "" {
				return
			}
			assert.False(t, running.Ending(), "it has not begun")
			settled = append(settled, running.Steer(t.Context(), message.TextInput("early")))
		})
		w, _ = bootOver(t, s, plays(calls(want{"c2", "wait", `{}`}), says("done")), box(wait.tool), h)
		turn, err := w.conv.Start(t.Context(), message.TextInput("2"), nil)
		require.NoError(t, err)
		<-wait.reached
		assert.False(t, turn.Ending(), "its first step runs")
		require.Len(t, settled, 1)
		assert.ErrorIs(t, settled[0], runtime.ErrIdle)
		close(wait.open)
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
		w, n := bootOver(t, s, plays(says("never")), box(newGate("pay").tool), h)
		next = n
		_, err := w.try(t.Context(), "2")
		require.ErrorIs(t, err, errDead)
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
	w := startWith(t, plays(says("one"), says("two")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: openSQLite(t, t.TempDir())}, patient)
	w.send("1")
	w.send("2")
	for range 2 { // the first one does not make the second one ErrBusy
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		_, err := w.conv.Compact(ctx, keepOne)
		require.ErrorIs(t, err, context.Canceled)
		was, err := w.conv.Interrupted(t.Context())
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
	w := startWith(t, plays(says("done")), hook.AgentConfig{Name: "a"}, o)
	breaks = func() { panic("no id") }
	assert.Panics(t, func() { _, _ = w.conv.Send(t.Context(), message.TextInput("1"), nil) })
	breaks = goruntime.Goexit
	_, err := w.conv.Start(t.Context(), message.TextInput("2"), nil)
	require.ErrorContains(t, err, "ended the goroutine of the turn")
	breaks = func() {}
	out, err := w.conv.Send(t.Context(), message.TextInput("3"), nil)
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
		w := startWith(t, plays(says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}}, h)
		_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: "guest"})
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { time.Sleep(time.Second); cancel(errors.New("enough")) }()
		_, err = w.conv.Send(ctx, message.TextInput("1"), &runtime.TurnOptions{Guest: "guest"})
		require.NoError(t, err)
		close(h.stall)
		began := time.Now()
		require.NoError(t, w.rt.Unregister(t.Context(), "guest"))
		assert.Less(t, time.Since(began), time.Minute)
		synctest.Wait()
	})
}
