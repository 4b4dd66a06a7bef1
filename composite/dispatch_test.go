package composite_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sourcegraph/conc/pool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
)

// runFunc runs a call by a function.
type runFunc func(ctx context.Context) message.ToolResult

func (f runFunc) Run(ctx context.Context, _ *hook.Env) message.ToolResult { return f(ctx) }

func sleep(d time.Duration, text string) composite.Call {
	return composite.Call{Runner: runFunc(func(ctx context.Context) message.ToolResult {
		select {
		case <-time.After(d):
			return message.TextResult(text)
		case <-ctx.Done():
			return message.FailedResult(message.FailCancelled, "stopped")
		}
	})}
}

// deaf ignores its context.
func deaf(d time.Duration, text string) composite.Call {
	return composite.Call{Runner: runFunc(func(context.Context) message.ToolResult {
		time.Sleep(d)
		return message.TextResult(text)
	})}
}

func TestDispatchAllOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var completed []int
		got := composite.DispatchAll(t.Context(), []composite.Call{
			sleep(150*time.Millisecond, "slow"), sleep(2*time.Millisecond, "b"), sleep(time.Millisecond, "c"),
		}, nil, func(i int, c composite.Completion) {
			completed = append(completed, i)
			assert.Equal(t, message.OutcomeExecuted, c.Outcome)
		})
		assert.Equal(t, []int{2, 1, 0}, completed, "callbacks come in completion order")
		var texts []string
		for _, c := range got {
			texts = append(texts, c.Result.Text())
		}
		assert.Equal(t, []string{"slow", "b", "c"}, texts, "results come by index")
		assert.Equal(t, 150*time.Millisecond, got[0].Duration)
	})
}

func TestDispatchAllPanicStaysInItsCall(t *testing.T) {
	for k := range 4 {
		calls := []composite.Call{sleep(0, "0"), sleep(0, "1"), sleep(0, "2"), sleep(0, "3")}
		calls[k].Runner = runFunc(func(context.Context) message.ToolResult { panic("secret") })
		for i, c := range composite.DispatchAll(t.Context(), calls, nil, nil) {
			if i == k {
				assert.Equal(t, message.OutcomePanicked, c.Outcome)
				assert.Equal(t, message.FailPanic, c.Result.Failure)
				assert.NotContains(t, c.Result.Text(), "secret")
				continue
			}
			assert.Equal(t, fmt.Sprint(i), c.Result.Text())
		}
	}
}

func TestACallRunsOnTheGoroutineOfItsCaller(t *testing.T) {
	env := &hook.Env{Key: "key"}
	call := composite.Call{Env: env, Runner: envFunc(func(e *hook.Env) message.ToolResult { return message.TextResult(e.Key) })}
	assert.Equal(t, "key", call.Run(t.Context()).Text())
	call.Runner = envFunc(func(*hook.Env) message.ToolResult { panic("secret") })
	assert.Equal(t, composite.PanicResult(), call.Run(t.Context()))
}

// envFunc runs a call by a function of what it is told.
type envFunc func(env *hook.Env) message.ToolResult

func (f envFunc) Run(_ context.Context, env *hook.Env) message.ToolResult { return f(env) }

func TestDispatchAllIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		calls := make([]composite.Call, 20)
		for i := range calls {
			calls[i].Waits = i >= 15
			calls[i].Runner = runFunc(func(context.Context) message.ToolResult {
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Second)
				running.Add(-1)
				return message.ToolResult{}
			})
		}
		begin := time.Now()
		composite.DispatchAll(t.Context(), calls, &composite.DispatchOptions{Limit: 5}, nil)
		assert.Equal(t, 3*time.Second, time.Since(begin), "15 calls, 5 at once")
		assert.LessOrEqual(t, most.Load(), int32(10), "5 slots and 5 that wait")
	})
}

func TestDispatchAllCancelKeepsWhatFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var order []int
		calls := []composite.Call{
			sleep(time.Millisecond, "done"),        // finishes before the cancel
			deaf(time.Hour, "never seen"),          // does not listen
			sleep(time.Hour, "listens"),            // ends at the cancel
			deaf(1500*time.Millisecond, "in time"), // ends within the grace period
			sleep(0, "never started"),
		}
		go func() { time.Sleep(time.Second); cancel() }()
		got := composite.DispatchAll(ctx, calls, &composite.DispatchOptions{Limit: 4, Grace: time.Second},
			func(i int, _ composite.Completion) { order = append(order, i) })
		outcomes := make([]message.Outcome, len(got))
		for i, c := range got {
			outcomes[i] = c.Outcome
		}
		// The fifth call took the slot of the first and finished at once.
		assert.Equal(t, []message.Outcome{message.OutcomeExecuted, message.OutcomeInterrupted, message.OutcomeInterrupted,
			message.OutcomeExecuted, message.OutcomeExecuted}, outcomes)
		assert.Len(t, order, 5, "every call completes exactly once")
		assert.Contains(t, got[1].Result.Text(), "not known")
		time.Sleep(time.Hour) // the stray ends
	})
}

func TestDispatchAllCancelledBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := []composite.Call{deaf(time.Minute, "stray"), sleep(0, "waiting")}
		go func() { time.Sleep(time.Second); cancel() }()
		got := composite.DispatchAll(ctx, calls, &composite.DispatchOptions{Limit: 1, Grace: -1}, nil)
		assert.Equal(t, message.OutcomeInterrupted, got[0].Outcome)
		assert.Equal(t, message.OutcomeCancelled, got[1].Outcome)
		time.Sleep(time.Minute)
	})
}

func TestDispatchAllSurvivesGoexit(t *testing.T) {
	exits := composite.Call{Runner: runFunc(func(context.Context) message.ToolResult { runtime.Goexit(); return message.ToolResult{} })}
	panics := composite.Call{Runner: runFunc(func(context.Context) message.ToolResult { panic("no") })}
	calls := []composite.Call{sleep(0, "0"), exits, panics, exits, sleep(0, "4"), exits}
	got := composite.DispatchAll(t.Context(), calls, &composite.DispatchOptions{Limit: 1}, nil)
	for i, want := range []string{0: "0", 4: "4", 5: ""} {
		if want != "" {
			assert.Equal(t, want, got[i].Result.Text(), "%d: others go on", i)
		} else {
			assert.Equal(t, message.FailPanic, got[i].Result.Failure, "%d", i)
		}
	}
}

// An abandoned call may end its goroutine when nobody may use the pool any more.
func TestDispatchAllSurvivesTheGoexitOfAnAbandonedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, closed, shared := make(chan struct{}), make(chan struct{}), pool.New()
		calls := []composite.Call{sleep(0, "0"), sleep(0, "1")}
		calls[0].Runner = runFunc(func(context.Context) message.ToolResult { <-release; runtime.Goexit(); return message.ToolResult{} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got := composite.DispatchAll(ctx, calls, &composite.DispatchOptions{Limit: 1, Grace: -1, Pool: shared}, nil)
		assert.True(t, got[0].Abandoned)
		assert.Equal(t, message.OutcomeCancelled, got[1].Outcome)
		go func() { shared.Wait(); close(closed) }()
		synctest.Wait()
		close(release)
		<-closed
	})
}

// Calls that share a pool leave it as it was: its workers wait for the next ones.
// A pool may be closed as soon as DispatchAll has returned, with abandoned calls or without. The race detector sees whether a
// worker that had lost its goroutine uses the pool then.
func TestDispatchAllLeavesThePoolAloneAfterAGoexit(t *testing.T) {
	for range 20 {
		shared := pool.New()
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		calls := []composite.Call{{Runner: runFunc(func(context.Context) message.ToolResult {
			<-release
			return message.TextResult("late")
		})}, {Runner: runFunc(func(context.Context) message.ToolResult { runtime.Goexit(); return message.ToolResult{} })}}
		ended := 0
		ends := composite.DispatchAll(ctx, calls, &composite.DispatchOptions{Grace: 5 * time.Millisecond, Pool: shared}, func(int, composite.Completion) {
			if ended++; ended == 1 {
				time.AfterFunc(time.Millisecond, cancel)
			}
		})
		assert.True(t, ends[0].Abandoned)
		closed := make(chan struct{})
		go func() { shared.Wait(); close(closed) }()
		time.Sleep(time.Millisecond)
		close(release)
		<-closed
	}
}

func TestDispatchAllOnASharedPool(t *testing.T) {
	shared := pool.New()
	o := &composite.DispatchOptions{Pool: shared}
	for range 3 {
		got := composite.DispatchAll(t.Context(), []composite.Call{sleep(0, "0"), sleep(0, "1")}, o, nil)
		assert.Equal(t, "0", got[0].Result.Text())
		assert.Equal(t, "1", got[1].Result.Text())
	}
	shared.Wait()
}

// Calls start in their order although the pool may start its newest goroutine first.
func TestDispatchAllStartsInOrder(t *testing.T) {
	for range 100 {
		var mu sync.Mutex
		var began []int
		calls := make([]composite.Call, 8)
		for i := range calls {
			calls[i] = composite.Call{Waits: i == 5, Runner: runFunc(func(context.Context) message.ToolResult {
				mu.Lock()
				defer mu.Unlock()
				began = append(began, i)
				return message.ToolResult{}
			})}
		}
		composite.DispatchAll(t.Context(), calls, &composite.DispatchOptions{Limit: 1}, nil)
		require.Subset(t, began, []int{5})
		assert.IsIncreasing(t, slices.DeleteFunc(began, func(i int) bool { return i == 5 }))
	}
}

func TestDispatchAllNothing(t *testing.T) {
	require.Empty(t, composite.DispatchAll(t.Context(), nil, nil, nil))
}

var noop = runFunc(func(context.Context) message.ToolResult { return message.ToolResult{} })

// The bounds are what holds today, with a pool that has workers.
func TestDispatchAllAllocatesLittle(t *testing.T) {
	for _, c := range []struct {
		n    int
		most float64
	}{{1, 7}, {8, 7}} {
		calls := make([]composite.Call, c.n)
		for i := range calls {
			calls[i] = composite.Call{Runner: noop}
		}
		ctx, ended, o := t.Context(), 0, &composite.DispatchOptions{Pool: pool.New()}
		assert.LessOrEqual(t, allocs.PerRun(200, func() {
			composite.DispatchAll(ctx, calls, o, func(int, composite.Completion) { ended++ })
		}), c.most, "%+v", c)
		assert.Equal(t, 201*c.n, ended)
		o.Pool.Wait()
	}
}

func BenchmarkDispatchAll(b *testing.B) {
	for _, n := range []int{1, 8, 1000} {
		calls := make([]composite.Call, n)
		for i := range calls {
			calls[i] = composite.Call{Runner: noop}
		}
		b.Run(fmt.Sprintf("conc pool/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := pool.New().WithMaxGoroutines(32)
				out := make([]message.ToolResult, n)
				for i := range calls {
					p.Go(func() { out[i] = calls[i].Runner.Run(b.Context(), nil) })
				}
				p.Wait()
			}
		})
		b.Run(fmt.Sprintf("DispatchAll/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				composite.DispatchAll(b.Context(), calls, nil, nil)
			}
		})
	}
	calls := make([]composite.Call, 16)
	for i := range calls {
		calls[i] = sleep(5*time.Millisecond, "")
	}
	b.Run("16 x 5 ms limit", func(b *testing.B) {
		for b.Loop() {
			var wg sync.WaitGroup
			for _, c := range calls {
				wg.Go(func() { c.Runner.Run(b.Context(), nil) })
			}
			wg.Wait()
		}
	})
	b.Run("16 x 5 ms", func(b *testing.B) {
		for b.Loop() {
			composite.DispatchAll(b.Context(), calls, nil, nil)
		}
	})
}
