package toolrun_test

import (
	"context"
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
	"github.com/grapnel-go/grapnel/runtime/internal/toolrun"
)

func TestResultsByIndexAndCompletionsInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, toolrun.Options{Slots: 8, Abandoned: 1}, nil)
		ends, order := b.runAll(t.Context(), b.runs(sleeps("slow", time.Minute), sleeps("b", 2*time.Second), sleeps("c", time.Second)))
		assert.Equal(t, []int{2, 1, 0}, order)
		assert.Equal(t, composite.Completion{Result: message.TextResult("slow"), Outcome: message.OutcomeExecuted, Duration: time.Minute}, ends[0])
		assert.Equal(t, "b", ends[1].Result.Text())
		b.close()
	})
}

func TestCallsStartInTheirOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, toolrun.Options{Slots: 1, Abandoned: 1}, nil)
	for range 50 {
		var began []string
		tools := make([]tool, 8)
		for i := range tools {
			tools[i] = tool{message.Tool{Name: "x"}, func(_ context.Context, env *hook.Env) message.ToolResult {
				began = append(began, env.Call.ID())
				return message.ToolResult{}
			}}
		}
		b.all(t.Context(), tools...)
		assert.IsIncreasing(t, began)
		assert.Len(t, began, 8)
	}
	b.close()
}

func TestSlotsBoundAllTurnsAndWaitingToolsTakeNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, toolrun.Options{Slots: 2, Abandoned: 1}, nil)
		var o overlap
		waits := sleeps("waits", time.Hour)
		waits.Waits = true
		works := o.of(sleeps("works", time.Second))
		began := time.Now()
		var turns sync.WaitGroup
		for range 2 {
			turns.Go(func() {
				for _, end := range b.all(t.Context(), waits, works, works, works) {
					assert.Equal(t, message.OutcomeExecuted, end.Outcome)
				}
			})
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		assert.EqualValues(t, 6, o.starts.Load())
		assert.Zero(t, o.running.Load(), "two at once, six calls, three seconds")
		turns.Wait()
		assert.Equal(t, time.Hour, time.Since(began))
		assert.EqualValues(t, 2, o.most.Load())
		b.close()
	})
}

func TestACallIsCancelledWhileItQueues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, toolrun.Options{Slots: 1, Abandoned: 1}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ends := b.all(ctx, sleeps("x", time.Hour), says("y"))
		assert.Equal(t, message.OutcomeInterrupted, ends[0].Outcome)
		assert.Equal(t, time.Second, ends[0].Duration)
		assert.Equal(t, composite.Completion{Result: message.FailedResult(message.FailCancelled, "cancelled before it started"), Outcome: message.OutcomeCancelled}, ends[1])
		b.close()
	})
}

func TestAnAbandonedCallGivesItsSlotBackAndKeepsItsKey(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ limit, cancel time.Duration }{
		"time limit": {limit: time.Minute}, "cancelled": {cancel: time.Minute}, "both": {time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, release := newBench(t, toolrun.Options{Slots: 1, Abandoned: 3}, nil), make(chan struct{})
				var o overlap
				hangs, next := o.of(deaf("hangs", release)), o.of(says("next"))
				hangs.Exclusive, hangs.Timeout, next.Exclusive = "key", tc.limit, "key"
				ctx, cancel := t.Context(), func() {}
				if tc.cancel > 0 {
					ctx, cancel = context.WithTimeout(ctx, tc.cancel)
				}
				defer cancel()
				began := time.Now()
				end := b.all(ctx, hangs)[0]
				assert.Equal(t, time.Minute+grace, time.Since(began))
				assert.Contains(t, end.Result.Text(), "is not known")
				synctest.Wait()
				assert.Equal(t, []abandoned.Work{{Tool: "hangs", Count: 1}}, b.runner.Abandoned())
				assert.Equal(t, "free", b.all(t.Context(), says("free"))[0].Result.Text(), "its slot is free")
				time.AfterFunc(time.Hour, func() { close(release) })
				end = b.all(t.Context(), next)[0]
				assert.Equal(t, composite.Completion{Result: message.TextResult("next"), Outcome: message.OutcomeExecuted}, end, "queueing does not count")
				assert.Equal(t, time.Hour+time.Minute+grace, time.Since(began))
				assert.Equal(t, []string{`waits for call 0 of hangs, which has the key "key"`}, b.host.all())
				assert.EqualValues(t, 1, o.most.Load())
				assert.Empty(t, b.runner.Abandoned())
				b.close()
			})
		})
	}
}

func TestTheKeyIsFreeWhenTheToolFails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"panic": func() { panic("secret") }, "goexit": goruntime.Goexit} {
		for _, limit := range []time.Duration{0, time.Minute} {
			t.Run(name+" "+limit.String(), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, toolrun.Options{Slots: 1, Abandoned: 1}, nil)
				bad := does("bad", func(context.Context) message.ToolResult { fail(); return message.ToolResult{} })
				good := says("good")
				bad.Exclusive, bad.Timeout, good.Exclusive = "key", limit, "key"
				ends := b.all(t.Context(), bad, good)
				assert.Equal(t, composite.PanicResult(), ends[0].Result)
				assert.Equal(t, message.OutcomePanicked, ends[0].Outcome)
				assert.Equal(t, "good", ends[1].Result.Text())
				b.close()
			})
		}
	}
}

func TestACallThatWaitsForAKeyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, toolrun.Options{Slots: 2, Abandoned: 1}, nil)
		x := sleeps("x", time.Hour)
		x.Exclusive = "key"
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ends, order := b.runAll(ctx, b.runs(x, x))
		last := ends[order[0]]
		if last.Outcome != message.OutcomeCancelled {
			last = ends[order[1]]
		}
		assert.Equal(t, message.OutcomeCancelled, last.Outcome)
		assert.Contains(t, last.Result.Text(), "cancelled before it started: it waited for call ")
		assert.Zero(t, last.Duration)
		b.close()
	})
}

func TestAToolWithTooManyAbandonedCallsFailsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, release := newBench(t, toolrun.Options{Slots: 1, Abandoned: 2}, nil), make(chan struct{})
		hangs := deaf("hangs", release)
		hangs.Timeout = time.Second
		ends := b.all(t.Context(), hangs, hangs, hangs, says("other"))
		assert.Equal(t, message.OutcomeTimedOut, ends[1].Outcome)
		assert.Equal(t, composite.Completion{
			Result:  message.FailedResult(message.FailOperation, "2 calls of hangs have not ended; it runs again when one of them has"),
			Outcome: message.OutcomeFailed,
		}, ends[2])
		assert.Equal(t, "other", ends[3].Result.Text())
		close(release)
		synctest.Wait()
		assert.Equal(t, "late", b.all(t.Context(), hangs)[0].Result.Text(), "the tool runs again")
		b.close()
	})
}

// The call before it is abandoned while it waits for the slot.
func TestACallThatQueuesFailsWhenItsToolGetsCrowded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, release := newBench(t, toolrun.Options{Slots: 1, Abandoned: 1}, nil), make(chan struct{})
		hangs := deaf("hangs", release)
		hangs.Timeout = time.Second
		var first sync.WaitGroup
		first.Go(func() { b.all(t.Context(), hangs) })
		synctest.Wait()
		assert.Equal(t, message.FailOperation, b.all(t.Context(), hangs)[0].Result.Failure)
		first.Wait()
		assert.Equal(t, "free", b.all(t.Context(), says("free"))[0].Result.Text(), "the slot is free")
		close(release)
		b.close()
	})
}

// A call that has its key and waits for a slot frees the key when it is cancelled, and says
// nothing of the key for which it had to wait before.
func TestACallThatIsCancelledBeforeItsSlotFreesItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, toolrun.Options{Slots: 2, Abandoned: 1}, nil)
		holder, waits, other := sleeps("holder", time.Minute), says("waits"), sleeps("other", time.Hour)
		holder.Exclusive, waits.Exclusive = "key", "key"
		var before sync.WaitGroup
		before.Go(func() { b.all(t.Context(), holder) })
		synctest.Wait()
		before.Go(func() { b.all(t.Context(), other) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		before.Go(func() { time.Sleep(30 * time.Second); b.all(t.Context(), other) }) // has the holder's slot
		assert.Equal(t, "cancelled before it started", b.all(ctx, waits)[0].Result.Text())
		before.Wait()
		assert.Equal(t, "waits", b.all(t.Context(), waits)[0].Result.Text(), "the key is free")
		b.close()
	})
}

func TestCloseSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, release := newBench(t, toolrun.Options{Slots: 3, Abandoned: 3}, nil), make(chan struct{})
		a, c := deaf("a", release), deaf("c", release)
		a.Timeout = time.Second
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b.all(ctx, c, a, a)
		short, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		began := time.Now()
		assert.Equal(t, []abandoned.Work{{Tool: "a", Count: 2}, {Tool: "c", Count: 1}}, b.runner.Close(short))
		assert.Equal(t, time.Minute, time.Since(began))
		close(release)
	})
}

func TestCloseWaitsForAbandonedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, release := newBench(t, toolrun.Options{Slots: 1, Abandoned: 1}, nil), make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b.all(ctx, deaf("a", release))
		time.AfterFunc(time.Hour, func() { close(release) })
		began := time.Now()
		b.close()
		assert.Equal(t, time.Hour, time.Since(began))
	})
}

// A tool of an abandoned call may do anything, also after Close and with further calls of
// its step behind it.
func TestAnAbandonedCallEndsItsGoroutineAfterClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, release := newBench(t, toolrun.Options{Slots: 1, Abandoned: 1}, nil), make(chan struct{})
		x := does("x", func(context.Context) message.ToolResult { <-release; goruntime.Goexit(); return message.ToolResult{} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ends := b.all(ctx, x, says("y"))
		assert.Equal(t, message.OutcomeCancelled, ends[1].Outcome)
		require.Len(t, b.runner.Close(ctx), 1)
		close(release)
		synctest.Wait()
		assert.Empty(t, b.runner.Abandoned())
	})
}

// TestRandomCalls: whatever tools and turns do, every call completes once, exclusive calls
// never overlap, and slots and goroutines come back.
func TestRandomCalls(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) { randomCalls(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func randomCalls(t *testing.T, r *rand.Rand) {
	const slots = 3
	b, release := newBench(t, toolrun.Options{Slots: slots, Abandoned: 2}, nil), make(chan struct{})
	var exclusive, slotted overlap
	kinds := []tool{
		says("quick"), sleeps("slow", time.Second), deaf("deaf", release),
		does("panics", func(context.Context) message.ToolResult { panic("broken") }),
		does("exits", func(context.Context) message.ToolResult { goruntime.Goexit(); return message.ToolResult{} }),
	}
	var turns sync.WaitGroup
	var completed atomic.Int32
	total := 0
	for range 6 {
		tools := make([]tool, 1+r.IntN(6))
		for i := range tools {
			x := kinds[r.IntN(len(kinds))]
			if r.IntN(2) == 0 {
				x.Timeout = time.Duration(1+r.IntN(2000)) * time.Millisecond
			}
			switch r.IntN(4) {
			case 0:
				x.Exclusive = "key"
				x = exclusive.of(x)
			case 1:
				x.Waits = true
			case 2:
				if x.Name != "deaf" { // an abandoned one runs without a slot
					x = slotted.of(x)
				}
			}
			tools[i] = x
		}
		total += len(tools)
		after := time.Duration(r.IntN(5000)) * time.Millisecond
		turns.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			_, order := b.runAll(ctx, b.runs(tools...))
			completed.Add(int32(len(order)))
		})
	}
	began := time.Now()
	turns.Wait()
	assert.LessOrEqual(t, time.Since(began), 5*time.Second+grace)
	assert.EqualValues(t, total, completed.Load())
	close(release)
	synctest.Wait()
	assert.Empty(t, b.runner.Abandoned())
	assert.LessOrEqual(t, exclusive.most.Load(), int32(1))
	assert.LessOrEqual(t, slotted.most.Load(), int32(slots))
	began = time.Now()
	nap := sleeps("nap", time.Second)
	b.all(t.Context(), nap, nap, nap)
	assert.Equal(t, time.Second, time.Since(began), "all slots are free")
	b.close()
}
