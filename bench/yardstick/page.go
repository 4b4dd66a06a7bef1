package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/bench"
)

const head = `# Performance

Grapnel beside hand-written code and beside other frameworks, in one run on one machine. Each subject does the same work
with a model that is in the process and takes no time, and each checks its own result, so that nobody is timed doing less.
All take turns, round by round. A figure is the median of the rounds; what stands in parentheses is the 10th and the 90th
percentile. Ratios are made in each round and then summed up in the same way, because times drift on a machine where other
things run; allocations do not. Written by ` + "`make bench-peers`" + ` from [performance.json](performance.json), which has every figure.

` + "`make prove`" + ` measures daemons: under load, with readers that stall, and several over one PostgreSQL ([evidence.md](evidence.md)).

`

// page returns the page of the results; charts are the names of those that there are.
func (r *Results) page(charts []chart) string {
	var b strings.Builder
	b.WriteString(head)
	r.writeSummary(&b)
	r.writeMachine(&b)
	b.WriteString("## Side by side\n\n")
	for _, s := range scenarios {
		r.writeScenario(&b, s)
	}
	r.writeDifferences(&b)
	r.writeCharts(&b, charts)
	r.writeBudgets(&b)
	r.writeMissed(&b)
	b.WriteString(includes)
	r.writeAbsent(&b)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// table writes rows of cells below a head.
func table(b *strings.Builder, head []string, rows [][]string) {
	for i, cells := range append([][]string{head}, rows...) {
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat("---|", len(head)))
		}
	}
	b.WriteByte('\n')
}

// writeSummary sets Grapnel against the best peer of each scenario at each size.
func (r *Results) writeSummary(b *strings.Builder) {
	b.WriteString("## In short\n\nGrapnel against the peer that is best at the same. \"Against Grapnel\" is how many times as long the " +
		"peer takes, or how many times less it gets done.\n\n")
	var rows [][]string
	for _, s := range scenarios {
		for _, group := range r.groups(s.name) {
			if cells, ok := r.summary(s, group); ok {
				rows = append(rows, cells)
			}
		}
	}
	table(b, []string{"work", "Grapnel", "best peer", "which", "against Grapnel", "allocations: theirs, ours"}, rows)
}

func (r *Results) summary(s scenario, group string) ([]string, bool) {
	ours, ok := r.ours(group)
	if !ok {
		return nil, false
	}
	best, ok := r.best(group, s.about(), s.rate)
	if !ok {
		return nil, false
	}
	p, _ := split(best.Name)
	counts := whole(best.Units[allocs].Median) + ", " + whole(ours.Units[allocs].Median)
	if s.outside {
		counts = ""
	}
	return []string{s.title + sizes(group), s.text(ours), s.text(best), p.subject, s.against(ours, best), counts}, true
}

// ours is the figure of this framework in a group.
func (r *Results) ours(group string) (Benchmark, bool) {
	for _, b := range r.Benchmarks {
		if p, ok := split(b.Name); ok && p.group == group && isOurs(p.subject) {
			return b, true
		}
	}
	return Benchmark{}, false
}

// sizes are what a group says besides its scenario, in words: ", 64 tools".
func sizes(group string) (text string) {
	for i, part := range strings.Split(group, "/") {
		if key, value, ok := strings.Cut(part, "="); ok && i > 0 {
			if strings.Trim(value, "0123456789") == "" {
				if value == "1" {
					key = strings.TrimSuffix(key, "s")
				}
				var n float64
				fmt.Sscan(value, &n)
				text += ", " + whole(n) + " " + key
			} else {
				text += ", " + key + " " + value
			}
		}
	}
	return text
}

// figure is what a scenario is about.
func (s scenario) figure(b Benchmark) Figure { return b.Units[s.about()] }

func (s scenario) about() string { return cmp.Or(s.unit, nanoseconds) }

func (s scenario) text(b Benchmark) string { return spread(s.figure(b), inUnit(s.about())) }

// against says how many times ours another one's figure is, or the other way
// round where more is better.
func (s scenario) against(ours, other Benchmark) string {
	a, o := s.figure(other), s.figure(ours)
	if s.rate {
		a, o = o, a
	}
	if f, ok := paired(a, o, over); ok {
		return spread(f, times)
	}
	return ""
}

// more are the units that a group has besides what the scenario is about, its
// allocations and bytes, and the time of an operation, which follows from it.
func (s scenario) more(all []Benchmark) (units []string) {
	for _, b := range all {
		for unit := range b.Units {
			if unit != s.about() && unit != nanoseconds && unit != allocs && unit != bytesPerOp && !slices.Contains(units, unit) {
				units = append(units, unit)
			}
		}
	}
	slices.Sort(units)
	return units
}

func (r *Results) writeMachine(b *strings.Builder) {
	fmt.Fprintf(b, "## Machine and versions\n\n%s, %s/%s, %s (%s), %s. Commit %s. The run took %s.\n\n", r.Machine.CPU, r.Machine.OS, r.Machine.Arch,
		many1(r.Machine.Processors, "processor"), r.Date, r.Go, r.Revision, minutes(r.Seconds))
	var rows [][]string
	for _, s := range subjects {
		version := "Grapnel's own, in bench/"
		if s.module != "" {
			version = "`" + s.module + "` " + r.version(s.module)
		} else if isOurs(s.name) {
			version = "this commit"
		}
		if r.measured(s.name) {
			rows = append(rows, []string{s.name, version, s.what})
		}
	}
	table(b, []string{"subject", "what was measured", "what it is"}, rows)
}

// writeDifferences says where a peer does more than we do, and where less.
func (r *Results) writeDifferences(b *strings.Builder) {
	b.WriteString("### What the peers do more, and what less\n\n")
	for _, s := range subjects {
		if s.more+s.less == "" || !r.measured(s.name) {
			continue
		}
		fmt.Fprintf(b, "- `%s`", s.name)
		if s.more != "" {
			b.WriteString(" more: " + s.more)
		}
		if s.less != "" {
			b.WriteString(" Less: " + s.less)
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

func many1(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func minutes(seconds float64) string {
	return fmt.Sprintf("%d min %02d s", int(seconds)/60, int(seconds)%60)
}

func (r *Results) version(module string) string {
	i := slices.IndexFunc(r.Peers, func(m Module) bool { return m.Path == module })
	if i < 0 {
		return "(version not known)"
	}
	return r.Peers[i].Version
}

// measured reports whether a subject has any figure.
func (r *Results) measured(subject string) bool {
	return slices.ContainsFunc(r.Benchmarks, func(b Benchmark) bool {
		p, ok := split(b.Name)
		return ok && p.subject == subject
	})
}

func (r *Results) writeScenario(b *strings.Builder, s scenario) {
	groups := r.groups(s.name)
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "### %s\n\n%s\n\n", s.title, s.what)
	var absent []string
	for _, group := range groups {
		if more := strings.TrimPrefix(sizes(group), ", "); more != "" {
			fmt.Fprintf(b, "%s:\n\n", capital(more))
		}
		r.writeGroup(b, s, group)
	}
	for _, l := range bench.Missing {
		if l.Scenario == s.name || strings.HasPrefix(l.Scenario, s.name+"/") {
			absent = append(absent, fmt.Sprintf("- `%s`%s: %s.", l.Subject, sizes(l.Scenario), strings.TrimSuffix(l.Reason, ".")))
		}
	}
	for _, name := range r.unexplained() {
		if p, ok := split("bench." + name); ok && p.scenario == s.name {
			absent = append(absent, fmt.Sprintf("- `%s`%s: **no reason is written down.**", p.subject, sizes(p.group)))
		}
	}
	if absent = slices.Compact(slices.Sorted(slices.Values(absent))); len(absent) > 0 {
		fmt.Fprintf(b, "Not here:\n\n%s\n\n", strings.Join(absent, "\n"))
	}
}

// writeGroup writes the table of one size of a scenario.
func (r *Results) writeGroup(b *strings.Builder, s scenario, group string) {
	var all []Benchmark
	for _, other := range r.Benchmarks {
		if p, ok := split(other.Name); ok && p.group == group {
			all = append(all, other)
		}
	}
	ours, has := r.ours(group)
	more := s.more(all)
	head := []string{"subject", cmp.Or(s.column, "time"), "against Grapnel"}
	if !s.outside {
		head = append(head, "allocations", "bytes")
	}
	var rows [][]string
	for _, other := range all {
		p, _ := split(other.Name)
		against := ""
		if has && other.Name != ours.Name {
			against = s.against(ours, other)
		}
		cells := []string{p.subject, s.text(other), against}
		if !s.outside {
			cells = append(cells, whole(other.Units[allocs].Median), size(other.Units[bytesPerOp].Median))
		}
		for _, unit := range more {
			cells = append(cells, inUnit(unit)(other.Units[unit].Median))
		}
		rows = append(rows, cells)
	}
	table(b, append(head, more...), rows)
}
