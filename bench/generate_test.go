package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/bench/generate"
)

// BenchmarkGenerate measures generators as processes, with a warm build cache, from
// a tree in which nothing of theirs is; hookgen-check compares a tree that is up to
// date. What a run has written is checked untimed. cpu-ms/op is the processor time of
// the process and of the go command that it runs. Allocations are not reported: they
// would be those of this process.
func BenchmarkGenerate(b *testing.B) {
	for _, packages := range []int{1, 10} {
		b.Run(fmt.Sprintf("packages=%d", packages), func(b *testing.B) {
			m := generate.New(b, packages)
			for _, g := range generate.Generators() {
				b.Run(g.Name, func(b *testing.B) {
					var used time.Duration
					for b.Loop() {
						b.StopTimer()
						require.NoError(b, m.Clean(g))
						b.StartTimer()
						cpu, err := m.Run(b.Context(), g)
						b.StopTimer()
						require.NoError(b, err)
						used += cpu
						require.NoError(b, m.Check(g))
						b.StartTimer()
					}
					b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
				})
			}
		})
	}
}

func TestGenerate(t *testing.T) {
	m := generate.New(t, 2)
	for _, g := range generate.Generators() {
		t.Run(g.Name, func(t *testing.T) {
			require.NoError(t, m.Clean(g))
			cpu, err := m.Run(t.Context(), g)
			require.NoError(t, err)
			assert.Positive(t, cpu)
			assert.NoError(t, m.Check(g))
		})
	}
}

// A generator that does not write is found, and so is a check of what is stale.
func TestWhatIsNotGeneratedIsFound(t *testing.T) {
	m := generate.New(t, 1)
	for _, g := range generate.Generators() {
		require.NoError(t, m.Clean(g))
		if g.Checks() {
			require.NoError(t, m.Clean(generate.Generators()[0]))
			_, err := m.Run(t.Context(), g)
			assert.Error(t, err, "%s has taken a missing file for one that is up to date", g.Name)
			continue
		}
		assert.Error(t, m.Check(g), "%s does nothing", g.Name)
		_, err := m.Run(t.Context(), g)
		require.NoError(t, err)
		require.NoError(t, m.Check(g))
	}
}
