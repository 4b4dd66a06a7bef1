package turns_test

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
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// While a turn runs, people can say something to it (Steer), or put a message of
// their own in the queue (Send with Queue). Nothing of it is lost.

func TestSpecWhatIsSaidDuringAStepIsReadBeforeTheNext(t *testing.T) {
	t.Parallel()
	tool := rig.NewGate("wait")
	m := rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("done"))
	w := rig.Start(t, m, rig.Box(tool.Tool))
	require.ErrorIs(t, dialog.Steer(t.Context(), w.Conv, message.TextInput("too early")), runtime.ErrIdle)

	ended := make(chan error, 1)
	go func() { _, err := w.Try(t.Context(), "1"); ended <- err }()
	<-tool.Reached
	rig.Steers(t, w, "first", "second", "third")
	close(tool.Open)
	require.NoError(t, <-ended)
	assert.Equal(t, []string{
		"user 1", "assistant [c1 wait {}]", "tool c1 wait: through", "user first", "user second", "user third", "assistant done",
	}, w.History())
	told := w.EventsOf(event.Steered)
	require.Len(t, told, 3, "one event each")
	for i, line := range []string{"first", "second", "third"} {
		assert.Equal(t, line, told[i].Text)
	}
	assert.Equal(t, 6, m.Requests[1].Messages.Len(), "the model reads them")
	require.ErrorIs(t, dialog.Steer(t.Context(), w.Conv, message.TextInput("too late")), runtime.ErrIdle)
}

func TestSpecASteeredTurnThatWasAboutToEndContinues(t *testing.T) {
	t.Parallel()
	var w *rig.World
	first := func(yield func(message.Chunk, error) bool) {
		rig.Steers(t, w, "one more thing")
		rig.Says("that was all")(yield)
	}
	w = rig.Start(t, rig.Plays(first, rig.Says("that too")))
	out := w.Send("1")
	assert.Equal(t, "that too", out.Text())
	assert.Equal(t, []string{"user 1", "assistant that was all", "user one more thing", "assistant that too"}, w.History())
}

func TestSpecACancelledTurnLeavesWhatWasSaidToTheNext(t *testing.T) {
	t.Parallel()
	tool := rig.NewGate("wait")
	m := rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("done"))
	w := rig.Start(t, m, rig.Box(tool.Tool))
	ended := make(chan hook.TurnOutcome, 1)
	go func() { out, _ := w.Try(t.Context(), "1"); ended <- out }()
	<-tool.Reached
	rig.Steers(t, w, "first", "second")
	require.True(t, dialog.Stop(w.Conv))
	assert.Equal(t, hook.StopUserRequested, (<-ended).Stop)
	w.Send("2")
	assert.Equal(t, []string{"user 1", "assistant [c1 wait {}]", "tool c1 wait cancelled: cancelled", "user first", "user second", "user 2", "assistant done"}, w.History())
	assert.Len(t, w.EventsOf(event.Steered), 2)
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
	wait := rig.RandomTimes(seed)
	w := rig.StartSlowly(t, func(bool) time.Duration { return wait() }, mem.New(&mem.Options{Journal: seed%2 == 0}))
	defer func() { require.NoError(t, w.Runtime.Close(t.Context())) }()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range 3 {
			_, _ = dialog.Send(t.Context(), w.Conv, message.TextInput("call"), nil)
			time.Sleep(wait() / 2)
		}
	}()
	var said []string
	for i := range 8 {
		time.Sleep(wait())
		line := fmt.Sprintf("hear %d", i)
		switch err := dialog.Steer(t.Context(), w.Conv, message.TextInput(line)); {
		case err == nil:
			said = append(said, "user "+line)
		default:
			require.ErrorIs(t, err, runtime.ErrIdle)
			refused++
		}
		if i%4 == 3 {
			dialog.Stop(w.Conv)
		}
	}
	<-over
	w.Send("last")
	var kept []string
	for _, line := range w.History() {
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
		w := rig.StartSlowly(t, rig.Seconds, mem.New(nil))
		send := func(ctx context.Context, line string, when runtime.Busy) <-chan error {
			ended := make(chan error, 1)
			go func() {
				_, err := dialog.Send(ctx, w.Conv, message.TextInput(line), &runtime.TurnOptions{WhenBusy: when})
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
		assert.Equal(t, []string{"user 1", "assistant answer to 1", "user 2", "assistant answer to 2", "user 4", "assistant answer to 4"}, w.History())
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}
