package picture

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// mermaid renders the view as a section of Markdown with a picture: a scope is a box, a
// point is a node in it, and arrows follow its calls. It has no source positions, because a
// picture in the repository must not change with every edit.
func mermaid(v *View) string {
	d := drawing{}
	d.line("flowchart LR")
	for i := 0; i < len(v.Points); {
		scope := v.Points[i].Scope
		d.line("subgraph s%d[\"%s\"]", i, label(scope))
		for ; i < len(v.Points) && v.Points[i].Scope == scope; i++ {
			d.calls(i, &v.Points[i])
		}
		d.line("end")
	}
	d.line("classDef maybe stroke-dasharray:3 2")
	about := ""
	if v.Package != "" {
		about = "In package " + plainly(v.Package) + ".\n\n"
	}
	for _, n := range v.notes() {
		d.notes += "\n" + plainly(n) + "\n"
	}
	return "## " + plainly(v.Type) + "\n\n" + about + d.fenced() + d.notes
}

// drawing is a flow chart in the language of Mermaid.
type drawing struct {
	sb    strings.Builder
	notes string
}

func (d *drawing) line(format string, args ...any) { fmt.Fprintf(&d.sb, format+"\n", args...) }

func (d *drawing) fenced() string { return "```mermaid\n" + d.sb.String() + "```\n" }

// calls draws one point and its calls. Calls with one number are drawn in parallel.
func (d *drawing) calls(i int, a *At) {
	lines := []string{a.Name, a.rule()}
	if f := a.fails(); f != "" {
		lines = append(lines, "fails "+f)
	}
	if a.Own {
		lines = append(lines, "written by hand")
	}
	chain, order := fmt.Sprintf("p%d%s", i, shaped(a.Kind, lines...)), 0
	for n, c := range a.Calls {
		lines := []string{fmt.Sprintf("%d %s%s", c.Order, c.Member, c.signs()), c.options()}
		node := fmt.Sprintf("p%dc%d[\"%s\"]", i, n, label(lines...))
		if c.Maybe {
			node += ":::maybe"
		}
		if c.Order != order {
			chain += " --> " + node
		} else {
			chain += " & " + node
		}
		order = c.Order
	}
	d.line("%s", chain)
}

// shaped returns a label in the shape for the kind of point.
func shaped(kind string, lines ...string) string {
	open, end := "[", "]"
	switch kind {
	case "contribute":
		open, end = "([", "])"
	case "rewrite":
		open, end = "[/", "/]"
	case "decide":
		open, end = "{{", "}}"
	case "wrap":
		open, end = "[[", "]]"
	case "observe":
		open, end = "(", ")"
	}
	return open + `"` + label(lines...) + `"` + end
}

func label(lines ...string) string {
	var out []string
	for _, l := range lines {
		if l != "" {
			out = append(out, entities(l, "#"))
		}
	}
	return strings.Join(out, "<br/>")
}

func plainly(s string) string { return entities(s, "&#") }

// entities writes every special character of Markdown and Mermaid as the prefix and a number.
func entities(s, prefix string) string {
	var sb strings.Builder
	for _, r := range clean(s) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,:/()=?-", r) {
			sb.WriteRune(r)
			continue
		}
		fmt.Fprintf(&sb, "%s%d;", prefix, r)
	}
	return sb.String()
}

// Contract has the facts about the points that [LifecycleDiagram] draws.
type Contract struct {
	// Points are all points of package hook.
	Points []Point
	// Answers are the possible answers at a point, by its name: "deny", "ask".
	Answers map[string][]string
	// Silent are the points at which a hook's own failure is no opinion, whatever the
	// policy.
	Silent []string
}

// LifecycleDiagram draws the lifecycle, without any composite: all points in the order in
// which a runtime calls them, in their scopes, with kinds, possible answers and the effect of
// a failure. It is a picture in Markdown.
func LifecycleDiagram(o Contract) string {
	d := drawing{}
	d.line("flowchart TB")
	for _, s := range Lifecycle(o.Points) {
		d.scope(o, s)
	}
	return d.fenced()
}

func (d *drawing) scope(o Contract, s *Scope) {
	d.line("subgraph %s[\"%s\"]", strings.ReplaceAll(s.Name, " ", "_"), label(s.Name+": "+s.Each))
	d.points(o, s.Before)
	if s.Inside != nil {
		d.scope(o, s.Inside)
	}
	d.points(o, s.After)
	d.line("end")
}

func (d *drawing) points(o Contract, names []string) {
	var nodes []string
	for _, name := range names {
		i := slices.IndexFunc(o.Points, func(p Point) bool { return p.Name == name })
		if i < 0 {
			continue
		}
		p := o.Points[i]
		nodes = append(nodes, name+shaped(p.Kind, name, strings.Join(o.Answers[name], ", "), o.fails(p)))
	}
	if len(nodes) > 0 {
		d.line("%s", strings.Join(nodes, " --> "))
	}
}

func (o Contract) fails(p Point) string {
	switch {
	case p.Kind == "facade", p.Bracket:
		return ""
	case slices.Contains(o.Silent, p.Name):
		return "failing says nothing"
	case p.Closed:
		return "fails closed"
	}
	return "fails open"
}
