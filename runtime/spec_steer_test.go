package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// While a turn runs, people can say something to it (Steer), or put a message of
// their own in the queue (Send with Queue). Nothing of it is lost.

func steers(t *testing.T, w *world, lines ...string) {
	t.Helper()
	for _, line := range lines {
		require.NoError(t, dialog.Steer(t.Context(), w.conv, message.TextInput(line)))
	}
}

func TestSpecWhatIsSaidDuringAStepIsReadBeforeTheNext(t *testing.T) {
	t.Parallel()
	tool := newGate("wait")
	m := plays(calls(want{"c1", "wait", `{}`}), says("done"))
	w := start(t, m, box(tool.tool))
	require.ErrorIs(t, dialog.Steer(t.Context(), w.conv, message.TextInput("too early")), runtime.ErrIdle)

	ended := make(chan error, 1)
	go func() { _, err := w.try(t.Context(), "1"); ended <- err }()
	<-tool.reached
	steers(t, w, "first", "second", "third")
	close(tool.open)
	require.NoError(t, <-ended)
	assert.Equal(t, []string{
		"user 1", "assistant [c1 wait {}]", "tool c1 wait: through", "user first", "user second", "user third", "assistant done",
	}, w.history())
	told := w.eventsOf(event.Steered)
	require.Len(t, told, 3, "one event each")
	for i, line := range []string{"first", "second", "third"} {
		assert.Equal(t, line, told[i].Text)
	}
	assert.Equal(t, 6, m.requests[1].Messages.Len(), "the model reads them")
	require.ErrorIs(t, dialog.Steer(t.Context(), w.conv, message.TextInput("too late")), runtime.ErrIdle)
}

func TestSpecASteeredTurnThatWasAboutToEndContinues(t *testing.T) {
	t.Parallel()
	var w *world
	first := func(yield func(message.Chunk, error) bool) {
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
	require.True(t, dialog.Stop(w.conv))
	assert.Equal(t, hook.StopUserRequested, (<-ended).Stop)
	w.send("2")
	assert.Equal(t, []string{"user 1", "assistant [c1 wait {}]", "tool c1 wait cancelled: cancelled", "user first", "user second", "user 2", "assistant done"}, w.history())
	assert.Len(t, w.eventsOf(event.Steered), 2)
}

// Whenever a message comes, also while the turn ends or is stopped: it is either
// refused, or in the history once, in its order.
func TestSpecSteeringIsRefusedOrHeard(t *testing.T) {
	t.Parallel()
	heard, refused := 0, 0
	for seed := range uint64(1_000) {
		synctest.Test(t, func(t *testing.T) {
			h, r := raceSteering(t, seed)
			heard, refused = heard+h, refused+r
		})
	}
	t.Logf("%d heard, %d refused", heard, refused)
	assert.Greater(t, heard, 1_000)
	assert.Greater(t, refused, 1_000)
}

func raceSteering(t *testing.T, seed uint64) (heard, refused int) {
	wait := times(seed)
	w := startSlowly(t, func(bool) time.Duration { return wait() }, mem.New(&mem.Options{Journal: seed%2 == 0}))
	defer func() { require.NoError(t, w.rt.Close(t.Context())) }()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range 3 {
			_, _ = dialog.Send(t.Context(), w.conv, message.TextInput("call"), nil)
			time.Sleep(wait() / 2)
		}
	}()
	var said []string
	for i := range 8 {
		time.Sleep(wait())
		line := fmt.Sprintf("hear %d", i)
		switch err := dialog.Steer(t.Context(), w.conv, message.TextInput(line)); {
		case err == nil:
			said = append(said, "user "+line)
		default:
			require.ErrorIs(t, err, runtime.ErrIdle)
			refused++
		}
		if i%4 == 3 {
			dialog.Stop(w.conv)
		}
	}
	<-over
	w.send("last")
	var kept []string
	for _, line := range w.history() {
		if strings.HasPrefix(line, "user hear") {
			kept = append(kept, line)
		}
	}
	require.Equal(t, said, kept, "seed %d", seed)
	return len(said), refused
}

func TestSpecQueuedMessagesComeInTheirOrderUnlessRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := startSlowly(t, seconds, mem.New(nil))
		send := func(ctx context.Context, line string, when runtime.Busy) <-chan error {
			ended := make(chan error, 1)
			go func() {
				_, err := dialog.Send(ctx, w.conv, message.TextInput(line), &runtime.TurnOptions{WhenBusy: when})
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
