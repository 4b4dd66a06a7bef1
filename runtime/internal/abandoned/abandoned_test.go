package abandoned_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var work = abandoned.Work{Tool: "x"}

func TestATaskIsCountedFromItsAbandonmentToItsEnd(t *testing.T) {
	t.Parallel()
	var counts abandoned.Counts
	var task abandoned.Task
	require.True(t, task.Begin(&counts, work))
	assert.Empty(t, counts.List())
	assert.Equal(t, abandoned.Running, task.Abandon())
	assert.Equal(t, abandoned.Abandoned, task.Abandon(), "it counts once")
	assert.Equal(t, []abandoned.Work{{Tool: "x", Count: 1}}, counts.List())
	task.End()
	assert.Equal(t, abandoned.Abandoned, task.State())
	assert.Empty(t, counts.List())
}

func TestATaskThatWaitedNeverBegins(t *testing.T) {
	t.Parallel()
	var counts abandoned.Counts
	var task abandoned.Task
	assert.Equal(t, abandoned.Waiting, task.Abandon())
	assert.False(t, task.Begin(&counts, work))
	assert.Empty(t, counts.List())
}

func TestATaskThatHasEndedIsNotAbandoned(t *testing.T) {
	t.Parallel()
	var counts abandoned.Counts
	var task abandoned.Task
	require.True(t, task.Begin(&counts, work))
	task.End()
	assert.Equal(t, abandoned.Ended, task.Abandon())
	assert.Equal(t, abandoned.Ended, task.State())
	assert.Empty(t, counts.List())
}

func TestCounts(t *testing.T) {
	t.Parallel()
	var counts abandoned.Counts
	hook := abandoned.Work{Hook: "Log", Point: "OnEvent"}
	counts.Add(work)
	counts.Add(hook)
	counts.Add(abandoned.Work{Tool: "x", Count: 7})
	assert.Equal(t, 2, counts.Of(work), "Count does not count")
	list := counts.List()
	assert.Equal(t, []abandoned.Work{{Hook: "Log", Point: "OnEvent", Count: 1}, {Tool: "x", Count: 2}}, list)
	assert.Equal(t, "3 in all: OnEvent of Log (1), calls of x (2)", abandoned.Text(list))
	counts.Ended(work)
	counts.Ended(hook)
	assert.Equal(t, 1, counts.Of(work))
	assert.Equal(t, "Close", abandoned.Work{Point: "Close"}.String())
}

func TestWaitReturnsWhenAllHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var counts abandoned.Counts
		assert.Empty(t, counts.Wait(t.Context()))
		counts.Add(work)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.Equal(t, []abandoned.Work{{Tool: "x", Count: 1}}, counts.Wait(ctx))
		began := time.Now()
		time.AfterFunc(time.Hour, func() { counts.Ended(work) })
		two := make(chan []abandoned.Work)
		go func() { two <- counts.Wait(t.Context()) }()
		assert.Empty(t, counts.Wait(t.Context()))
		assert.Empty(t, <-two)
		assert.Equal(t, time.Hour, time.Since(began))
	})
}

func TestACallReturnsItsError(t *testing.T) {
	t.Parallel()
	var counts abandoned.Counts
	broken := errors.New("broken")
	require.NoError(t, abandoned.Go(&counts, work, func() error { return nil }).Wait(t.Context()))
	require.ErrorIs(t, abandoned.Go(&counts, work, func() error { return broken }).Wait(t.Context()), broken)
	require.ErrorIs(t, abandoned.Go(&counts, work, func() error { runtime.Goexit(); return nil }).Wait(t.Context()), abandoned.ErrGoexit)
}

func TestACallIsAbandonedWhenItsWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var counts abandoned.Counts
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		late, stop := abandoned.Late(ctx, 5*time.Second)
		defer stop()
		began := time.Now()
		call := abandoned.Go(&counts, work, func() error { time.Sleep(time.Hour); return nil })
		require.ErrorIs(t, call.Wait(late), abandoned.ErrStillRuns)
		assert.Equal(t, time.Minute+5*time.Second, time.Since(began))
		assert.Equal(t, 1, counts.Of(work))
		assert.Empty(t, counts.Wait(t.Context()))
		assert.Equal(t, time.Hour, time.Since(began))
	})
}

func TestLateKeepsTheValuesAndEndsWithStop(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	cancel()
	late, stop := abandoned.Late(ctx, time.Hour)
	assert.Equal(t, "value", late.Value(key{}))
	require.NoError(t, late.Err())
	stop()
	require.Error(t, late.Err())
}
