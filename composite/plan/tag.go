package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// Options are the options in the hook tag of one field:
//
//	hook:"prefix=u_,optional,before=Memory; BeforeTool: timeout=2m,failopen"
//
// The options of the field come first, then each point with its options.
type Options struct {
	// Ignore is "-": the field is no member.
	Ignore bool
	// Optional: the field may be nil.
	Optional bool
	// Dynamic: the member's tools are known only at run time.
	Dynamic bool
	// Prefix is put in front of the member's tool names.
	Prefix string
	// Before, After and Requires name fields of the same composite.
	Before, After, Requires []string
	// Order refines the declaration order, lower first; nil is 100.
	Order *int
	// Only and Without are the points at which the member is called, or is not; at
	// most one of them is set.
	Only, Without []string
	// Match narrows the calls to places that match one of the patterns of each kind. It
	// has no effect at points whose places lack the kind of attribute. A place with an
	// empty attribute, such as a call without a path, does not match.
	Match []Pattern
	// Points are the policies of single points, in the order written.
	Points []PointUse

	// off and on are the words of a layer.
	off, on bool
}

const defaultOrder = 100

func (o Options) order() int {
	if o.Order == nil {
		return defaultOrder
	}
	return *o.Order
}

// At returns the options at a point; without any only the name is set.
func (o Options) At(point string) PointUse {
	for _, p := range o.Points {
		if p.Name == point {
			return p
		}
	}
	return PointUse{Name: point}
}

// Excludes reports whether only= or without= excludes the point.
func (o Options) Excludes(point string) bool {
	return len(o.Only) > 0 && !slices.Contains(o.Only, point) || slices.Contains(o.Without, point)
}

// Narrows returns the patterns that apply at the point.
func (o Options) Narrows(p Point) []Pattern {
	var out []Pattern
	for _, m := range o.Match {
		if a, ok := attributeOf(m.Kind); ok && a.about(p) {
			out = append(out, m)
		}
	}
	return out
}

type ref struct{ word, field string }

func (o Options) refs() []ref {
	var out []ref
	for word, fields := range map[string][]string{"before": o.Before, "after": o.After, "requires": o.Requires} {
		for _, f := range fields {
			out = append(out, ref{word, f})
		}
	}
	slices.SortFunc(out, func(a, b ref) int { return strings.Compare(a.word+a.field, b.word+b.field) })
	return out
}

// ParseTag parses the value of a hook tag. points are all known points. Its problems have no
// fields: the caller knows the position.
func ParseTag(tag string, points []Point) (Options, []Problem) {
	t := parser{points: points, words: fieldWords()}
	t.parse(tag)
	t.contradictions()
	return t.options, t.problems
}

// parser parses one tag, or one setting of a layer.
type parser struct {
	points []Point
	// words are those before the first point.
	words    []word[Options]
	options  Options
	problems []Problem
}

func (t *parser) parse(tag string) {
	for i, part := range strings.Split(tag, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, text, isPoint := strings.Cut(part, ":")
		isPoint = isPoint && !strings.ContainsAny(name, "=,")
		switch {
		case isPoint:
			t.point(strings.TrimSpace(name), text)
		case i > 0:
			p := problem("%q stands after a point but names none; write Point: option", part)
			p.Word = part
			t.problems = append(t.problems, p)
		default:
			t.field(part)
		}
	}
}

func (t *parser) add(p *Problem) {
	if p != nil {
		t.problems = append(t.problems, *p)
	}
}

func (t *parser) field(text string) {
	last := ""
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		name, value, valued := strings.Cut(part, "=")
		w, ok := find(t.words, name)
		if _, behind := find(pointWords(), name); !ok && behind {
			t.add(&Problem{
				Code: "HG043", Word: name, Message: fmt.Sprintf("%s stands before the first point, so it names none", name),
				Fix: "put it behind a point, as in  BeforeTool: " + strings.TrimSpace(part),
			})
			continue
		}
		if !ok {
			p := unknownWord(name, names(t.words))
			if fix := continued(last, part); fix != "" && spell.Closest(name, names(t.words)) == "" {
				p.Fix = fix
			}
			t.add(&p)
			continue
		}
		last = part
		t.add(use(w, &t.options, value, valued))
	}
	t.named("only", t.options.Only)
	t.named("without", t.options.Without)
}

// continued says how a word takes a further value; "" for a word with one value.
func continued(word, value string) string {
	name, _, valued := strings.Cut(word, "=")
	if !valued || strings.Contains(value, "=") {
		return ""
	}
	switch name {
	case "only", "without", "match":
		return "several are written with a bar:  " + word + "|" + value
	case "before", "after", "requires":
		return "several are written one by one:  " + word + "," + name + "=" + value
	}
	return ""
}

func (t *parser) named(word string, points []string) {
	for _, name := range points {
		if _, ok := t.find(name); !ok {
			p := unknownPoint(name, t.points)
			p.Message += " in " + word + "="
			t.add(&p)
		}
	}
}

func (t *parser) find(point string) (Point, bool) {
	i := slices.IndexFunc(t.points, func(p Point) bool { return p.Name == point })
	if i < 0 {
		return Point{}, false
	}
	return t.points[i], true
}

// use applies a word, or returns its problem.
func use[T any](w word[T], to *T, value string, valued bool) *Problem {
	p := problem("")
	p.Word = w.name
	switch {
	case w.example == "" && valued:
		p.Message, p.Fix = w.name+" takes no value", w.name
		return &p
	case w.example != "" && value == "":
		p.Message, p.Fix = fmt.Sprintf("%s wants a value, as in %s=%s", w.name, w.name, w.example), w.written()+"…"
		return &p
	}
	return w.set(to, value)
}

func (t *parser) point(name, text string) {
	p, ok := t.find(name)
	if !ok {
		t.add(one(unknownPoint(name, t.points)))
		return
	}
	i := slices.IndexFunc(t.options.Points, func(u PointUse) bool { return u.Name == name })
	if i < 0 {
		i = len(t.options.Points)
		t.options.Points = append(t.options.Points, PointUse{Name: name})
	}
	for part := range strings.SplitSeq(text, ",") {
		t.add(t.option(p, &t.options.Points[i], strings.TrimSpace(part)))
	}
}

func (t *parser) option(p Point, u *PointUse, text string) *Problem {
	name, value, valued := strings.Cut(text, "=")
	w, ok := find(pointWords(), name)
	if _, before := find(t.words, name); !ok && before {
		return &Problem{
			Code: "HG043", Word: text, Message: fmt.Sprintf("%s is an option of the field, not of %s", name, p.Name),
			Fix: "put it before the first point",
		}
	}
	if !ok {
		return one(unknownWord(name, names(pointWords())))
	}
	if why, fix := p.illegal(name); why != "" {
		return &Problem{
			Code: "HG043", Word: text, Message: fmt.Sprintf("%s behind %s does nothing: %s", name, p.Name, why), Fix: fix,
		}
	}
	return use(w, u, value, valued)
}

func (t *parser) contradictions() {
	o := t.options
	bad := func(word, fix, format string, args ...any) {
		t.add(&Problem{Code: "HG046", Word: word, Message: fmt.Sprintf(format, args...), Fix: fix})
	}
	rest := o
	rest.Ignore = false
	if o.Ignore && !rest.zero() {
		bad("-", "drop it, or all others", "- leaves the field out, and other options say what it does")
	}
	if len(o.Only) > 0 && len(o.Without) > 0 {
		bad("without", "say it with one of them", "only= and without= together")
	}
	for _, u := range o.Points {
		if o.Excludes(u.Name) {
			bad(u.Name+":", "drop one of them", "%s has policies, and only= or without= leaves it out", u.Name)
		}
	}
	for _, f := range o.Before {
		if slices.Contains(o.After, f) {
			bad("after="+f, "drop one of them", "before=%s and after=%s together", f, f)
		}
	}
}

func (o Options) zero() bool {
	return !o.Ignore && !o.Optional && !o.Dynamic && o.Prefix == "" && o.Order == nil && len(o.Before)+len(o.After)+
		len(o.Requires)+len(o.Only)+len(o.Without)+len(o.Match)+len(o.Points) == 0
}

func unknownWord(word string, known []string) Problem {
	p := problem("unknown word %q", word)
	p.Word, p.Meant = word, spell.Closest(word, known)
	p.Fix = "the words are " + strings.Join(known, ", ")
	if p.Meant != "" {
		p.Fix = fmt.Sprintf("did you mean %q?", p.Meant)
	}
	return p
}

func unknownPoint(name string, points []Point) Problem {
	p := problem("unknown point %q", name)
	p.Word = name
	p.Meant, p.Fix = closestPoint(name, points)
	return p
}

// closestPoint returns the point that was probably meant, "" if none is close, and the fix that names it or all points.
func closestPoint(name string, points []Point) (meant, fix string) {
	var known []string
	for _, p := range points {
		known = append(known, p.Name)
	}
	if meant = spell.Closest(name, known); meant != "" {
		return meant, fmt.Sprintf("did you mean %q?", meant)
	}
	return "", "the points are " + strings.Join(known, ", ")
}

func problem(format string, args ...any) Problem {
	return Problem{Code: "HG009", Message: fmt.Sprintf(format, args...)}
}

func one(p Problem) *Problem { return &p }
