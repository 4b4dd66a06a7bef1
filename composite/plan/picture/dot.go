package picture

import (
	"fmt"
	"strings"
)

// dotter writes one graph: the points in the order of the lifecycle, the members
// in plan order, and an edge with its number for each call.
type dotter struct {
	sb      strings.Builder
	ids     map[string]string
	members int
}

func dot(v *View) string {
	d := &dotter{ids: map[string]string{}}
	d.line(0, "digraph %s {", quoted(v.Type))
	d.line(1, `rankdir=LR; ranksep=1.5; fontname="sans-serif";`)
	d.line(1, `node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif", fontsize=11];`)
	d.line(1, `edge [arrowsize=0.6, fontname="sans-serif", fontsize=9];`)
	d.points(v)
	d.nodes(v.Members, 1)
	for i, p := range v.Points {
		for _, c := range p.Calls {
			if d.ids[c.Member] == "" {
				continue
			}
			label := fmt.Sprint(c.Order)
			if o := c.options(); o != "" {
				label += " " + o
			}
			style := "solid"
			if c.Maybe {
				style = "dashed"
			}
			d.line(1, "p%d -> %s [label=%s, style=%s, color=%s];", i, d.ids[c.Member], quoted(label), style, quoted(kindOf(p.Kind).light.line))
		}
	}
	d.line(0, "}")
	return d.sb.String()
}

func (d *dotter) line(depth int, format string, args ...any) {
	d.sb.WriteString(strings.Repeat("\t", depth) + fmt.Sprintf(format, args...) + "\n")
}

func (d *dotter) points(v *View) {
	for i, p := range v.Points {
		label := p.Name + "\n" + p.rule()
		if f := p.fails(); f != "" {
			label += ", fails " + f
		}
		d.line(1, "p%d [label=%s, color=%s];", i, quoted(label), quoted(kindOf(p.Kind).light.line))
	}
	if len(v.Points) < 2 {
		return
	}
	d.line(1, "{")
	d.line(2, "rank=same;")
	d.line(2, "edge [style=invis];")
	for i := 1; i < len(v.Points); i++ {
		d.line(2, "p%d -> p%d;", i-1, i)
	}
	d.line(1, "}")
}

// nodes writes a node for each member, and a cluster around those of a
// composite. A composite with something of its own has a node in its cluster.
func (d *dotter) nodes(all []Member, depth int) {
	for i := range all {
		m := &all[i]
		id := fmt.Sprintf("m%d", d.members)
		d.ids[m.Path], d.members = id, d.members+1
		label := m.Label() + "\n" + m.Type
		if m.Nested == "" {
			if t := m.tools(); t != "" {
				label += "\n" + strings.ReplaceAll(t, " ", "\n")
			}
			d.line(depth, "%s [label=%s];", id, quoted(label))
			continue
		}
		d.line(depth, "subgraph cluster_%s {", id)
		d.line(depth+1, "label=%s;", quoted(label))
		if len(m.own()) > 0 || len(m.Members) == 0 {
			d.line(depth+1, "%s [label=%s];", id, quoted(m.Label()+" itself"))
		}
		d.nodes(m.Members, depth+1)
		d.line(depth, "}")
	}
}

// quoted is a string of DOT: in it the lexer knows the escaped quote only, and
// labels know \n and double backslashes.
func quoted(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(clean(l))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
