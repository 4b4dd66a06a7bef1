package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
)

const intro = `# Reliability

Written by ` + "`make soak`" + ` (internal/test/soak), which runs the long form of tests that are also part of ` + "`go test`" + `.
Each of them looks for something that must not happen, and is tried on something that is known to be wrong as well: a gate
that lets that pass would show nothing. A gate that could not run is SKIPPED, not passed. A line names the commit that was
tried last in the long form. ` + "`make soak-short`" + `, a part of CI, runs the short form of every gate and writes nothing.

`

func machine() string {
	return fmt.Sprintf("%s, %s/%s, %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}

// run is the input of a page besides the table of gates.
type run struct {
	results []result
	// short: the results are of the short form.
	short   bool
	machine string
	commit  string
	now     time.Time
}

// soFar begins the outcome of a gate that has had no long run.
const soFar = "short form only so far: "

// writePage returns the page of these gates. Those that did not run keep the line
// that they have in the old page.
func writePage(gates []gate, r run, old string) string {
	var b strings.Builder
	b.WriteString(intro)
	fmt.Fprintf(&b, "Measured with %s.\n\n", r.machine)
	b.WriteString("| gate | result | figures | known to be wrong, and found |\n|---|---|---|---|\n")
	for _, g := range gates {
		b.WriteString(r.line(g, old))
	}
	b.WriteString("\n## What each gate shows\n")
	for _, g := range gates {
		fmt.Fprintf(&b, "\n**%s.** %s", g.name, g.shows)
		if len(g.bad) == 0 {
			fmt.Fprintf(&b, " Nothing that is known to be wrong is tried: %s", g.noBad)
		}
		fmt.Fprintf(&b, "\nRun it alone: `go %s`\n", strings.Join(quoted(g.command()), " "))
	}
	return b.String()
}

// line is the gate's line of the table. A short run replaces no line of a long
// one.
func (r run) line(g gate, old string) string {
	kept := oldLine(g, old)
	i := slices.IndexFunc(r.results, func(res result) bool { return res.gate.name == g.name })
	if i < 0 || r.short && strings.HasPrefix(kept, "| "+g.name+" | passed in ") {
		if kept == "" {
			return fmt.Sprintf("| %s | **not run yet** | | |\n", g.name)
		}
		return kept
	}
	res, form := r.results[i], ""
	if r.short {
		form = soFar
	}
	return fmt.Sprintf("| %s | %s%s, %s, %s | %s | %s |\n", g.name, form, res.outcome(), r.now.UTC().Format(time.DateOnly), r.commit, res.good(), res.bad())
}

func oldLine(g gate, old string) string {
	for line := range strings.Lines(old) {
		if strings.HasPrefix(line, "| "+g.name+" |") {
			return line
		}
	}
	return ""
}

// quoted returns the arguments as a shell wants them.
func quoted(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if strings.ContainsAny(a, "()|$^*") {
			out[i] = "'" + a + "'"
		}
	}
	return out
}

func (r result) outcome() string {
	if r.verdict == passed {
		return fmt.Sprintf("%s in %s", r.verdict, r.took.Round(time.Second))
	}
	return fmt.Sprintf("**%s**: %s", r.verdict, r.why)
}

func (r result) good() string {
	var parts []string
	for _, f := range r.figures {
		if !strings.HasPrefix(f.name, "bad.") {
			parts = append(parts, f.String())
		}
	}
	return strings.Join(parts, ", ")
}

// String is for people: "lost 0 acknowledged writes".
func (f figure) String() string {
	return strings.TrimSpace(strings.ReplaceAll(f.name, "-", " ") + " " + f.value + " " + f.unit)
}

func (r result) bad() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.gate.bad)) {
		found := "not found"
		if f, ok := r.figure("bad." + name); ok {
			found = strings.TrimSpace(f.value + " " + f.unit)
		}
		parts = append(parts, r.gate.bad[name]+": "+found)
	}
	return strings.Join(parts, "; ")
}
