package main

import (
	"cmp"
	"slices"
	"strings"
)

// row is a line of the table of budgets.
type row struct {
	what string
	// bench is the benchmark, and limit the one that it is compared with: "" for
	// none, bestPeer for the peer that is best at the same.
	bench, limit string
	budget       []bound
	// why says why a budget is missed and what could be tried next.
	why string
	// unmeasured says why there is no benchmark.
	unmeasured string
}

// bestPeer as the limit of a row is, at every bound, the peer that is best there.
const bestPeer = "best peer"

// bound is one part of a budget.
type bound struct {
	of measure
	// limit is the most that the measure may be, or the least if the measure says
	// so.
	limit float64
	// accepted is the figure up to which the row's reason explains a count that
	// misses its limit; 0 where it explains none. Times drift: for them a reason is
	// enough.
	accepted float64
	// worst is the ratio of times from which on no reason counts: a slope of this size is a walk,
	// on every machine. 0 is none.
	worst float64
}

// measure is what a bound is about.
type measure struct {
	name string
	// counted means that it does not depend on the machine's speed.
	counted bool
	// least means that more is better.
	least bool
	// unit is the one that is looked at, and with what is made of it and the
	// limit's, round by round; nil if there is no limit.
	unit string
	with func(got, limit float64) float64
	text func(float64) string
}

func reversed(a, b float64) float64 { return over(b, a) }
func more(a, b float64) float64     { return a - b }

// The measures of budgets.
var (
	ratio        = measure{name: "ratio", unit: nanoseconds, with: over, text: times}
	faster       = measure{name: "times faster", least: true, unit: nanoseconds, with: reversed, text: times}
	timeOf       = measure{name: "time", unit: nanoseconds, text: duration}
	allocations  = measure{name: "allocations", counted: true, unit: allocs, text: whole}
	moreAllocs   = measure{name: "more allocations", counted: true, unit: allocs, with: more, text: whole}
	bytesRatio   = measure{name: "ratio of bytes", counted: true, unit: bytesPerOp, with: over, text: times}
	heapPerAgent = measure{name: "heap of an agent", counted: true, unit: "heap-B/agent", text: size}
	turnsASecond = measure{name: "turns a second", least: true, unit: "turns/s", text: whole}
	addedBytes   = measure{name: "bytes of the program", counted: true, unit: "added-B", text: size}
)

// of says what the results have of a bound; false if it was not measured.
func (b bound) figure(r *Results, w row) (Figure, bool) {
	got, ok := r.find(w.bench)
	if !ok {
		return Figure{}, false
	}
	f, ok := got.Units[b.of.unit]
	if !ok || b.of.with == nil {
		return f, ok
	}
	limit, ok := r.limit(w, b.of.unit)
	if !ok {
		return Figure{}, false
	}
	return paired(f, limit.Units[b.of.unit], b.of.with)
}

// limit finds what a row is compared with in a unit.
func (r *Results) limit(w row, unit string) (Benchmark, bool) {
	if w.limit != bestPeer {
		return r.find(w.limit)
	}
	of, ok := split(w.bench)
	if !ok {
		return Benchmark{}, false
	}
	return r.best(of.group, unit, false)
}

// best is the peer with the lowest figure of a group in a unit, or with the highest
// where more is better.
func (r *Results) best(group, unit string, rate bool) (Benchmark, bool) {
	var peers []Benchmark
	for _, b := range r.Benchmarks {
		if p, ok := split(b.Name); ok && p.group == group && isPeer(p.subject) && b.Units[unit].N > 0 {
			peers = append(peers, b)
		}
	}
	if len(peers) == 0 {
		return Benchmark{}, false
	}
	return slices.MinFunc(peers, func(a, b Benchmark) int {
		if rate {
			a, b = b, a
		}
		return cmp.Compare(a.Units[unit].Median, b.Units[unit].Median)
	}), true
}

// holds reports whether the figure keeps the bound.
func (b bound) holds(f Figure) bool {
	if b.of.least {
		return f.Median >= b.limit
	}
	return f.Median <= b.limit
}

// explained reports whether a figure that does not hold is one that the row has a
// reason for.
func (b bound) explained(f Figure, why string) bool {
	switch {
	case why == "" || b.tooSteep(f):
		return false
	case !b.of.counted:
		return true
	case b.of.least:
		return b.accepted > 0 && f.Median >= b.accepted
	}
	return f.Median <= b.accepted
}

// tooSteep reports whether the figure is a slope of time that no reason explains.
func (b bound) tooSteep(f Figure) bool { return b.worst > 0 && f.Median > b.worst }

func (b bound) String() string {
	sign := "≤ "
	if b.of.least {
		sign = "≥ "
	}
	text := sign + b.of.text(b.limit)
	switch b.of.name {
	case ratio.name, timeOf.name:
		return text
	}
	return text + " " + strings.TrimPrefix(b.of.name, "times ")
}

// finding is what came of one bound.
type finding struct {
	row   row
	bound bound
	// figure is what was seen; measured is false if nothing was.
	figure   Figure
	measured bool
}

// met reports whether the bound was measured and holds.
func (f finding) met() bool { return f.measured && f.bound.holds(f.figure) }

// explained reports whether somebody has written down why it is not met.
func (f finding) explained() bool { return f.measured && f.bound.explained(f.figure, f.row.why) }

// findings of a row, one for each bound.
func (r *Results) findings(w row) (all []finding) {
	for _, b := range w.budget {
		f, ok := b.figure(r, w)
		all = append(all, finding{row: w, bound: b, figure: f, measured: ok})
	}
	return all
}
