package plan

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// textWidth is the width of a line of Text; narrowest is the minimum width of the last
// column.
const (
	textWidth = 100
	narrowest = 40
)

// Text returns the plan for people, as in the comment at the head of generated code: a
// review shows a change of the order as a moved line. Each member, in plan order, has a line
// for its points and one for its tools. Members of a nested composite are indented below it.
func (p *Plan) Text() string {
	rows := p.rows("", "", "")
	number, field := 1, len("field")
	for _, r := range rows {
		number, field = max(number, len(r.number)), max(field, utf8.RuneCountInString(r.field))
	}
	var sb strings.Builder
	line := func(a, b, c string) {
		sb.WriteString(strings.TrimRight(pad(a, number)+"  "+pad(b, field)+"  "+c, " ") + "\n")
	}
	line("#", "field", "acts at")
	for _, r := range rows {
		a, b := r.number, r.field
		for i, text := range r.lines {
			for j, l := range wrap(text, max(textWidth-number-field-4, narrowest)) {
				if i+j > 0 {
					a, b = "", ""
				}
				line(a, b, l)
			}
		}
	}
	for i, d := range p.Disabled() {
		if i == 0 {
			sb.WriteString("\n")
		}
		sb.WriteString(d.String() + "\n")
	}
	if legend := p.legend(); legend != "" {
		sb.WriteString("\n" + legend + "\n")
	}
	return sb.String()
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
}

// wrap breaks text between words into lines of at most width. A longer word gets a line of
// its own. It returns at least one line.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line+" "+word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// row is one member in Text.
type row struct {
	number, field string
	lines         []string
}

// rows returns the rows of the members. number, indent and prefix precede their numbers, their
// names and the names of their tools.
func (p *Plan) rows(number, indent, prefix string) []row {
	var out []row
	for i, m := range p.Members {
		n := number + strconv.Itoa(i+1)
		lines := []string{m.Acts()}
		for _, l := range []struct{ word, text string }{{"tools", m.Owns(prefix)}, {"requires", strings.Join(m.Requires, " ")}, {"version", m.versions()}} {
			if l.text != "" {
				lines = append(lines, l.word+": "+l.text)
			}
		}
		out = append(out, row{n, indent + m.Label(), lines})
		if m.Composite != nil {
			out = append(out, m.Composite.rows(n+".", indent+"  ", prefix+m.Prefix)...)
		}
	}
	return out
}

// versions returns the version of the subsystem for people; "" if it declares none.
func (m Member) versions() string {
	switch {
	case m.Version == 0:
		return ""
	case m.Accepts == 0 || m.Accepts == m.Version:
		return strconv.Itoa(m.Version)
	}
	return strconv.Itoa(m.Version) + ", takes queued calls from version " + strconv.Itoa(m.Accepts) + " on"
}

// Label returns the field's name with a mark if it is optional or a group: "Memory?",
// "Extra[]".
func (m Member) Label() string {
	s := m.Field
	if m.Group {
		s += "[]"
	}
	if m.Optional {
		s += "?"
	}
	return s
}

// Open reports whether the points of the member are known only at run time: it
// is a group, or a field of an interface type. Such a member is called at every
// point.
func (m Member) Open() bool {
	return m.Group || len(m.Points) == 0 && (m.Dynamic && m.Composite == nil || len(m.Only)+len(m.Without) > 0)
}

// Acts returns the points of the member in one line, each with the options of its tag,
// "Schema BeforeTool:failopen". A composite has only points that none of its members has. ~
// marks points at which the turn waits for the hook without a limit, and ^ those at which it
// has a fallback.
func (m Member) Acts() string {
	var parts []string
	switch {
	case m.Open() && len(m.Only) > 0:
		parts = append(parts, m.Only...)
	case m.Open():
		parts = append(parts, "all points")
	}
	if len(m.Without) > 0 {
		parts = append(parts, "but "+strings.Join(m.Without, " "))
	}
	for _, u := range m.Policies {
		parts = append(parts, u.String())
	}
	if m.Composite != nil {
		parts = append(parts, "composite "+m.Composite.Type)
	}
	for _, p := range m.Points {
		if m.Composite == nil || p.String() != p.Name || !m.Composite.has(p.Name) {
			parts = append(parts, strings.Replace(p.String(), p.Name, p.Name+m.marks(p), 1))
		}
	}
	for _, pattern := range m.Match {
		parts = append(parts, "match="+pattern)
	}
	return strings.Join(parts, " ")
}

func (m Member) marks(p PointUse) string {
	marks := ""
	if m.Composite == nil && p.Unbounded() {
		marks = "~"
	}
	if m.fallsBack(p) {
		marks += "^"
	}
	return marks
}

// fallsBack reports whether the member's fallback counts at the point.
func (m Member) fallsBack(p PointUse) bool {
	return m.Fallback && p.Kind == "contribute" && p.Policy != "failclosed"
}

func (p *Plan) has(point string) bool {
	return slices.ContainsFunc(p.Members, func(m Member) bool {
		if m.Composite != nil && m.Composite.has(point) {
			return true
		}
		return m.Open() || slices.ContainsFunc(m.Points, func(u PointUse) bool { return u.Name == point })
	})
}

// String returns the point with its options in the form of a tag, without blanks:
// "BeforeTool:failopen,timeout=2m".
func (u PointUse) String() string {
	if o := u.Options(); o != "" {
		return u.Name + ":" + o
	}
	return u.Name
}

// Owns returns the names of the member's tools in one line, with the prefix of the
// composites around it. It returns "" for a composite, because its members have the tools.
func (m Member) Owns(prefix string) string {
	tools := ""
	if len(m.Tools) > 0 {
		tools = prefix + strings.Join(m.Tools, " "+prefix)
	}
	switch {
	case m.Composite != nil:
		return ""
	case !m.Dynamic && !m.Group:
		return tools
	case tools == "":
		return "known at run time"
	}
	return tools + ", more at run time"
}

func (p *Plan) legend() string {
	var optional, group, unbounded, fallback bool
	p.each(func(m Member) {
		optional, group = optional || m.Optional, group || m.Group
		fallback = fallback || slices.ContainsFunc(m.Points, m.fallsBack)
		unbounded = unbounded || m.Composite == nil && slices.ContainsFunc(m.Points, PointUse.Unbounded)
	})
	var marks []string
	for _, l := range []struct {
		there bool
		mark  string
	}{{optional, "? may be nil"}, {group, "[] a group given at run time"}, {unbounded, "~ is waited for without a bound"}, {fallback, "^ has a fallback"}} {
		if l.there {
			marks = append(marks, l.mark)
		}
	}
	return strings.Join(marks, ", ")
}

// each visits all members, those of nested composites included.
func (p *Plan) each(visit func(Member)) {
	for _, m := range p.Members {
		visit(m)
		if m.Composite != nil {
			m.Composite.each(visit)
		}
	}
}
