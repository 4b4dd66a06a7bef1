package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/history"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// Compaction asks a model, which takes a while, and turns may run meanwhile. What
// must never happen is that the summary of what was read takes the place of what
// is there by then.

// slowly answers each line with itself, and a request for a summary with a
// summary, both after the time that wait says.
func slowly(wait func(compaction bool) time.Duration) provider.Func {
	return func(ctx context.Context, req hook.ModelRequest) hook.ModelStream {
		last := req.Messages.At(req.Messages.Len() - 1)
		return func(yield func(hook.Chunk, error) bool) {
			select {
			case <-time.After(wait(last.Label == runtime.LabelCompaction)):
			case <-ctx.Done():
				yield(hook.Chunk{}, context.Cause(ctx))
				return
			}
			reply := says("answer to " + last.Text())
			switch {
			case last.Label == runtime.LabelCompaction:
				reply = says("The summary.")
			case last.Role == hook.RoleTool:
				reply = says("answer to " + last.CallID)
			case last.Text() == "call":
				reply = calls(want{"", "echo", `{"s":"x"}`})
			}
			reply(yield)
		}
	}
}

// seconds is a model that takes one for an answer and ten for a summary.
func seconds(compaction bool) time.Duration {
	if compaction {
		return 10 * time.Second
	}
	return time.Second
}

func startSlowly(t *testing.T, wait func(bool) time.Duration, s store.Store) *world {
	w := &world{t: t, store: s}
	w.rt = runtime.New(box(named("echo")), slowly(wait), &runtime.Options{Store: s})
	require.NoError(t, w.rt.Open(t.Context()))
	_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	w.conv, err = w.rt.Conversation(t.Context(), "a", "ann")
	require.NoError(t, err)
	return w
}

func TestSpecATurnThatEndsWhileTheSummaryIsWrittenIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := startSlowly(t, seconds, mem.New(nil))
		w.send("1")
		w.send("2")

		refused := make(chan error, 1)
		go func() {
			_, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
			refused <- err
		}()
		synctest.Wait() // the model is asked for the summary
		w.send("3")
		require.ErrorIs(t, <-refused, store.ErrConflict)
		assert.Equal(t, []string{"user 1", "assistant answer to 1", "user 2", "assistant answer to 2", "user 3", "assistant answer to 3"}, w.history())

		made, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
		require.NoError(t, err, "it may be tried again")
		assert.Equal(t, 4, made.Archived)
		require.NoError(t, w.rt.Close(t.Context()))
	})
}

func TestSpecASummaryThatComesWhileATurnRunsIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := startSlowly(t, func(compaction bool) time.Duration { return 11*time.Second - seconds(compaction) }, mem.New(nil))
		w.send("1")
		w.send("2")

		refused, ended := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
			refused <- err
		}()
		synctest.Wait() // the model is asked for the summary
		go func() { _, err := w.try(t.Context(), "3"); ended <- err }()
		require.ErrorIs(t, <-refused, runtime.ErrBusy)
		require.NoError(t, <-ended, "the turn does not notice")
		assert.Len(t, w.history(), 6)

		go func() { _, err := w.try(t.Context(), "4"); ended <- err }()
		synctest.Wait()
		_, err := w.conv.Compact(t.Context(), nil)
		require.ErrorIs(t, err, runtime.ErrBusy, "no model is asked while a turn runs")
		require.NoError(t, <-ended)
		require.NoError(t, w.rt.Close(t.Context()))
	})
}

func TestSpecATurnThatBeginsAfterCompactionSeesTheSummary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := startSlowly(t, seconds, mem.New(nil))
		w.send("1")
		w.send("2")
		_, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
		require.NoError(t, err)
		w.send("3")
		assert.Equal(t, []string{"user " + head + "The summary.", "user 2", "assistant answer to 2", "user 3", "assistant answer to 3"}, w.history())
		require.NoError(t, w.rt.Close(t.Context()))
	})
}

func TestSpecCompactionEndsWithItsAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := startSlowly(t, func(compaction bool) time.Duration {
			if compaction {
				return time.Hour
			}
			return time.Second
		}, mem.New(nil))
		w.send("1")
		refused := make(chan error, 1)
		go func() {
			_, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: -1})
			refused <- err
		}()
		synctest.Wait()
		_, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: -1})
		require.ErrorIs(t, err, runtime.ErrBusy, "one at a time")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, w.rt.Unregister(ctx, "a"))
		require.ErrorIs(t, <-refused, runtime.ErrAgentClosing)
		assert.Len(t, w.history(), 2)
		require.NoError(t, w.rt.Close(t.Context()))
	})
}

// A thousand conversations in which turns and compactions come at random times:
// whatever happens, everything that was said is in the archive or in the history,
// once and in order, and the history keeps the rules of providers.
func TestSpecNothingIsLostWhereverCompactionFalls(t *testing.T) {
	t.Parallel()
	var made, refused int
	for seed := range uint64(1_000) {
		synctest.Test(t, func(t *testing.T) {
			m, r := raceCompaction(t, seed)
			made, refused = made+m, refused+r
		})
	}
	t.Logf("%d compactions, %d refused", made, refused)
	assert.Greater(t, made, 1_000)
	assert.Greater(t, refused, 500)
}

func raceCompaction(t *testing.T, seed uint64) (made, refused int) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	times := make(chan time.Duration, 200)
	for range cap(times) {
		times <- time.Duration(rnd.IntN(5_000)) * time.Millisecond
	}
	s := mem.New(&mem.Options{Journal: seed%2 == 0})
	w := startSlowly(t, func(compaction bool) time.Duration {
		if compaction {
			return <-times / 2
		}
		return <-times / 8
	}, s)
	var said []string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range 6 {
			time.Sleep(<-times)
			line := fmt.Sprint(i)
			if i%3 == 2 {
				line = "call"
			}
			if _, err := w.conv.Send(t.Context(), hook.TextInput(line), &runtime.SendOptions{WhenBusy: runtime.Queue}); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			said = append(said, line)
		}
	}()
	for range 8 {
		time.Sleep(<-times)
		switch _, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1 + rnd.IntN(2)}); {
		case err == nil:
			made++
		case errors.Is(err, runtime.ErrBusy), errors.Is(err, store.ErrConflict):
			refused++
		case !errors.Is(err, runtime.ErrNothingToCompact):
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	<-ended
	archive, err := w.conv.Archive(t.Context())
	require.NoError(t, err)
	live, err := s.Messages(t.Context(), w.conv.ID())
	require.NoError(t, err)
	var kept []string
	others := 0
	for _, m := range append(archive, live...) {
		if m.Role != hook.RoleUser {
			others++
		}
		if m.Role == hook.RoleUser && m.Label != runtime.LabelSummary {
			kept = append(kept, m.Text())
		}
	}
	require.Equal(t, said, kept, "seed %d", seed)
	require.Equal(t, 4*1+2*3, others, "seed %d: answers, calls and results", seed)
	require.Empty(t, history.Check(live), "seed %d", seed)
	require.NoError(t, w.rt.Close(t.Context()))
	return made, refused
}
