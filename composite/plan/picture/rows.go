package picture

import (
	"fmt"
	"slices"
	"strings"
)

// row is one line of the lifecycle: the head of a scope, or a point.
type row struct {
	// scope is set for a head, at for a point.
	scope *Scope
	at    *At
	// depth is how many scopes that are shown are around the row.
	depth int
	y, h  float64
	marks []mark
}

// mark is one call in its lane, with what the tag says in lines.
type mark struct {
	call  Call
	x     float64
	font  font
	badge []string
}

// bar is a scope as a line from its head to its last point.
type bar struct {
	depth     int
	from, til float64
}

// layRows makes the rows of the points with the heads of their scopes. A scope
// is shown if it has a point of its own.
func layRows(v *View) []*row {
	points := make([]Point, len(v.Points))
	for i, p := range v.Points {
		points[i] = p.Point
	}
	around := map[string][]*Scope{}
	var shown []*Scope
	for _, s := range ordered(points) {
		around[s.point] = s.in
		shown = append(shown, s.in[len(s.in)-1])
	}
	var rows []*row
	var open []*Scope
	for i := range v.Points {
		at := &v.Points[i]
		in := slices.DeleteFunc(slices.Clone(around[at.Name]), func(s *Scope) bool { return !slices.Contains(shown, s) })
		for d, s := range in {
			if !slices.Contains(open, s) {
				rows = append(rows, &row{scope: s, depth: d})
			}
		}
		open = in
		rows = append(rows, &row{at: at, depth: len(in) - 1})
	}
	return rows
}

// placeRows gives the rows their y and height, from y on, and returns the y behind
// the last.
func placeRows(rows []*row, g *grid, y float64) float64 {
	for _, r := range rows {
		r.y, r.h = y, rowHeight
		if r.scope != nil {
			r.h = scopeRow
		} else {
			most, taken := 0, map[*column]bool{}
			for _, c := range r.at.Calls {
				col := g.find(c.Member, taken)
				if col == nil {
					continue
				}
				taken[col] = true
				in := smallFont
				if c.Use.Policy == "failopen" && (r.at.Kind == "decide" || r.at.Kind == "rewrite") {
					in = markFont // what may let something through is not to be overlooked
				}
				lines := in.wrap(strings.ReplaceAll(clean(c.options()), ",", ", "), col.w-8)
				r.marks = append(r.marks, mark{c, col.centre(), in, lines})
				most = max(most, len(lines))
			}
			if most > 0 {
				r.h += float64(most)*smallFont.height() + 2
			}
		}
		y += r.h
	}
	return y
}

// bars are the scopes as lines. A scope that is entered again has a line for each
// time.
func bars(rows []*row) []bar {
	var out []bar
	var open []int // indices of out, by depth
	for _, r := range rows {
		keep := r.depth
		if r.scope == nil {
			keep++
		}
		open = open[:min(keep, len(open))]
		if r.scope != nil {
			out = append(out, bar{depth: r.depth, from: r.y + 8})
			open = append(open, len(out)-1)
		}
		for _, i := range open {
			out[i].til = r.y + r.h - 4
		}
	}
	return out
}

// labels are the columns in front of the lanes: point, rule and policy.
type labels struct {
	rule, fails, right float64
}

func rowX(depth int) float64 { return margin + float64(depth)*indent }

// layLabels finds where the columns begin, wide enough for every row.
func layLabels(rows []*row) labels {
	l := labels{rule: 180, fails: 120, right: 76}
	names, rules, fails, heads := 0.0, bodyFont.width("Rule"), bodyFont.width("On failure"), 0.0
	for _, r := range rows {
		x := rowX(r.depth) + indent
		if r.scope != nil {
			heads = max(heads, x+scopeFont.width(titled(r.scope.Name))+8+smallFont.width(r.scope.Each))
			continue
		}
		names = max(names, x+codeFont.width(clean(r.at.Name)))
		rules = max(rules, smallFont.width(r.at.shownRule()))
		fails = max(fails, smallFont.width(r.at.fails()))
	}
	l.rule = max(names, margin+120) + 20
	l.fails = l.rule + rules + 16
	l.right = max(l.fails+fails+24, heads+24)
	return l
}

// titled begins with a capital letter.
func titled(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// shownRule is the rule of a point as the picture has it.
func (a *At) shownRule() string {
	s := a.Kind + " · " + a.Combine
	if a.byTool() {
		s += " by tool"
	}
	if a.Reverse {
		s += " · reverse"
	}
	if a.Own {
		s += " · by hand"
	}
	return clean(s)
}

// said is the row for those who do not see it.
func (r *row) said(c Call) string {
	s := fmt.Sprintf("%s: %d. %s", r.at.Name, c.Order, c.Member)
	if o := c.options(); o != "" {
		s += ", " + o
	}
	if c.Maybe {
		s += ", if it has the point"
	}
	return s
}

// direction is the path of the small arrows between the calls of a point.
func direction(marks []mark, y float64) (line, heads string) {
	line = fmt.Sprintf("M%s %sH%s", num(marks[0].x), num(y), num(marks[len(marks)-1].x))
	var sb strings.Builder
	for i := 1; i < len(marks); i++ {
		d := 3.5
		if marks[i].x < marks[i-1].x {
			d = -d
		}
		mid := (marks[i-1].x + marks[i].x) / 2
		fmt.Fprintf(&sb, "M%s %sL%s %sL%s %s", num(mid-d), num(y-4), num(mid+d), num(y), num(mid-d), num(y+4))
	}
	return line, sb.String()
}
