package models_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// Compaction asks a model, which takes a while, and turns may run meanwhile. What
// must never happen is that the summary of what was read takes the place of what
// is there by then.

func TestSpecATurnThatEndsWhileTheSummaryIsWrittenIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := rig.StartSlowly(t, rig.Seconds, mem.New(nil))
		w.Send("1")
		w.Send("2")

		refused := make(chan error, 1)
		go func() {
			_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
			refused <- err
		}()
		synctest.Wait() // the model is asked for the summary
		w.Send("3")
		require.ErrorIs(t, <-refused, store.ErrConflict)
		assert.Equal(t, []string{"user 1", "assistant answer to 1", "user 2", "assistant answer to 2", "user 3", "assistant answer to 3"}, w.History())

		made, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
		require.NoError(t, err, "it may be tried again")
		assert.Equal(t, 4, made.Archived)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecASummaryThatComesWhileATurnRunsIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := rig.StartSlowly(t, func(compaction bool) time.Duration { return 11*time.Second - rig.Seconds(compaction) }, mem.New(nil))
		w.Send("1")
		w.Send("2")

		refused, ended := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
			refused <- err
		}()
		synctest.Wait() // the model is asked for the summary
		go func() { _, err := w.Try(t.Context(), "3"); ended <- err }()
		require.ErrorIs(t, <-refused, runtime.ErrBusy)
		require.NoError(t, <-ended, "the turn does not notice")
		assert.Len(t, w.History(), 6)

		go func() { _, err := w.Try(t.Context(), "4"); ended <- err }()
		synctest.Wait()
		_, err := w.Conv.Compact(t.Context(), nil)
		require.ErrorIs(t, err, runtime.ErrBusy, "no model is asked while a turn runs")
		require.NoError(t, <-ended)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecATurnThatBeginsAfterCompactionSeesTheSummary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := rig.StartSlowly(t, rig.Seconds, mem.New(nil))
		w.Send("1")
		w.Send("2")
		_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
		require.NoError(t, err)
		w.Send("3")
		assert.Equal(t, []string{"user " + rig.SummaryHead + "The summary.", "user 2", "assistant answer to 2", "user 3", "assistant answer to 3"}, w.History())
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecCompactionEndsWithItsAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := rig.StartSlowly(t, func(compaction bool) time.Duration {
			if compaction {
				return time.Hour
			}
			return time.Second
		}, mem.New(nil))
		w.Send("1")
		refused := make(chan error, 1)
		go func() {
			_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: -1})
			refused <- err
		}()
		synctest.Wait()
		_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: -1})
		require.ErrorIs(t, err, runtime.ErrBusy, "one at a time")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, w.Runtime.Unregister(ctx, "a"))
		require.ErrorIs(t, <-refused, runtime.ErrAgentClosing)
		assert.Len(t, w.History(), 2)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

// A thousand conversations in which turns and compactions come at random times, in
// one process or two: whatever happens, everything that was said is in the archive
// or in the history, once and in order, and the history keeps the rules of
// providers.
func TestSpecNothingIsLostWhereverCompactionFalls(t *testing.T) {
	t.Parallel()
	var all race
	for seed := range uint64(1_000) {
		synctest.Test(t, func(t *testing.T) {
			r := race{seed: seed, store: mem.New(&mem.Options{Journal: seed%4 != 0})}
			r.run(t, 1+int(seed%4)/3)
			all.made, all.refused = all.made+r.made, all.refused+r.refused
		})
	}
	t.Logf("%d compactions, %d refused", all.made, all.refused)
	assert.Greater(t, all.made, 1_000)
	assert.Greater(t, all.refused, 1_000)
}

// race is one such conversation.
type race struct {
	seed          uint64
	store         *mem.Store
	made, refused int

	mu sync.Mutex
}

// run has each process send lines and compact, and looks what has become of them.
func (r *race) run(t *testing.T, processes int) {
	said := make([][]string, processes)
	turns := 0
	var ended sync.WaitGroup
	for p := range processes {
		times := rig.RandomTimes(r.seed + uint64(p)<<32)
		w := rig.StartSlowly(t, func(compaction bool) time.Duration {
			if compaction {
				return times() / 2
			}
			return times() / 8
		}, r.store)
		t.Cleanup(func() { _ = w.Runtime.Close(context.Background()) })
		for i := range 6 {
			said[p] = append(said[p], fmt.Sprintf("%d of %d", i, p))
		}
		said[p][2], said[p][5] = fmt.Sprintf("call of %d", p), fmt.Sprintf("call again of %d", p)
		turns += len(said[p])
		ended.Go(func() { r.talk(t, w.Conv, said[p], times) })
		ended.Go(func() { r.compact(t, w.Conv, times) })
	}
	ended.Wait()
	c, err := r.store.Conversation(t.Context(), store.Key{Agent: "a", Sender: "ann"})
	require.NoError(t, err)
	archive, err := r.store.Archive(t.Context(), c.ID)
	require.NoError(t, err)
	live, err := r.store.Messages(t.Context(), c.ID)
	require.NoError(t, err)
	require.Empty(t, history.Check(live), "seed %d", r.seed)
	others := 0
	for _, m := range append(archive, live...) {
		switch {
		case m.Role != message.RoleUser:
			others++
		case m.Label != message.LabelSummary:
			p := slices.IndexFunc(said, func(lines []string) bool { return len(lines) > 0 && lines[0] == m.Text() })
			require.GreaterOrEqual(t, p, 0, "seed %d: %q is there twice, or too late", r.seed, m.Text())
			said[p] = said[p][1:]
		}
	}
	require.Empty(t, slices.Concat(said...), "seed %d", r.seed)
	require.Equal(t, turns+turns/3*2, others, "seed %d: answers, calls and results", r.seed)
}

func (r *race) talk(t *testing.T, c *runtime.Conversation, lines []string, times func() time.Duration) {
	for _, line := range lines {
		time.Sleep(times())
		_, err := dialog.Send(t.Context(), c, message.TextInput(line), &runtime.TurnOptions{WhenBusy: runtime.Queue})
		assert.NoError(t, err, "seed %d", r.seed)
	}
}

func (r *race) compact(t *testing.T, c *runtime.Conversation, times func() time.Duration) {
	for i := range 8 {
		time.Sleep(times())
		_, err := c.Compact(t.Context(), &runtime.CompactOptions{Keep: 1 + i%2})
		r.mu.Lock()
		switch {
		case err == nil:
			r.made++
		case errors.Is(err, runtime.ErrBusy), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrFenced):
			r.refused++
		case !errors.Is(err, runtime.ErrNothingToCompact):
			t.Errorf("seed %d: %v", r.seed, err)
		}
		r.mu.Unlock()
	}
}

// slowStore takes its time to compact.
type slowStore struct{ *mem.Store }

func (s slowStore) Compact(ctx context.Context, id string, at store.At, n int, summary message.Message) (int64, error) {
	time.Sleep(time.Second)
	return s.Store.Compact(ctx, id, at, n, summary)
}

func TestSpecNobodyIsRefusedBecauseASummaryIsBeingStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := rig.StartSlowly(t, rig.Seconds, slowStore{mem.New(nil)})
		w.Send("1")
		compacted := make(chan error, 1)
		go func() {
			_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: -1})
			compacted <- err
		}()
		time.Sleep(10*time.Second + 500*time.Millisecond) // the summary is there
		w.Send("2")
		require.NoError(t, <-compacted)
		assert.Equal(t, []string{"user " + rig.SummaryHead + "The summary.", "user 2", "assistant answer to 2"}, w.History())
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecOnlyOneTurnFollowsASummaryThatIsBeingStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := rig.StartSlowly(t, rig.Seconds, slowStore{mem.New(nil)})
		w.Send("1")
		go func() { _, _ = w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: -1}) }()
		time.Sleep(10*time.Second + 500*time.Millisecond) // the summary is there
		first := make(chan error, 1)
		go func() { _, err := w.Try(t.Context(), "2"); first <- err }()
		synctest.Wait()
		began := time.Now()
		_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("3"), nil)
		require.ErrorIs(t, err, runtime.ErrBusy, "it does not wait for the turn of another message")
		assert.Zero(t, time.Since(began))
		require.NoError(t, <-first)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}
