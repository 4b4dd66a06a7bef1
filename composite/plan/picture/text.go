package picture

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// text renders the view as three tables: the fields with their positions, the members with
// their points in plan order, and the points with their calls.
func text(v *View) string {
	var sb strings.Builder
	sb.WriteString(clean(v.Type))
	if v.Pos != "" {
		sb.WriteString("  " + clean(v.Pos))
	}
	sb.WriteString("\n\n")
	var rows [][]string
	memberRows(&rows, v.Members, "", "")
	sb.WriteString(table([]string{"#", "FIELD", "TYPE", "TOOLS", "TAG", "DECLARED"}, rows))
	rows = nil
	for _, p := range v.Points {
		rows = append(rows, []string{p.Scope, clean(p.Name), p.rule(), p.fails(), p.order(clean, strings.Clone, " | ")})
	}
	sb.WriteString("\n" + table([]string{"SCOPE", "POINT", "RULE", "ON FAILURE", "CALLED, IN ORDER"}, rows))
	if notes := v.notes(); len(notes) > 0 {
		sb.WriteString("\n")
		for _, n := range notes {
			sb.WriteString(n + "\n")
		}
	}
	return sb.String()
}

func memberRows(rows *[][]string, all []Member, number, indent string) {
	for i := range all {
		m := &all[i]
		n := fmt.Sprintf("%s%d", number, i+1)
		*rows = append(*rows, []string{n, indent + clean(m.Label()), clean(m.Type), m.tools(), strings.Join(m.narrowed(), "; "), clean(m.Pos)})
		memberRows(rows, m.Members, n+".", indent+"  ")
	}
}

// tools returns the tools of a member in one line; "" for a composite, whose members list
// theirs.
func (m *Member) tools() string {
	names := list(m.Tools, " ")
	switch {
	case m.Nested != "":
		return ""
	case !m.Dynamic && !m.Group:
		return names
	case names == "":
		return "known at run time"
	}
	return names + ", more at run time"
}

// narrowed returns the tag's options for the whole field: its requirements, and the
// restrictions of its calls.
func (m *Member) narrowed() []string {
	var out []string
	for _, n := range []struct {
		word  string
		names []string
	}{{"requires", m.Requires}, {"only at", m.Only}, {"not at", m.Without}, {"only for", m.Match}} {
		if len(n.names) > 0 {
			out = append(out, n.word+" "+list(n.names, ", "))
		}
	}
	return out
}

func (a *At) rule() string {
	s := clean(a.Kind) + " " + clean(a.Combine)
	if a.Reverse {
		s += ", reverse"
	}
	return s
}

func (a *At) fails() string {
	switch {
	case a.Kind == "facade":
		return ""
	case a.Closed:
		return "closed"
	}
	return "open"
}

// order returns the calls in one line, with the options of their tags. A call has a question
// mark if the member may lack the point. text and sign write names and signs; or separates
// owners of which one is called.
func (a *At) order(text, sign func(string) string, or string) string {
	var parts []string
	for _, c := range a.Calls {
		s := text(c.Member) + sign(c.signs())
		if o := c.options(); o != "" {
			s += " (" + text(o) + ")"
		}
		parts = append(parts, s)
	}
	sep := ", "
	if a.byTool() {
		sep = or
	}
	line := strings.Join(parts, sep)
	if a.Own {
		line = strings.TrimSuffix("written by hand: "+line, ": ")
	}
	return line
}

// signs returns the marks of the call, which notes explain.
func (c *Call) signs() string {
	s := ""
	if c.Maybe {
		s += "*"
	}
	if c.Use.Unbounded() {
		s += "~"
	}
	return s
}

// options returns the tag's options for the point, in the form of a tag.
func (c *Call) options() string { return c.Use.Options() }

// notes explains the marks in the view, and names the points without members.
func (v *View) notes() []string {
	var out []string
	any := func(test func(*Member) bool) bool { return someMember(v.Members, test) }
	if any(func(m *Member) bool { return m.Optional }) {
		out = append(out, "? may be nil")
	}
	if any(func(m *Member) bool { return m.Group }) {
		out = append(out, "[] a group given at run time")
	}
	if any((*Member).open) {
		out = append(out, "* asked at every point; which of them it has is known at run time")
	}
	if slices.ContainsFunc(v.Points, func(a At) bool {
		return slices.ContainsFunc(a.Calls, func(c Call) bool { return c.Use.Unbounded() })
	}) {
		out = append(out, "~ has no timeout of its own at this point; the runtime's Limits.Gate bounds deciders and rewriters, except Approve")
	}
	for _, d := range v.Off {
		out = append(out, clean(d.String()))
	}
	if len(v.Unused) > 0 {
		out = append(out, "nobody acts at: "+list(v.Unused, ", "))
	}
	return out
}

func someMember(all []Member, test func(*Member) bool) bool {
	for i := range all {
		if test(&all[i]) || someMember(all[i].Members, test) {
			return true
		}
	}
	return false
}

// table aligns the columns and drops empty ones.
func table(head []string, rows [][]string) string {
	wide := make([]int, len(head))
	for _, row := range rows {
		for i, cell := range row {
			wide[i] = max(wide[i], utf8.RuneCountInString(cell))
		}
	}
	var sb strings.Builder
	for _, row := range slices.Concat([][]string{head}, rows) {
		line := ""
		for i, cell := range row {
			if wide[i] > 0 {
				w := max(wide[i], utf8.RuneCountInString(head[i]))
				line += cell + strings.Repeat(" ", w-utf8.RuneCountInString(cell)+2)
			}
		}
		sb.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return sb.String()
}
