package queue_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/runtime/internal/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// log is what has run, in order.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}

func name(path string) queue.Name { return queue.Name{Place: "c", Path: path} }

func TestAQueueKeepsItsOrderAndQueuesDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, did := queue.New(nil), new(log)
		for i := range 3 {
			for j, path := range []string{"slow", "quick"} {
				require.NoError(t, l.Go(t.Context(), name(path), func(context.Context) {
					time.Sleep(time.Duration(10-9*j) * time.Second)
					did.add("%s %d", path, i)
				}))
			}
		}
		assert.Empty(t, did.all(), "nobody waits")
		l.Close(t.Context(), 0)
		assert.Equal(t, []string{"quick 0", "quick 1", "quick 2", "slow 0", "slow 1", "slow 2"}, did.all())
		assert.ErrorIs(t, l.Go(t.Context(), name("slow"), func(context.Context) {}), queue.ErrClosed)
	})
}

func TestTheCallersEndIsNotTheRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, did := queue.New(nil), new(log)
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		require.NoError(t, l.Go(ctx, name("a"), func(ctx context.Context) {
			time.Sleep(time.Second)
			did.add("%v %v", ctx.Value(key{}), ctx.Err())
		}))
		cancel()
		l.Close(t.Context(), 0)
		assert.Equal(t, []string{"value <nil>"}, did.all())
	})
}

func TestWhatEndsItsGoroutineStopsNobodyBehindIt(t *testing.T) {
	l, did := queue.New(nil), new(log)
	require.NoError(t, l.Go(t.Context(), name("a"), func(context.Context) { runtime.Goexit() }))
	require.NoError(t, l.Go(t.Context(), name("a"), func(context.Context) { did.add("second") }))
	left, dropped := l.Close(t.Context(), 0)
	assert.Equal(t, []string{"second"}, did.all())
	assert.Zero(t, left+dropped)
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := queue.New(&queue.Options{Waiting: 2})
		hold := func(context.Context) { time.Sleep(time.Second) }
		for range 3 {
			require.NoError(t, l.Go(t.Context(), name("a"), hold))
		}
		require.ErrorIs(t, l.Go(t.Context(), name("a"), hold), queue.ErrFull)
		require.NoError(t, l.Go(t.Context(), name("b"), hold))
		time.Sleep(time.Second)
		synctest.Wait()
		require.NoError(t, l.Go(t.Context(), name("a"), hold), "there is room again")
		l.Close(t.Context(), 0)
	})
}

// Who closes waits as long as it can, then has runs come back, and in the end goes
// without them.
func TestClosingGivesUpWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Int64
		l := queue.New(&queue.Options{Left: func() func() {
			gone.Add(1)
			return func() { gone.Add(-1) }
		}})
		did := new(log)
		require.NoError(t, l.Go(t.Context(), name("polite"), func(ctx context.Context) {
			<-ctx.Done()
			did.add("polite")
		}))
		require.NoError(t, l.Go(t.Context(), name("polite"), func(ctx context.Context) { did.add("behind it: %v", ctx.Err()) }))
		require.NoError(t, l.Go(t.Context(), name("deaf"), func(context.Context) { time.Sleep(time.Hour) }))
		require.NoError(t, l.Go(t.Context(), name("deaf"), func(context.Context) { did.add("never") }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		left, dropped := l.Close(ctx, time.Second)
		assert.Equal(t, []int{1, 1}, []int{left, dropped})
		assert.Equal(t, time.Minute+time.Second, time.Since(began))
		assert.Equal(t, []string{"polite", "behind it: context canceled"}, did.all())
		assert.Equal(t, int64(1), gone.Load())
		time.Sleep(time.Hour)
		assert.Zero(t, gone.Load(), "it has come back")
		assert.Len(t, did.all(), 2)
	})
}
