package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const output = `goos: linux
pkg: github.com/grapnel-go/grapnel/bench
cpu: Some CPU
BenchmarkTurn
BenchmarkTurn/tools=1/grapnel-2   	     100	      3000 ns/op	     100 B/op	       9 allocs/op
BenchmarkTurn/tools=1/eino-react-2 	    100	      9000.5 ns/op	   12.5 turns/s	       90 allocs/op
BenchmarkTurn/tools=1/genkit-2 	     interrupted
PASS
`

func TestParse(t *testing.T) {
	lines, cpu := parse(output)
	assert.Equal(t, "Some CPU", cpu)
	assert.Equal(t, []line{
		{name: "bench.Turn/tools=1/grapnel", values: map[string]float64{nanoseconds: 3000, bytesPerOp: 100, allocs: 9}},
		{name: "bench.Turn/tools=1/eino-react", values: map[string]float64{nanoseconds: 9000.5, "turns/s": 12.5, allocs: 90}},
	}, lines)
}

func TestSplit(t *testing.T) {
	p, ok := split("bench.Turn/tools=64/eino-react")
	assert.True(t, ok)
	assert.Equal(t, parts{scenario: "Turn", group: "Turn/tools=64", subject: "eino-react"}, p)
	for _, other := range []string{"runtime.Turn/limit/calls=1", "bench.Turn"} {
		_, ok := split(other)
		assert.False(t, ok, other)
	}
}

func TestFormats(t *testing.T) {
	for ns, want := range map[float64]string{0: "", 0.7: "0.7 ns", 12.34: "12.3 ns", 999: "999 ns", 999.6: "1 µs", 1000: "1 µs", 123456: "123 µs",
		5.37e6: "5.37 ms", 2e9: "2 s", 0.0123: "0.012 ns"} {
		assert.Equal(t, want, duration(ns))
	}
	for bytes, want := range map[float64]string{0: "0 B", 9999: "9,999 B", 12345: "12.3 kB", 8.6e6: "8.6 MB"} {
		assert.Equal(t, want, size(bytes))
	}
	assert.Equal(t, "-1,234,567", whole(-1234567))
	assert.Equal(t, "21 µs (9.5–22 µs)", spread(Figure{Median: 21e3, Low: 9.5e3, High: 22e3}, duration))
	assert.Equal(t, "21 µs (900 ns–22 µs)", spread(Figure{Median: 21e3, Low: 900, High: 22e3}, duration))
	assert.Equal(t, "1.5× (1.2–2×)", spread(Figure{Median: 1.5, Low: 1.2, High: 2}, times))
	assert.Equal(t, "24", spread(Figure{Median: 24, Low: 24, High: 24}, whole))
	assert.Equal(t, ", 10,000 messages", sizes("TurnHistory/messages=10000"))
	assert.Equal(t, ", 1 tool", sizes("Turn/tools=1"))
	assert.Equal(t, ", store sqlite", sizes("Concurrent/store=sqlite"))
}

func TestChoice(t *testing.T) {
	c, err := choose("Turn$/tools=(1|8)$")
	require.NoError(t, err)
	for name, want := range map[string]bool{
		"bench.Turn": true, "bench.Turn/tools=8": true, "bench.Turn/tools=8/genkit": true, "bench.TurnHooks/tools=8": false, "bench.Turn/tools=64/genkit": false,
	} {
		assert.Equal(t, want, c.takes(name), name)
	}
	assert.Equal(t, []string{"Turn"}, c.of(&unit{dir: "bench", names: "Turn TurnCalls"}))
	_, err = choose("(")
	require.ErrorContains(t, err, "-only")
}

func TestExactly(t *testing.T) {
	assert.Equal(t, `^BenchmarkTurn$/^tools=64$/^eino-react$`, exactly("bench.Turn/tools=64/eino-react"))
	assert.Equal(t, `^BenchmarkDispatchAll$/^16_x_5_ms$`, exactly("composite.DispatchAll/16_x_5_ms"))
}
