package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

type report struct {
	out     io.Writer
	verbose bool
	began   time.Time
	total   int // packages; 0 is unknown
	ended   int // packages
	// running has the start time of each package whose tests run.
	running map[string]time.Time
	// output has the output of each test, and under "" of each package, that was not
	// printed yet.
	output map[id][]string
	// missing has the skipped tests by their reason.
	missing map[string][]string
	// left counts the skips for which nothing is missing: Long, Rooted and Proven.
	left map[string]int
	// rest has the tests that somebody has yet to run, by package.
	rest map[string][]string
}

type id struct{ pkg, test string }

func newReport(out io.Writer, total int) *report {
	return &report{
		out: out, began: time.Now(), total: total,
		running: map[string]time.Time{}, output: map[id][]string{}, missing: map[string][]string{},
		left: map[string]int{}, rest: map[string][]string{},
	}
}

// take takes an event and reports whether it printed something.
func (r *report) take(e event) bool {
	key := id{e.Package, e.Test}
	switch e.Action {
	case "start":
		r.running[e.Package] = time.Now()
	case "build-output":
		fmt.Fprint(r.out, e.Output)
		return true
	case "output":
		r.output[key] = append(r.output[key], e.Output)
		if r.verbose {
			fmt.Fprint(r.out, e.Output)
			return true
		}
	case "pass", "fail", "skip":
		return r.end(e, key)
	}
	return false
}

// end takes the end of a test or a package.
func (r *report) end(e event, key id) bool {
	output := r.output[key]
	delete(r.output, key)
	if e.Test != "" {
		if e.Action == "skip" {
			r.skip(key, output)
		}
		if e.Action == "fail" && !r.verbose {
			fmt.Fprint(r.out, short(e.Package), ":\n", strings.Join(output, ""))
		}
		return e.Action == "fail"
	}
	delete(r.running, e.Package)
	r.ended++
	line := "ok"
	switch {
	case e.Action == "skip":
		line = "no tests"
	case e.Action == "fail":
		line = "FAIL"
		if !r.verbose {
			fmt.Fprint(r.out, strings.Join(output, ""), r.unfinished(e.Package))
		}
	}
	cached := ""
	if slices.ContainsFunc(output, func(s string) bool { return strings.Contains(s, "\t(cached)") }) {
		cached = " (cached)"
	}
	fmt.Fprintf(r.out, "[%s] %s %s %.1fs%s\n", r.count(), line, short(e.Package), e.Elapsed, cached)
	return true
}

// unfinished returns the output of a package's tests that a panic or the timeout ended.
func (r *report) unfinished(pkg string) string {
	var sb strings.Builder
	keys := slices.SortedFunc(maps.Keys(r.output), func(a, b id) int { return strings.Compare(a.test, b.test) })
	for _, key := range keys {
		if key.pkg == pkg {
			sb.WriteString(strings.Join(r.output[key], ""))
			delete(r.output, key)
		}
	}
	return sb.String()
}

// skip records a skipped test under its reason.
func (r *report) skip(key id, output []string) {
	text := strings.Join(output, "")
	if strings.Contains(text, needs.Proven) {
		r.left[needs.Proven]++
		return
	}
	name, _, _ := strings.Cut(key.test, "/")
	r.rest[key.pkg] = append(r.rest[key.pkg], name)
	for _, reason := range []string{needs.Long, needs.Rooted} {
		if strings.Contains(text, reason) {
			r.left[reason]++
			return
		}
	}
	reason := "no reason given"
	if _, after, ok := strings.Cut(text, needs.Missing); ok {
		reason, _, _ = strings.Cut(after, "\n")
	}
	r.missing[reason] = append(r.missing[reason], short(key.pkg)+" "+key.test)
}

// progress prints the running packages.
func (r *report) progress() {
	var now []string
	for _, pkg := range slices.Sorted(maps.Keys(r.running)) {
		now = append(now, fmt.Sprintf("%s (%.0fs)", short(pkg), time.Since(r.running[pkg]).Seconds()))
	}
	if len(now) == 0 {
		now = []string{"compiling"}
	}
	fmt.Fprintf(r.out, "[%s] %.0fs: %s\n", r.count(), time.Since(r.began).Seconds(), strings.Join(now, ", "))
}

func (r *report) count() string {
	if r.total == 0 {
		return fmt.Sprint(r.ended)
	}
	return fmt.Sprintf("%d/%d", r.ended, r.total)
}

// summarize prints the duration and the skipped tests.
func (r *report) summarize() {
	fmt.Fprintf(r.out, "%d packages in %s\n", r.ended, time.Since(r.began).Round(time.Second))
	for _, reason := range slices.Sorted(maps.Keys(r.missing)) {
		tests := r.missing[reason]
		more := ""
		if len(tests) > 3 {
			tests, more = tests[:3], ", …"
		}
		fmt.Fprintf(r.out, "not run: %s (%d: %s%s)\n", reason, len(r.missing[reason]), strings.Join(tests, ", "), more)
	}
	for _, line := range []struct{ reason, what string }{
		{needs.Long, "long tests, left for make test-rest"},
		{needs.Rooted, "tests that need root, left for make test-rest"},
		{needs.Proven, "proofs, left for make prove"},
	} {
		if n := r.left[line.reason]; n > 0 {
			fmt.Fprintf(r.out, "not run: %d %s\n", n, line.what)
		}
	}
}

// short returns the path of a package without that of the module.
func short(pkg string) string {
	return strings.TrimPrefix(pkg, "github.com/grapnel-go/grapnel/")
}
