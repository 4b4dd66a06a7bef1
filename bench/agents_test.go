package bench_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/bench"
	"github.com/grapnel-go/grapnel/bench/work"
)

const manyAgents = 10_000

// BenchmarkAgents is so many agents that share 64 tools, registered and each with a
// conversation of one turn. One operation is all of them. heap-B/agent is what an
// agent and its conversation hold, without what they share; registered-ns/agent is
// the time of the registrations alone.
func BenchmarkAgents(b *testing.B) {
	for _, subject := range bench.Subjects {
		if bench.Lacks("Agents", subject.Name) != "" {
			continue
		}
		b.Run(subject.Name, func(b *testing.B) {
			b.ReportAllocs()
			var sum agentsCost
			n := 0
			for b.Loop() {
				cost, err := registerAndSend(b.Context(), subject, manyAgents)
				if err != nil {
					b.Fatal(err)
				}
				sum.heap += cost.heap
				sum.registered += cost.registered
				n += manyAgents
			}
			b.ReportMetric(float64(sum.heap)/float64(n), "heap-B/agent")
			b.ReportMetric(float64(sum.registered.Nanoseconds())/float64(n), "registered-ns/agent")
		})
	}
}

// Who is left out because so many would take too long shows that a few do it.
func TestEverySubjectHasAgents(t *testing.T) {
	for _, subject := range bench.Subjects {
		if subject.Agents == nil && bench.Lacks("Agents", subject.Name) != "" {
			continue
		}
		t.Run(subject.Name, func(t *testing.T) {
			require.NotNil(t, subject.Agents, "it has no agents, and bench.Missing does not say why")
			cost, err := registerAndSend(t.Context(), subject, 10)
			require.NoError(t, err)
			require.Positive(t, cost.registered)
		})
	}
}

type agentsCost struct {
	heap       int64 // bytes
	registered time.Duration
}

// registerAndSend registers n agents and has each do a turn. It measures the heap
// while all of them are there, twice collected.
func registerAndSend(ctx context.Context, subject work.Subject, n int) (agentsCost, error) {
	set, err := subject.Agents(ctx, work.Scoped)
	if err != nil {
		return agentsCost{}, err
	}
	before := heap()
	begun := time.Now()
	for i := range n {
		if err := set.Register(ctx, i); err != nil {
			return agentsCost{}, fmt.Errorf("agent %d: %w", i, err)
		}
	}
	cost := agentsCost{registered: time.Since(begun)}
	for i := range n {
		if err := set.Send(ctx, i); err != nil {
			return agentsCost{}, fmt.Errorf("the turn of agent %d: %w", i, err)
		}
	}
	cost.heap = heap() - before
	if set.Close != nil {
		err = set.Close()
	}
	runtime.KeepAlive(set)
	return cost, err
}

// heap is how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
