package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFigure(t *testing.T) {
	rounds := []float64{11, 1, 10, 2, 9, 3, 8, 4, 7, 5, 6}
	assert.Equal(t, Figure{Median: 6, Low: 2, High: 10, N: 11, Rounds: rounds}, newFigure(rounds))
	assert.Equal(t, Figure{Median: 1.5, Low: 1.1, High: 1.9, N: 2, Rounds: []float64{1, 2}}, newFigure([]float64{1, 2}))
	assert.Equal(t, Figure{Median: 4, Low: 4, High: 4, N: 1, Rounds: []float64{4}}, newFigure([]float64{4}))
}

// A round in which everything takes three times as long says nothing about the ratio.
func TestRatiosArePaired(t *testing.T) {
	ours, theirs := newFigure([]float64{10, 30, 11}), newFigure([]float64{20, 60, 22})
	f, ok := paired(theirs, ours, over)
	require.True(t, ok)
	assert.Equal(t, []float64{2, 2, 2}, f.Rounds)
	_, ok = paired(theirs, newFigure([]float64{10}), over)
	assert.False(t, ok, "other rounds")
	_, ok = paired(Figure{}, Figure{}, over)
	assert.False(t, ok, "nothing")
	assert.InDelta(t, 7, over(7, 0), 0, "seven allocations against none")
}

func TestResultsAreReadAsTheyWereWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "performance.json")
	want := fixed()
	require.NoError(t, want.write(path))
	got, err := readResults(path)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// fixed are results that no machine has measured, for the tests of what is made of
// results.
func fixed() *Results {
	b := func(name string, ns, bytes, count float64) Benchmark {
		return Benchmark{Name: name, Units: map[string]Figure{
			nanoseconds: newFigure([]float64{ns, 1.1 * ns, 0.9 * ns}), bytesPerOp: newFigure([]float64{bytes, bytes, bytes}), allocs: newFigure([]float64{count, count, count}),
		}}
	}
	r := &Results{
		Date: "2026-01-02", Revision: "0123456", Go: "go1.26.0", Seconds: 754,
		Machine: Machine{OS: "linux", Arch: "amd64", CPU: "Some CPU", Processors: 2},
		Peers:   []Module{{"github.com/cloudwego/eino", "v0.7.36"}, {"github.com/firebase/genkit/go", "v1.4.0"}},
		Shares: []Share{{Name: "runtime.Turn/tools=1/calls=1/history=1", Title: "one subsystem, 1 call", Samples: 200, Parts: []Part{
			{classModel, 0.25}, {classLoop, 0.5}, {classRuntime, 0.2}, {classOther, 0.05},
		}}},
	}
	for _, tools := range []string{"1", "8", "64", "512"} {
		group := "bench.Turn/tools=" + tools + "/"
		r.Benchmarks = append(r.Benchmarks, b(group+"grapnel", 20e3, 3900, 24), b(group+"limit", 10e3, 3000, 16),
			b(group+"eino-react", 90e3, 30e3, 213), b(group+"eino-adk", 400e3, 90e3, 800), b(group+"langchaingo", 95e3, 30e3, 400))
		if tools != "512" {
			r.Benchmarks = append(r.Benchmarks, b(group+"genkit", 2e6, 900e3, 9000))
		}
	}
	r.Benchmarks = append(r.Benchmarks, b(oneCall, 20e3, 3900, 24), b(handTurn1, 10e3, 3000, 16), b(oneCall512, 20e3, 3900, 24), b(oneCall64, 20e3, 3900, 24),
		b("composites.EightDeciders/generated", 50, 0, 0), b("composites.EightDeciders/limit", 10, 0, 0))
	return r
}

// set changes one unit of one benchmark.
func (r *Results) set(name, unit string, v float64) *Results {
	i := slices.IndexFunc(r.Benchmarks, func(b Benchmark) bool { return b.Name == name })
	r.Benchmarks[i].Units[unit] = newFigure([]float64{v, v, v})
	return r
}
