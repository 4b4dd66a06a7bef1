package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/spell"
)

func (s Spec) has(point string) bool {
	return slices.ContainsFunc(s.all(), func(p Point) bool { return p.Name == point })
}

// all returns the points that the member has or may have.
func (s Spec) all() []Point { return slices.Concat(s.Maybe, s.Points) }

// checkPolicies reports options for points that the member does not have: they would have
// no effect, but their author relies on them.
func checkPolicies(s Spec) []Problem {
	if s.Open || s.Group {
		return nil
	}
	var out []Problem
	absent := func(point, word, what string) {
		if s.has(point) {
			return
		}
		p := Problem{Code: "HG044", Fields: []string{s.Field}, Word: word}
		p.Message = fmt.Sprintf("%s on %s does nothing: %s has no %s", what, s.Field, s.Type, point)
		if _, p.Fix = closestPoint(point, s.Points); len(s.Points) == 0 {
			p.Fix = "drop it"
		}
		out = append(out, p)
	}
	for _, u := range s.Options.Points {
		absent(u.Name, u.Name+":", "the policy at "+u.Name)
	}
	for _, name := range s.Options.Only {
		absent(name, name, "only="+name)
	}
	for _, name := range s.Options.Without {
		absent(name, name, "without="+name)
	}
	out = append(out, s.halves()...)
	return append(out, s.unmatched()...)
}

// halves reports pairs of points of which the tag excludes one.
func (s Spec) halves() []Problem {
	var out []Problem
	for _, pair := range pairs() {
		a, b := s.Options.Excludes(pair[0]), s.Options.Excludes(pair[1])
		if a == b || !s.has(pair[0]) || !s.has(pair[1]) {
			continue
		}
		in, gone := pair[0], pair[1]
		if a {
			in, gone = pair[1], pair[0]
		}
		word, fix := "only", "only="+strings.Join(append(slices.Clone(s.Options.Only), gone), "|")
		if len(s.Options.Without) > 0 {
			word, fix = "without", "without="+strings.Join(append(slices.Clone(s.Options.Without), in), "|")
		}
		out = append(out, Problem{Code: "HG046", Fields: []string{s.Field}, Word: word, Fix: fix,
			Message: fmt.Sprintf("%s of %s is called and %s is not, but they belong together", in, s.Field, gone)})
	}
	return out
}

// unmatched reports kinds of pattern that apply to no point of the member.
func (s Spec) unmatched() []Problem {
	var out []Problem
	seen := map[string]bool{}
	for _, m := range s.Options.Match {
		a, _ := attributeOf(m.Kind)
		about := slices.ContainsFunc(s.all(), func(p Point) bool { return a.about(p) && !s.Options.Excludes(p.Name) })
		if about || seen[m.Kind] {
			continue
		}
		seen[m.Kind] = true
		out = append(out, Problem{Code: "HG045", Fields: []string{s.Field}, Word: "match=" + m.Kind,
			Message: fmt.Sprintf("match=%s: on %s narrows nothing: %s has no point that is about %s", m.Kind, s.Field, s.Type, a.doc),
			Fix:     "drop it, or match what its points are about"})
	}
	return out
}

// checkRewriters warns of neighbours that rewrite one value without a constraint on their
// order: moving a field would change the result.
func checkRewriters(specs []Spec, order []int) []Problem {
	before := reachable(specs)
	last := map[string]int{}
	shared := map[[2]int][]string{}
	var pairs [][2]int
	for _, i := range order {
		s := specs[i]
		for _, p := range s.Points {
			if s.Options.Excludes(p.Name) || !p.rewrites() {
				continue
			}
			j, some := last[p.Name]
			last[p.Name] = i
			if !some || before[j][i] || specs[j].Options.order() != s.Options.order() {
				continue
			}
			pair := [2]int{j, i}
			if shared[pair] == nil {
				pairs = append(pairs, pair)
			}
			shared[pair] = append(shared[pair], p.Name)
		}
	}
	var out []Problem
	for _, pair := range pairs {
		a, b := specs[pair[0]].Field, specs[pair[1]].Field
		out = append(out, Problem{
			Code: "HG047", Warning: true, Fields: []string{b, a},
			Message: fmt.Sprintf("%s and %s both rewrite at %s, and only their place in the struct says which comes first", a, b, strings.Join(shared[pair], ", ")),
			Fix:     fmt.Sprintf("say it:  %s %s `hook:\"after=%s\"`  or put //hook:ignore HG047 above it", b, specs[pair[1]].Type, a),
		})
	}
	return out
}

// reachable returns for each spec the others that its constraints put after it.
func reachable(specs []Spec) []map[int]bool {
	out := make([]map[int]bool, len(specs))
	edges := edgesOf(specs)
	var follow func(from, at int)
	follow = func(from, at int) {
		for _, e := range edges {
			if e.from == at && !out[from][e.to] {
				out[from][e.to] = true
				follow(from, e.to)
			}
		}
	}
	for i := range specs {
		out[i] = map[int]bool{}
		follow(i, i)
	}
	return out
}

// checkMatchedTools warns of patterns for tools that match no tool of the composite. If some
// tools are known only at run time, it reports only patterns close to the name of a known one.
func checkMatchedTools(specs []Spec) []Problem {
	var known []string
	open := false
	for _, s := range specs {
		for _, t := range s.tools() {
			known = append(known, s.Options.Prefix+t)
		}
		for _, t := range s.Late {
			known = append(known, s.Options.Prefix+t)
		}
		open = open || s.openTools()
	}
	if len(known) == 0 {
		return nil // its tools may be those of an outer composite
	}
	slices.Sort(known)
	var out []Problem
	for _, s := range specs {
		for _, m := range s.Options.Match {
			if m.Kind != "tool" || matchesAny(m, known) {
				continue
			}
			near := spell.Closest(m.Glob, known)
			if open && (near == "" || strings.ContainsAny(m.Glob, "*?")) {
				continue
			}
			out = append(out, unmatchedTool(s.Field, m, near, known, open))
		}
	}
	return out
}

func unmatchedTool(field string, m Pattern, near string, known []string, open bool) Problem {
	p := Problem{Code: "HG049", Warning: true, Fields: []string{field}, Word: m.String(),
		Message: fmt.Sprintf("match=%s on %s matches no tool of the composite", m, field)}
	if open {
		p.Message = fmt.Sprintf("match=%s on %s matches no tool that is known before the program runs", m, field)
	}
	p.Fix = "the tools are " + someOf(known) + "; if"
	if near != "" {
		p.Fix = fmt.Sprintf("did you mean match=tool:%s? If", near)
	}
	p.Fix += " the tool comes from elsewhere, as from a composite around this one, put //hook:ignore HG049 above the field"
	return p
}

func someOf(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func matchesAny(m Pattern, names []string) bool {
	re, err := Compile(m.Kind, []string{m.Glob})
	return err != nil || slices.ContainsFunc(names, re.MatchString)
}

// openTools reports whether the member may have, or add to a turn, tools that are
// known only at run time.
func (s Spec) openTools() bool {
	return s.Dynamic || s.Options.Dynamic || s.Group || s.Open || s.has("TurnTools") || s.Composite != nil && s.Composite.openTools()
}

func (p *Plan) openTools() bool {
	return slices.ContainsFunc(p.Members, func(m Member) bool {
		adds := slices.ContainsFunc(m.Points, func(u PointUse) bool { return u.Name == "TurnTools" })
		return m.Dynamic || m.Group || adds || m.Composite != nil && m.Composite.openTools()
	})
}
