package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// While a turn runs, people can say something to it (Steer), or put a message of
// their own in the queue (Send with Queue). Nothing of it is lost.

func steers(t *testing.T, w *world, lines ...string) {
	t.Helper()
	for _, line := range lines {
		require.NoError(t, w.conv.Steer(t.Context(), hook.TextInput(line)))
	}
}

func TestSpecWhatIsSaidDuringAStepIsReadBeforeTheNext(t *testing.T) {
	t.Parallel()
	tool := newGate("wait")
	m := plays(calls(want{"c1", "wait", `{}`}), says("done"))
	w := start(t, m, box(tool.tool))
	require.ErrorIs(t, w.conv.Steer(t.Context(), hook.TextInput("too early")), runtime.ErrIdle)

	ended := make(chan error, 1)
	go func() { _, err := w.try(t.Context(), "1"); ended <- err }()
	<-tool.reached
	steers(t, w, "first", "second", "third")
	close(tool.open)
	require.NoError(t, <-ended)
	assert.Equal(t, []string{
		"user 1", "assistant [c1 wait {}]", "tool c1 wait: through", "user first", "user second", "user third", "assistant done",
	}, w.history())
	told := w.eventsOf(hook.EventSteered)
	require.Len(t, told, 3, "one event each")
	for i, line := range []string{"first", "second", "third"} {
		assert.Equal(t, line, told[i].Text)
	}
	assert.Equal(t, 6, m.requests[1].Messages.Len(), "the model reads them")
	require.ErrorIs(t, w.conv.Steer(t.Context(), hook.TextInput("too late")), runtime.ErrIdle)
}

func TestSpecATurnThatWasAboutToEndGoesOn(t *testing.T) {
	t.Parallel()
	var w *world
	first := func(yield func(hook.Chunk, error) bool) {
		steers(t, w, "one more thing")
		says("that was all")(yield)
	}
	w = start(t, plays(first, says("that too")))
	out := w.send("1")
	assert.Equal(t, "that too", out.Text())
	assert.Equal(t, []string{"user 1", "assistant that was all", "user one more thing", "assistant that too"}, w.history())
}

func TestSpecACancelledTurnLeavesWhatWasSaidToTheNext(t *testing.T) {
	t.Parallel()
	tool := newGate("wait")
	m := plays(calls(want{"c1", "wait", `{}`}), says("done"))
	w := start(t, m, box(tool.tool))
	ended := make(chan hook.TurnOutcome, 1)
	go func() { out, _ := w.try(t.Context(), "1"); ended <- out }()
	<-tool.reached
	steers(t, w, "first", "second")
	require.True(t, w.conv.Stop())
	assert.Equal(t, hook.StopUserRequested, (<-ended).Stop)
	w.send("2")
	assert.Equal(t, []string{"user 1", "assistant [c1 wait {}]", "tool c1 wait cancelled: cancelled", "user first", "user second", "user 2", "assistant done"}, w.history())
	assert.Len(t, w.eventsOf(hook.EventSteered), 2)
}

// Whenever a message comes, it is either refused or in the history.
func TestSpecSteeringIsRefusedOrHeard(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{0, 1, 2, 3, 4, 5, 6} {
		synctest.Test(t, func(t *testing.T) {
			w := startSlowly(t, func(bool) time.Duration { return 2 }, mem.New(&mem.Options{Journal: true}))
			ended := make(chan error, 1)
			go func() { _, err := w.try(t.Context(), "call"); ended <- err }()
			time.Sleep(delay)
			synctest.Wait()
			err := w.conv.Steer(t.Context(), hook.TextInput("hear me"))
			require.NoError(t, <-ended)
			if err != nil {
				require.ErrorIs(t, err, runtime.ErrIdle)
				assert.NotContains(t, w.history(), "user hear me")
			} else {
				assert.Contains(t, w.history(), "user hear me")
			}
			require.NoError(t, w.rt.Close(t.Context()))
		})
	}
}

func TestSpecQueuedMessagesComeInTheirOrderUnlessRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := startSlowly(t, seconds, mem.New(nil))
		send := func(ctx context.Context, line string, when runtime.Busy) <-chan error {
			ended := make(chan error, 1)
			go func() {
				_, err := w.conv.Send(ctx, hook.TextInput(line), &runtime.SendOptions{WhenBusy: when})
				ended <- err
			}()
			synctest.Wait()
			return ended
		}
		impatient, leave := context.WithCancel(t.Context())
		first := send(t.Context(), "1", runtime.Refuse)
		second := send(t.Context(), "2", runtime.Queue)
		third := send(impatient, "3", runtime.Queue)
		fourth := send(t.Context(), "4", runtime.Queue)
		require.ErrorIs(t, <-send(t.Context(), "5", runtime.Refuse), runtime.ErrBusy)
		leave()
		require.ErrorIs(t, <-third, context.Canceled)
		for _, ended := range []<-chan error{first, second, fourth} {
			require.NoError(t, <-ended)
		}
		assert.Equal(t, []string{"user 1", "assistant answer to 1", "user 2", "assistant answer to 2", "user 4", "assistant answer to 4"}, w.history())
		require.NoError(t, w.rt.Close(t.Context()))
	})
}
