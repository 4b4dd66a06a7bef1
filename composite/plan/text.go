package plan

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Text returns the plan as a table, one line per member in plan order: the
// comment at the head of generated code, and what `grapnel plan` prints.
// Members of a member that is a composite are indented below it.
func (p *Plan) Text() string {
	var sb strings.Builder
	w := tabwriter.NewWriter(&sb, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "#\tfield\tpoints\ttools")
	p.rows(w, "", "")
	w.Flush()
	lines := strings.Split(strings.TrimRight(sb.String(), "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	legend := p.legend()
	if legend != "" {
		lines = append(lines, "", legend)
	}
	return strings.Join(lines, "\n") + "\n"
}

func (p *Plan) rows(w *tabwriter.Writer, number, indent string) {
	for i, m := range p.Members {
		n := number + strconv.Itoa(i+1)
		fmt.Fprintf(w, "%s\t%s%s\t%s\t%s\n", n, indent, m.label(), m.points(), m.tools())
		if m.Composite != nil {
			m.Composite.rows(w, n+".", indent+"  ")
		}
	}
}

func (m Member) label() string {
	s := m.Field
	if m.Group {
		s += "[]"
	}
	if m.Optional {
		s += "?"
	}
	return s
}

func (m Member) points() string {
	if m.Group {
		return "(run time)"
	}
	parts := make([]string, 0, len(m.Points))
	for _, p := range m.Points {
		s := p.Name
		if p.Policy != "" {
			s += ":" + p.Policy
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func (m Member) tools() string {
	switch {
	case m.Dynamic && len(m.Tools) > 0:
		return strings.Join(m.Tools, " ") + " (run time)"
	case m.Dynamic || m.Group:
		return "(run time)"
	}
	return strings.Join(m.Tools, " ")
}

func (p *Plan) legend() string {
	var optional, group bool
	for _, m := range p.Members {
		optional, group = optional || m.Optional, group || m.Group
	}
	switch {
	case optional && group:
		return "? may be nil, [] a group given at run time"
	case optional:
		return "? may be nil"
	case group:
		return "[] a group given at run time"
	}
	return ""
}
