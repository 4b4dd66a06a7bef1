package main

import (
	"fmt"
	"slices"
	"strings"
)

// writeBudgets writes the table of budgets with what came of each.
func (r *Results) writeBudgets(b *strings.Builder) {
	b.WriteString("## Budgets\n\nOur own figures. The limit of a ratio is hand-written code that does the same work, or what the row names. " +
		"`make bench-check` measures those that take no peer and fails if a count is over its budget without a reason; times never decide.\n\n")
	var rows [][]string
	for _, w := range budgets {
		if w.unmeasured != "" {
			rows = append(rows, []string{w.what, "", "", "not measured"})
			continue
		}
		var limits, seen, met []string
		for _, f := range r.findings(w) {
			limits = append(limits, f.bound.String())
			switch {
			case !f.measured:
				seen, met = append(seen, "–"), append(met, "not measured")
			case f.met():
				seen, met = append(seen, spread(f.figure, f.bound.of.text)), append(met, "yes")
			default:
				seen, met = append(seen, spread(f.figure, f.bound.of.text)), append(met, "**no**")
			}
		}
		if len(slices.Compact(slices.Clone(met))) == 1 {
			met = met[:1]
		}
		rows = append(rows, []string{w.what, strings.Join(limits, "; "), strings.Join(seen, "; "), strings.Join(met, "; ")})
	}
	table(b, []string{"what", "budget", "seen", "met"}, rows)
}

// writeMissed says of each budget that is missed why, each reason once.
func (r *Results) writeMissed(b *strings.Builder) {
	var order []string
	about := map[string][]string{}
	for _, w := range budgets {
		for _, f := range r.findings(w) {
			if !f.measured || f.met() {
				continue
			}
			why := w.why
			if !f.explained() {
				why = "**No reason is written down.**"
			}
			if about[why] == nil {
				order = append(order, why)
			}
			if !slices.Contains(about[why], w.what) {
				about[why] = append(about[why], w.what)
			}
		}
	}
	if len(order) == 0 {
		return
	}
	b.WriteString("## Missed budgets\n\n")
	for _, why := range order {
		fmt.Fprintf(b, "**%s.** %s\n\n", strings.Join(about[why], "; "), why)
	}
}

const includes = `## What the figures include

- A turn of Grapnel has a conversation in memory, all its events, isolation of panics in hooks and tools, the agent's scope, timings, and
  the hooks that the scenario names. Nothing is off. Beside the peers somebody listens to the events only where deltas are the work; in
  the turns of the budgets an observer always does.
- A call of Grapnel runs on a worker of its own, which is what makes it possible to leave a tool behind that ignores its cancellation.
- A ` + "`limit`" + ` keeps a history and runs the calls concurrently where the turn does, but has no points, scope or isolation of hooks.
- Peers are used as their documentation says, with the fastest configuration that it names. What they do besides takes time, and
  whoever needs it gets something for that.
- Grapnel keeps the conversation, which grows with every turn of a benchmark; peers that keep none are handed the same history of old each time.
- Making an agent ready is not part of a turn; the first turn of a conversation is not measured, as it loads what the others find.
- Bytes are what was allocated, not what stays.

`

// writeAbsent says what was not measured, and why.
func (r *Results) writeAbsent(b *strings.Builder) {
	b.WriteString("## What was not measured\n\n")
	for _, m := range missingPeers {
		fmt.Fprintf(b, "- %s: the module proxy served no version of %s.\n", m.name, m.tried)
	}
	for _, w := range budgets {
		if w.unmeasured != "" {
			fmt.Fprintf(b, "- %s. %s\n", capital(w.what), w.unmeasured)
		}
	}
	for _, w := range budgets {
		for _, f := range r.findings(w) {
			if !f.measured && w.unmeasured == "" {
				fmt.Fprintf(b, "- %s, %s: this run has no figure of %s.\n", capital(w.what), f.bound.of.name, w.bench)
			}
		}
	}
	for _, s := range scenarios {
		if len(r.groups(s.name)) == 0 {
			fmt.Fprintf(b, "- %s: this run has no figure of it.\n", s.title)
		}
	}
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
