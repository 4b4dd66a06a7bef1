package picture

import (
	"fmt"
	"slices"
	"strings"
)

// Courses are what may be said at each point, for [Course].
type Courses struct {
	// Points are those of the contract.
	Points []Point
	// Answers are what may be answered at a point, by its name: "deny", "ask".
	Answers map[string][]string
	// Silent are the points at which a hook's own failure is no opinion, whatever the
	// policy.
	Silent []string
}

// Course draws the lifecycle itself, without any composite: every point in the
// order in which a runtime calls it, in the scopes around it, with its kind, what
// may be answered and what becomes of a failure. It is an SVG as those of Render.
func Course(o Courses) []byte {
	d := &course{o: o}
	d.y = d.lines(margin, margin, start, titleFont, "ink", []string{"The course of a turn"})
	d.y = d.lines(margin, d.y+2, start, bodyFont, "muted", []string{"Each point in the order in which the runtime calls it, from top to bottom, and the scopes around it."}) + 10
	for _, s := range Lifecycle(o.Points) {
		d.scope(s, 0)
		d.y += 12
	}
	d.y = d.legend(d.y + 4)
	var sb strings.Builder
	fmt.Fprintf(&sb, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\" width=\"%s\" height=\"%s\" role=\"img\" aria-labelledby=\"title desc\">\n",
		num(courseWidth), num(d.y+margin), num(courseWidth), num(d.y+margin))
	fmt.Fprintf(&sb, "<title id=\"title\">The course of a turn</title>\n<desc id=\"desc\">%s</desc>\n<style>\n%s</style>\n",
		escaped(strings.Join(d.spoken, " ")), style())
	fmt.Fprintf(&sb, "<rect width=\"%s\" height=\"%s\" class=\"bg\"/>\n", num(courseWidth), num(d.y+margin))
	return []byte(sb.String() + d.sb.String() + "</svg>\n")
}

// The columns of the picture.
const (
	courseWidth = 940.0
	courseKind  = 330.0
	courseSays  = 460.0
	courseFails = 770.0
	courseRow   = 30.0
)

// course draws from the top y on.
type course struct {
	canvas
	o      Courses
	y      float64
	spoken []string
}

// scope draws a scope with what is in it.
func (d *course) scope(s *Scope, depth int) {
	x, right := margin+float64(depth)*14, courseWidth-margin-float64(depth)*6
	top := d.y
	height := d.heightOf(s)
	d.rect(x, top, right-x, height, 8, "block")
	d.line(x+10, top+19, start, nameFont, "ink", s.Name)
	d.line(x+16+nameFont.width(s.Name), top+19, start, smallFont, "muted", s.Each)
	d.spoken = append(d.spoken, s.Name+":")
	d.y += scopeHead
	for _, name := range s.Before {
		d.point(name, x+10)
	}
	if s.Inside != nil {
		d.scope(s.Inside, depth+1)
		d.y += 6
	}
	for _, name := range s.After {
		d.point(name, x+10)
	}
	d.y = top + height
}

const scopeHead = 30.0

// heightOf is that of a scope with all that is in it.
func (d *course) heightOf(s *Scope) float64 {
	h := scopeHead + courseRow*float64(len(s.Before)+len(s.After)) + 4
	if s.Inside != nil {
		h += d.heightOf(s.Inside) + 6
	}
	return h
}

// point draws one point.
func (d *course) point(name string, x float64) {
	i := slices.IndexFunc(d.o.Points, func(p Point) bool { return p.Name == name })
	if i < 0 {
		d.y += courseRow
		return
	}
	p := d.o.Points[i]
	k, y := kindOf(p.Kind), d.y+courseRow/2
	says := strings.Join(d.o.Answers[name], " · ")
	d.group(name+": "+p.Kind+", "+p.Combine, func() {
		d.shape(k, x+12, y, 8, k.name)
		d.line(x+32, y+4, start, codeFont, "ink", name)
		order := "outer to inner"
		if p.Reverse {
			order = "inner to outer"
		}
		d.line(courseKind, y+4, start, smallFont, "muted", order)
		d.line(courseSays, y+4, start, smallFont, "ink", says)
		d.line(courseFails, y+4, start, smallFont, "muted", d.fails(p))
	})
	d.spoken = append(d.spoken, name+".")
	d.y += courseRow
}

func (d *course) fails(p Point) string {
	switch {
	case p.Kind == "facade", p.Bracket:
		return ""
	case slices.Contains(d.o.Silent, p.Name):
		return "failing says nothing"
	case p.Closed:
		return "fails closed"
	}
	return "fails open"
}

// legend explains the kinds.
func (d *course) legend(y float64) float64 {
	x := margin
	for _, k := range kinds() {
		w := 34 + scopeFont.width(k.name) + 6 + smallFont.width(k.says) + 18
		if x+w > courseWidth-margin {
			x, y = margin, y+30
		}
		d.shape(k, x+12, y+13, 8, k.name)
		d.line(x+34, y+17, start, scopeFont, "ink", k.name)
		d.line(x+34+scopeFont.width(k.name)+6, y+17, start, smallFont, "muted", k.says)
		x += w
	}
	return y + 30
}
