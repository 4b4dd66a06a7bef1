package bench_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/bench"
	"github.com/grapnel-go/grapnel/bench/work"
)

// scenario is a benchmark of turns: cases of it, in the order in which they grow.
type scenario struct {
	name  string
	cases []named
}

type named struct {
	name string // "tools=8"; "" if there is one
	turn work.Turn
}

func each(key string, values []int, set func(*work.Turn, int)) []named {
	var out []named
	for _, v := range values {
		t := work.Turn{Tools: 1, Calls: 1}
		set(&t, v)
		out = append(out, named{fmt.Sprintf("%s=%d", key, v), t})
	}
	return out
}

func one(t work.Turn) []named { return []named{{"", t}} }

var (
	turns   = scenario{"Turn", each("tools", []int{1, 8, 64, 512}, func(t *work.Turn, n int) { t.Tools = n })}
	calls   = scenario{"TurnCalls", each("calls", []int{8}, func(t *work.Turn, n int) { t.Calls = n })}
	history = scenario{"TurnHistory", each("messages", []int{1, 100, 10_000}, func(t *work.Turn, n int) { t.Messages = n })}
	hooks   = scenario{"TurnHooks", each("hooks", []int{0, 1, 8, 64}, func(t *work.Turn, n int) { t.Hooks = n })}
	wait    = scenario{"Wait", one(work.Turn{Tools: 1, Calls: 16, Wait: 5 * time.Millisecond})}
	step    = scenario{"Step", one(work.Turn{Tools: 1, Calls: 1000})}
	deltas  = scenario{"Deltas", one(work.Turn{Tools: 1, Deltas: 1000})}

	scenarios = []scenario{turns, calls, history, hooks, wait, step, deltas}
)

func (s scenario) bench(b *testing.B) {
	for _, c := range s.cases {
		for _, subject := range bench.Subjects {
			if bench.Lacks(s.name, subject.Name) != "" {
				continue
			}
			b.Run(c.join(subject.Name), func(b *testing.B) {
				r, err := subject.Start(b.Context(), c.turn)
				require.NoError(b, err)
				defer closing(b, r)
				require.NoError(b, r.Send(b.Context(), 0)) // what is done once is not counted
				b.ReportAllocs()
				for b.Loop() {
					if err := r.Send(b.Context(), 0); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func (c named) join(subject string) string {
	if c.name == "" {
		return subject
	}
	return c.name + "/" + subject
}

func closing(tb testing.TB, r *work.Running) {
	if r.Close != nil {
		require.NoError(tb, r.Close())
	}
}

func BenchmarkTurn(b *testing.B)        { turns.bench(b) }
func BenchmarkTurnCalls(b *testing.B)   { calls.bench(b) }
func BenchmarkTurnHistory(b *testing.B) { history.bench(b) }
func BenchmarkTurnHooks(b *testing.B)   { hooks.bench(b) }
func BenchmarkWait(b *testing.B)        { wait.bench(b) }
func BenchmarkStep(b *testing.B)        { step.bench(b) }
func BenchmarkDeltas(b *testing.B)      { deltas.bench(b) }

// BenchmarkConcurrent is turns of 64 conversations at the same time.
func BenchmarkConcurrent(b *testing.B) {
	for _, store := range []string{"memory", "sqlite"} {
		for _, subject := range bench.Subjects {
			if bench.Lacks("Concurrent/store="+store, subject.Name) != "" {
				continue
			}
			b.Run("store="+store+"/"+subject.Name, func(b *testing.B) {
				r, err := subject.Start(b.Context(), concurrent(b, store))
				require.NoError(b, err)
				defer closing(b, r)
				require.NoError(b, atOnce(b.Context(), r, 4*conversations)) // what is done once is not counted
				b.ReportAllocs()
				b.ResetTimer()
				require.NoError(b, atOnce(b.Context(), r, b.N))
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
			})
		}
	}
}

const conversations = 64

func concurrent(tb testing.TB, store string) work.Turn {
	t := work.Turn{Tools: 1, Calls: 1, Conversations: conversations}
	if store == "sqlite" {
		t.Dir = tb.TempDir()
	}
	return t
}

// atOnce does n turns in all conversations at the same time.
func atOnce(ctx context.Context, r *work.Running, n int) error {
	var left atomic.Int64
	left.Store(int64(n))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range conversations {
		wg.Go(func() {
			for ctx.Err() == nil && left.Add(-1) >= 0 {
				if err := r.Send(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
