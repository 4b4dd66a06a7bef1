package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

const head = `# Performance

Written by ` + "`make bench`" + ` (internal/benchtable). Times and ratios are medians of several short rounds; times drift with the
machine and with what else runs on it; what counts is the ratio to the limit, which is hand-written code that does the
same work and was measured in the same round, and the allocations, which are exact. Allocation budgets are
tests (` + "`testing.AllocsPerRun`" + `).

`

const legend = `
**limit**: the time of the hand-written code, or of what the row names. **ratio**: figure by limit. A budget without a
unit counts allocations. Dispatch is routing and binding (the decoding of the arguments included) against the owner's
binding called by hand; the check of an agent's scope is the runtime's and part of the turn. The limit of a turn keeps
a history and runs the calls concurrently as well, but has no points, scope or isolation of hooks, and only
two kinds of event.
`

// writePage returns the page and the rows that miss a budget without saying why.
func writePage(rows []row, r results) (page string, unexplained []string) {
	var b, missed strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, "%s, %s/%s, %d processors: %s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), r.cpu)
	b.WriteString("| what | figure | limit | ratio | allocations | bytes | budget | met |\n|---|---|---|---|---|---|---|---|\n")
	told := map[string]bool{}
	for _, row := range rows {
		got, lim := r.each[row.bench], r.each[row.limit]
		met := row.verdict(got, lim)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", row.what, row.figure(got),
			duration(lim.median(nanoseconds)), ratioText(got, lim), whole(got, allocs), whole(got, bytesPerOp), row.budgetText(), met)
		if !strings.HasPrefix(met, "no") {
			continue
		}
		if row.why == "" {
			unexplained = append(unexplained, row.what)
		} else if !told[row.why] {
			told[row.why] = true
			fmt.Fprintf(&missed, "**%s.** %s\n\n", row.what, row.why)
		}
	}
	b.WriteString(legend)
	if missed.Len() > 0 {
		b.WriteString("\n## Missed budgets\n\n" + missed.String())
	}
	return strings.TrimRight(b.String(), "\n") + "\n", unexplained
}

// verdict says whether all bounds hold, and which do not.
func (r row) verdict(got, lim figures) string {
	if len(r.budget) == 0 {
		return ""
	}
	if got == nil {
		return "no: not measured"
	}
	var over []string
	for _, b := range r.budget {
		v := got.median(b.unit)
		if b.unit == ratio {
			v = got.ratio(lim)
		}
		if v > b.most {
			over = append(over, b.name())
		}
	}
	if over == nil {
		return "yes"
	}
	return "no: " + strings.Join(over, ", ")
}

func (b bound) name() string {
	switch b.unit {
	case ratio:
		return "ratio"
	case nanoseconds:
		return "time"
	case allocs:
		return "allocations"
	}
	return "bytes"
}

func (r row) budgetText() string {
	var parts []string
	for _, b := range r.budget {
		text := strconv.FormatFloat(b.most, 'f', -1, 64)
		switch b.unit {
		case ratio:
			text += "×"
		case nanoseconds:
			text = duration(b.most)
		case allocs:
		default:
			text += " B"
		}
		parts = append(parts, "≤ "+text)
	}
	return strings.Join(parts, ", ")
}

func (r row) figure(got figures) string {
	if heap := whole(got, heapPerAgent); heap != "" {
		return heap + " B"
	}
	return duration(got.median(nanoseconds))
}

func ratioText(got, lim figures) string {
	if v := got.ratio(lim); v != 0 {
		return fmt.Sprintf("%.2f×", v)
	}
	return ""
}

// whole writes the median of a unit; "" if there is none.
func whole(f figures, unit string) string {
	if len(f[unit]) == 0 {
		return ""
	}
	return strconv.FormatFloat(f.median(unit), 'f', 0, 64)
}

// duration writes nanoseconds with three digits at most; "" for none.
func duration(ns float64) string {
	if ns == 0 {
		return ""
	}
	unit, size := "ns", 1.0
	switch {
	case ns >= 1e6:
		unit, size = "ms", 1e6
	case ns >= 1e3:
		unit, size = "µs", 1e3
	}
	v := ns / size
	digits := 0
	switch {
	case v < 10:
		digits = 2
	case v < 100:
		digits = 1
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + unit
}
