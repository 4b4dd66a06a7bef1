package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

type verdict string

const (
	passed  verdict = "passed"
	failed  verdict = "FAILED"
	skipped verdict = "SKIPPED"
)

type figure struct{ name, value, unit string }

type result struct {
	gate    gate
	verdict verdict
	// why is the reason if it did not pass.
	why     string
	figures []figure
	// output is all that the test printed.
	output string
	took   time.Duration
	// commit and day are those of the run, once it is recorded.
	commit string
	day    time.Time
}

var figureLine = regexp.MustCompile(`\bFIGURE ([a-zA-Z0-9_.-]+)=(\S+)(?: (.*))?$`)

// interesting reports whether a line is worth being shown while the gate runs.
func interesting(line string) bool {
	return figureLine.MatchString(line) || strings.Contains(line, "--- ")
}

// figures returns the figures of what go test -v printed, in order.
func figures(output string) []figure {
	var out []figure
	for line := range strings.Lines(output) {
		if m := figureLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			out = append(out, figure{m[1], m[2], strings.TrimSpace(m[3])})
		}
	}
	return out
}

// judge returns the result of a run with this output and this end.
func (g gate) judge(output string, err error) result {
	r := result{gate: g, verdict: passed, figures: figures(output), output: output}
	switch {
	case err != nil:
		r.verdict, r.why = failed, err.Error()
	case strings.Contains(output, "--- SKIP"):
		r.verdict, r.why = skipped, "a test of it was skipped"
	case g.tests != "" && g.missing(output) != "":
		r.verdict, r.why = skipped, "there is no "+g.missing(output)
	}
	if r.verdict != passed {
		return r
	}
	for _, name := range slices.Sorted(maps.Keys(g.bad)) {
		if f, ok := r.figure("bad." + name); !ok || f.value == "0" {
			r.verdict, r.why = failed, fmt.Sprintf("it did not find %s (bad.%s)", g.bad[name], name)
		}
	}
	return r
}

// missing returns the first of the gate's tests that did not run.
func (g gate) missing(output string) string {
	for name := range strings.SplitSeq(g.tests, "|") {
		if !strings.Contains(output, "--- PASS: "+name+" ") {
			return name
		}
	}
	return ""
}

func (r result) figure(name string) (figure, bool) {
	i := slices.IndexFunc(r.figures, func(f figure) bool { return f.name == name })
	if i < 0 {
		return figure{}, false
	}
	return r.figures[i], true
}

// seeded names the seed, if the gate's cases come from one.
func (r result) seeded() string {
	if f, ok := r.figure("seed"); ok {
		return strings.TrimSpace(", seed " + f.value + " " + f.unit)
	}
	return ", nothing chosen by chance"
}
