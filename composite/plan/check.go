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

// all are the points that the member has or may have.
func (s Spec) all() []Point { return slices.Concat(s.Maybe, s.Points) }

// checkPolicies reports what a tag says about points that its member does not
// have: it would do nothing, and somebody relies on it.
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
		if p.Fix = closestPoint(point, s.Points); len(s.Points) == 0 {
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

// halves reports one half of a pair that is left out.
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

// unmatched reports kinds of pattern that no point of the member is about.
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

// checkRewriters warns of neighbours that rewrite one value although nothing says
// which comes first: a field that is moved would change what they do together.
func checkRewriters(specs []Spec, order []int) []Problem {
	before := reachable(specs)
	last := map[string]int{}
	shared := map[[2]int][]string{}
	var pairs [][2]int
	for _, i := range order {
		s := specs[i]
		for _, p := range s.Points {
			if s.Options.Excludes(p.Name) || p.Kind != "rewrite" && p.Combine != "fold" {
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

// reachable tells of each spec which others its constraints put behind it.
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

// checkMatchedTools warns of patterns for tools that name none of those that are
// known. Where some tools are known only at run time, only a pattern that is nearly
// the name of a known one is reported.
func checkMatchedTools(specs []Spec) []Problem {
	var known []string
	all := true
	for _, s := range specs {
		for _, t := range s.tools() {
			known = append(known, s.Options.Prefix+t)
		}
		all = all && !s.late()
	}
	if len(known) == 0 {
		return nil
	}
	slices.Sort(known)
	var out []Problem
	for _, s := range specs {
		for _, m := range s.Options.Match {
			if m.Kind != "tool" || matchesAny(m, known) {
				continue
			}
			near := spell.Closest(m.Glob, known)
			if near == "" && !all {
				continue
			}
			p := Problem{Code: "HG049", Warning: true, Fields: []string{s.Field}, Word: "match=tool:" + m.Glob,
				Message: fmt.Sprintf("match=%s on %s names no tool of the composite, so it may never match", m, s.Field),
				Fix:     "the tools are " + strings.Join(known, ", ") + "; put //hook:ignore HG049 above the field if the tool is one of a composite around this one"}
			if near != "" {
				p.Fix = fmt.Sprintf("did you mean match=tool:%s? If not, put //hook:ignore HG049 above the field", near)
			}
			out = append(out, p)
		}
	}
	return out
}

func matchesAny(m Pattern, names []string) bool {
	re, err := Compile(m.Kind, []string{m.Glob})
	return err != nil || slices.ContainsFunc(names, re.MatchString)
}

// late tells whether the member may have tools that are known only at run time.
func (s Spec) late() bool {
	return s.Dynamic || s.Options.Dynamic || s.Group || s.Open || s.Composite != nil && s.Composite.late()
}

func (p *Plan) late() bool {
	return slices.ContainsFunc(p.Members, func(m Member) bool {
		return m.Dynamic || m.Group || m.Composite != nil && m.Composite.late()
	})
}
