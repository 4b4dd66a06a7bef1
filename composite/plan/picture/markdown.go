package picture

import (
	"fmt"
	"strings"
)

// markdown shows the view as a section with two tables. It has no places, as the
// picture: what is kept beside the code must not change with every line of it.
func markdown(v *View) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "## %s\n\n", code(v.Type))
	if v.Package != "" {
		fmt.Fprintf(&sb, "In package %s.\n\n", code(v.Package))
	}
	var rows [][]string
	markdownMembers(&rows, v.Members, "")
	sb.WriteString(markdownTable([]string{"#", "Field", "Type", "Tools"}, rows))
	rows = nil
	for _, p := range v.Points {
		rows = append(rows, []string{entities(p.Scope), code(p.Name), entities(p.rule()), p.fails(), p.order(code, entities, " or ")})
	}
	sb.WriteString("\n" + markdownTable([]string{"Scope", "Point", "Rule", "On failure", "Called, in order"}, rows))
	for _, n := range v.notes() {
		sb.WriteString("\n" + entities(n) + "\n")
	}
	return sb.String()
}

func markdownMembers(rows *[][]string, all []Member, number string) {
	for i := range all {
		m := &all[i]
		n := fmt.Sprintf("%s%d", number, i+1)
		var tools []string
		for _, t := range m.Tools {
			tools = append(tools, code(t))
		}
		if m.Nested != "" {
			tools = nil
		}
		if m.Nested == "" && (m.Dynamic || m.Group) {
			tools = append(tools, "known at run time")
		}
		*rows = append(*rows, []string{n, code(m.Path) + m.markdownMarks(), code(m.Type), strings.Join(tools, ", ")})
		markdownMembers(rows, m.Members, n+".")
	}
}

func (m *Member) markdownMarks() string {
	out := ""
	if m.Optional {
		out += ", may be nil"
	}
	if m.Group {
		out += ", a group"
	}
	for _, n := range m.narrowed() {
		out += ", " + entities(n)
	}
	return out
}

func markdownTable(head []string, rows [][]string) string {
	var sb strings.Builder
	line := func(cells []string) { sb.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	sb.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	return sb.String()
}

// code shows a name as code. Back-quotes, bars and backslashes do not get along
// with tables in code, so a name with one of them is written in entities, which
// never have a meaning for Markdown.
func code(s string) string {
	s = clean(s)
	switch {
	case s == "":
		return ""
	case strings.ContainsAny(s, "`|\\") || strings.TrimSpace(s) != s:
		return "<code>" + entities(s) + "</code>"
	}
	return "`" + s + "`"
}

// entities writes every character that may mean something to HTML or to a table
// as an entity, and puts a backslash in front of those that mean something to
// Markdown alone.
func entities(s string) string {
	var sb strings.Builder
	for _, r := range clean(s) {
		switch {
		case strings.ContainsRune("\"&'<>\\`|", r):
			fmt.Fprintf(&sb, "&#%d;", r)
			continue
		case strings.ContainsRune("!#$*@[]^_{}~", r):
			sb.WriteByte('\\')
		}
		sb.WriteRune(r)
	}
	return sb.String()
}
