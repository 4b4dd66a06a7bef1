package picture

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// text shows the view as three tables: where the fields stand, who acts where in
// plan order, and the points as they are called.
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

// tools are the tools of a member in one line; those of a composite are its
// members'.
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

// narrowed says what the tag says of the whole field: what it needs, and where
// it is called.
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

// rule is how the calls of a point become one answer.
func (a *At) rule() string {
	s := clean(a.Kind) + " " + clean(a.Combine)
	if a.Reverse {
		s += ", reverse"
	}
	return s
}

// fails is the fail policy that holds where no tag changes it.
func (a *At) fails() string {
	switch {
	case a.Kind == "facade":
		return ""
	case a.Closed:
		return "closed"
	}
	return "open"
}

// order are the calls in one line, with what their tags say; those that are not
// sure to have the point have a question mark. text and sign write names and
// signs; or stands between owners of whom one is called.
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

// signs are those that notes explain.
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

// options are what the tag says of the point, as the tag writes it.
func (c *Call) options() string { return c.Use.Options() }

// notes explain the marks that occur in the view, and name the points at which
// nobody acts.
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
		out = append(out, "~ is waited for without a bound: its tag has no timeout at this point")
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

// table aligns the columns; one that is empty in all rows is left out.
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
