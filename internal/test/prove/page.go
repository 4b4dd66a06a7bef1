package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
)

const intro = `# Evidence

Written by ` + "`make prove`" + ` (internal/test/prove). It runs what is long, drawn, timed or foreign, and so blocks no merge. Each gate looks
for something that must not happen. Most are also tried on something that is known to be wrong: a gate that lets that pass would show nothing.
A gate that could not run is SKIPPED, not passed.

A line names the commit at which the gate ran last. ` + "`make prove STALE=1`" + ` runs the gates whose files have changed since; ` + "`.ci/run`" + ` prints
them and runs none. ` + "`make prove ONLY='^kills$'`" + ` runs one.

`

func machine() string {
	return fmt.Sprintf("%s, %s/%s, %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}

// writePage returns the page of these gates with a new result, which may be nil. The other gates
// keep their lines of the old page.
func writePage(gates []gate, r *result, old string) string {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("| gate | result | commit | day | figures | known to be wrong, and found |\n|---|---|---|---|---|---|\n")
	for _, g := range gates {
		switch kept := oldLine(g, old); {
		case r != nil && r.gate.name == g.name:
			b.WriteString(r.line())
		case kept != "":
			b.WriteString(kept)
		default:
			fmt.Fprintf(&b, "| %s | **not run yet** | | | | |\n", g.name)
		}
	}
	b.WriteString("\n## What each gate shows\n")
	for _, g := range gates {
		fmt.Fprintf(&b, "\n**%s** (%s). %s", g.name, strings.Join(g.judged(), ", "), g.shows)
		if g.noBad != "" {
			fmt.Fprintf(&b, " Nothing that is known to be wrong is tried: %s.", strings.TrimSuffix(g.noBad, "."))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r result) line() string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", r.gate.name, r.outcome(), r.commit, r.day.UTC().Format(time.DateOnly), r.good(), r.bad())
}

func oldLine(g gate, old string) string {
	for line := range strings.Lines(old) {
		if strings.HasPrefix(line, "| "+g.name+" |") {
			return line
		}
	}
	return ""
}

// passedAt returns the commit at which the gate passed by the page, or "".
func passedAt(g gate, text string) string {
	cells := strings.Split(oldLine(g, text), " | ")
	if len(cells) < 4 || !strings.HasPrefix(cells[1], string(passed)+" in ") {
		return ""
	}
	return cells[2]
}

func (r result) outcome() string {
	if r.verdict == passed {
		return fmt.Sprintf("%s in %s, %s", r.verdict, r.took.Round(time.Second), machine())
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
