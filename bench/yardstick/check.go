package main

import (
	"fmt"
	"io"
	"slices"
)

// checked are the units that make bench-check runs, and a choice of the benchmarks
// in them: those that some budget looks at.
func checked() (all []unit, wanted func(name string) bool) {
	var names []string
	for _, w := range budgets {
		if w.limit != bestPeer {
			names = append(names, w.bench, w.limit)
		}
	}
	for _, u := range units() {
		if u.count != "" {
			all = append(all, u)
		}
	}
	return all, func(name string) bool { return slices.Contains(names, name) }
}

// check prints the budgets that are not met and reports how many counts are over
// theirs without a written reason, and how many slopes of time are too steep. It looks at the rows of which anything was measured.
func (r *Results) check(table []row, out io.Writer) (bad int) {
	kept, missed := 0, 0
	for _, w := range table {
		for _, f := range r.findings(w) {
			switch {
			case !f.measured:
			case f.met():
				kept++
			default:
				missed++
				reason := "no reason written"
				switch {
				case f.bound.tooSteep(f.figure):
					reason = fmt.Sprintf("more than %s is a walk, which no reason explains", times(f.bound.worst))
					bad++
				case f.explained():
					reason = w.why
				case f.bound.of.counted:
					bad++
				}
				fmt.Fprintf(out, "%s: %s, seen %s\n    %s\n", w.what, f.bound, spread(f.figure, f.bound.of.text), reason)
			}
		}
	}
	fmt.Fprintf(out, "%d bounds are kept, %d are missed; %d of those are counts without a written reason, or slopes that are too steep\n", kept, missed, bad)
	return bad
}
