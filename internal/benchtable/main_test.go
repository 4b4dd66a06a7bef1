package main

import (
	"go/format"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const output = `goos: linux
pkg: github.com/grapnel-go/grapnel/runtime
cpu: Some CPU
BenchmarkTurn/limit-2   	     100	      1000 ns/op	     100 B/op	       7 allocs/op
BenchmarkTurn/calls=1-2 	     100	      3000 ns/op	     100 B/op	       9 allocs/op
PASS
pkg: github.com/grapnel-go/grapnel/runtime
BenchmarkTurn/limit-2   	     100	      4000 ns/op	     100 B/op	       7 allocs/op
BenchmarkTurn/calls=1-2 	     100	      8000 ns/op	     102 B/op	      10 allocs/op
BenchmarkTurn/calls=1-2 	     interrupted
`

func TestParse(t *testing.T) {
	r := parse(output)
	assert.Equal(t, "Some CPU", r.cpu)
	turn := r.each["runtime.Turn/calls=1"]
	assert.Equal(t, figures{nanoseconds: {3000, 8000}, bytesPerOp: {100, 102}, allocs: {9, 10}}, turn)
	assert.InDelta(t, 2.5, turn.ratio(r.each["runtime.Turn/limit"]), 1e-9, "round by round: 3 and 2")
	assert.InDelta(t, 5500, turn.median(nanoseconds), 1e-9)
	assert.Zero(t, turn.ratio(nil))
	assert.Zero(t, turn.median("heap-B/agent"))
}

func TestPage(t *testing.T) {
	page, unexplained := writePage([]row{
		{what: "kept", bench: "runtime.Turn/calls=1", limit: "runtime.Turn/limit", budget: []bound{{ratio, 2.5}, {allocs, 10}}},
		{what: "missed", bench: "runtime.Turn/calls=1", limit: "runtime.Turn/limit", budget: []bound{{ratio, 2}, {nanoseconds, 6000}}, why: "Because."},
		{what: "missed too", bench: "runtime.Turn/calls=1", budget: []bound{{allocs, 9}}, why: "Because."},
		{what: "gone", bench: "runtime.Gone", budget: []bound{{bytesPerOp, 9}}},
		{what: "free", bench: "runtime.Turn/limit"},
	}, parse(output))
	assert.Contains(t, page, "| kept | 5.5 µs | 2.5 µs | 2.50× | 10 | 101 | ≤ 2.5×, ≤ 10 | yes |\n")
	assert.Contains(t, page, "| missed | 5.5 µs | 2.5 µs | 2.50× | 10 | 101 | ≤ 2×, ≤ 6 µs | no: ratio |\n")
	assert.Contains(t, page, "| missed too | 5.5 µs |  |  | 10 | 101 | ≤ 9 | no: allocations |\n")
	assert.Contains(t, page, "| gone |  |  |  |  |  | ≤ 9 B | no: not measured |\n")
	assert.Contains(t, page, "| free | 2.5 µs |  |  | 7 | 100 |  |  |\n")
	assert.Equal(t, 1, strings.Count(page, "Because."), "an explanation is given once")
	assert.Equal(t, []string{"gone"}, unexplained)
}

func TestDurationsHaveThreeDigits(t *testing.T) {
	for ns, want := range map[float64]string{0: "", 0.7: "0.7 ns", 12.34: "12.3 ns", 999: "999 ns", 1000: "1 µs", 123456: "123 µs", 5.37e6: "5.37 ms"} {
		assert.Equal(t, want, duration(ns))
	}
}

func TestEveryRowHasAReasonReady(t *testing.T) {
	for _, r := range rows {
		assert.Equal(t, len(r.budget) > 0, r.why != "", r.what)
	}
}

func TestRoutesAreGoSource(t *testing.T) {
	for _, text := range []string{toolsSource(8), benchSource(8)} {
		formatted, err := format.Source([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, string(formatted), text)
	}
	assert.Equal(t, 64, strings.Count(toolsSource(64), "//hook:tool"))
}
