package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
)

// Results are what a run has measured, as it stands in docs/performance.json. The
// page is written from it alone. The names of its fields stay as they are.
type Results struct {
	// Date is the day of the run in UTC: 2006-01-02.
	Date string `json:"date"`
	// Revision is the commit that was measured; "+" behind it if files had been
	// changed since.
	Revision string  `json:"revision"`
	Machine  Machine `json:"machine"`
	// Go is the version that has compiled everything.
	Go string `json:"go"`
	// Peers are the modules that were measured beside ours.
	Peers []Module `json:"peers"`
	// Seconds is how long the run took, with compiling.
	Seconds float64 `json:"seconds"`
	// Benchmarks are sorted by nothing: they stand in the order of the run.
	Benchmarks []Benchmark `json:"benchmarks"`
	// Shares say where the time of our own turns goes.
	Shares []Share `json:"shares"`
}

// Machine is what the run ran on.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPU  string `json:"cpu"`
	// Processors is how many goroutines could run at once: GOMAXPROCS.
	Processors int `json:"processors"`
}

// Module is a module of a peer and the version that was measured.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// Benchmark is what one benchmark has reported.
type Benchmark struct {
	// Name is that of the benchmark with its package: "bench.Turn/tools=64/grapnel".
	Name string `json:"name"`
	// Units are the figures by unit, as testing prints it: "ns/op", "B/op",
	// "allocs/op", and what the benchmark reports besides.
	Units map[string]Figure `json:"units"`
}

// Figure is what was seen of one unit.
type Figure struct {
	Median float64 `json:"median"`
	// Low and High are the 10th and the 90th percentile of the rounds.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// N is the number of rounds.
	N int `json:"n"`
	// Rounds are the values in the order of the rounds: the same place in two
	// benchmarks was measured close together.
	Rounds []float64 `json:"rounds"`
}

// Share is where the time of one benchmark goes.
type Share struct {
	// Name is that of the benchmark.
	Name string `json:"name"`
	// Title is what the chart calls it.
	Title string `json:"title"`
	// Samples is how many times the profiler has looked.
	Samples int64 `json:"samples"`
	// Parts are shares of 1, in the order of the classes.
	Parts []Part `json:"parts"`
}

// Part is what one class takes of the time.
type Part struct {
	Class string  `json:"class"`
	Share float64 `json:"share"`
}

// newFigure is the figure of the values of all rounds.
func newFigure(rounds []float64) Figure {
	sorted := slices.Sorted(slices.Values(rounds))
	return Figure{
		Median: quantile(sorted, 0.5), Low: quantile(sorted, 0.1), High: quantile(sorted, 0.9), N: len(rounds), Rounds: rounds,
	}
}

// quantile of sorted values, between two of them in proportion; 0 if there are none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below+1 == len(sorted) {
		return sorted[below]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}

// paired is the figure of what f makes of two figures round by round, so that
// what slows a round down slows both; false if they have not the same rounds.
func paired(a, b Figure, f func(a, b float64) float64) (Figure, bool) {
	if a.N == 0 || a.N != b.N {
		return Figure{}, false
	}
	rounds := make([]float64, a.N)
	for i := range rounds {
		rounds[i] = f(a.Rounds[i], b.Rounds[i])
	}
	return newFigure(rounds), true
}

// over is how many times b's value a's is; a b of zero counts as the smallest
// thing that is not nothing, one.
func over(a, b float64) float64 {
	if b == 0 {
		b = 1
	}
	return a / b
}

// find returns the benchmark of that name; false if it was not measured.
func (r *Results) find(name string) (Benchmark, bool) {
	i := slices.IndexFunc(r.Benchmarks, func(b Benchmark) bool { return b.Name == name })
	if i < 0 {
		return Benchmark{}, false
	}
	return r.Benchmarks[i], true
}

func readResults(path string) (*Results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	r := new(Results)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read the results in %s: %w", path, err)
	}
	return r, nil
}

func (r *Results) write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	text = numbers.ReplaceAllFunc(text, func(list []byte) []byte {
		return spaces.ReplaceAll(list, nil)
	})
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// numbers are lists that would take a line for each number.
var (
	numbers = regexp.MustCompile(`\[[-+.,eE\d\s]+\]`)
	spaces  = regexp.MustCompile(`\s+`)
)
