package picture

import (
	"fmt"
	"slices"
	"strings"
)

// svg draws the views below each other. The picture brings its colours for light
// and dark, and no font: it is laid out so that the fonts of any reader fit.
func svg(views []*View) string {
	var c canvas
	w, y := minWidth, 0.0
	for _, v := range views {
		w = max(w, layGrid(v, layLabels(layRows(v)).right).right+margin)
	}
	for _, v := range views {
		y = draw(&c, v, w, y+margin)
	}
	y += margin
	var sb strings.Builder
	fmt.Fprintf(&sb, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\" width=\"%s\" height=\"%s\" role=\"img\" aria-labelledby=\"title desc\">\n",
		num(w), num(y), num(w), num(y))
	title, desc := spoken(views)
	fmt.Fprintf(&sb, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>\n%s</style>\n", escaped(title), escaped(desc), style())
	fmt.Fprintf(&sb, "<rect width=\"%s\" height=\"%s\" class=\"bg\"/>\n", num(w), num(y))
	return sb.String() + c.sb.String() + "</svg>\n"
}

// spoken is the picture in words.
func spoken(views []*View) (title, desc string) {
	var names, all []string
	for _, v := range views {
		names = append(names, v.Type)
		var members []string
		for i := range v.Members {
			members = append(members, v.Members[i].Field)
		}
		s := fmt.Sprintf("%s: %s.", v.Type, v.summary())
		if len(members) > 0 {
			s += " In plan order: " + strings.Join(members, ", ") + "."
		}
		for _, p := range v.Points {
			var names []string
			for _, c := range p.Calls {
				names = append(names, c.Member)
			}
			s += fmt.Sprintf(" %s: %s.", p.Name, strings.Join(names, ", "))
		}
		all = append(all, s)
	}
	return "Plan of " + strings.Join(names, ", "), strings.Join(all, " ")
}

// summary is the size of the composite in a few words.
func (v *View) summary() string {
	tools, more := 0, false
	for _, l := range leaves(v.Members, nil) {
		if !l.itself {
			tools += len(l.Tools)
			more = more || l.Dynamic || l.Group
		}
	}
	s := fmt.Sprintf("%s, %s, %s", count(len(v.Members), "member"), count(len(v.Points), "point"), count(tools, "tool"))
	if more {
		s += " and those known at run time"
	}
	for _, d := range v.Off {
		s += ", " + d.String()
	}
	return s
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// style is the style sheet: one class for each font and each colour.
func style() string {
	var sb strings.Builder
	const (
		sans = `system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",Helvetica,Arial,sans-serif`
		mono = `ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace`
	)
	fmt.Fprintf(&sb, "text{font-family:%s}\n", sans)
	for _, f := range []font{titleFont, nameFont, scopeFont, bodyFont, smallFont, codeFont, typeFont, markFont} {
		fmt.Fprintf(&sb, ".%s{font-size:%spx", f.class, num(f.size))
		if f.bold {
			sb.WriteString(";font-weight:bold")
		}
		if f.mono {
			sb.WriteString(";font-family:" + mono)
		}
		sb.WriteString("}\n")
	}
	sb.WriteString(".lane,.way,.way2,.bar{fill:none}\n.way{stroke-width:2;stroke-opacity:.35}\n.way2{stroke-width:1.5}\n.around,.maybe{stroke-width:1.5}\n.maybe{stroke-dasharray:3 2}\n")
	theme(&sb, false)
	sb.WriteString("@media (prefers-color-scheme:dark){\n")
	theme(&sb, true)
	sb.WriteString("}\n")
	return sb.String()
}

func theme(sb *strings.Builder, dark bool) {
	bg, ink, muted, panel, edge, tint := white, "#1f2328", "#59636e", "#f6f8fa", "#d1d9e0", "#e6eefb"
	if dark {
		bg, ink, muted, panel, edge, tint = black, "#e6edf3", "#9198a1", "#161b22", "#3d444d", "#16233a"
	}
	fmt.Fprintf(sb, ".bg{fill:%s}\n.ink{fill:%s}\n.muted{fill:%s}\n.card,.chip{fill:%s;stroke:%s}\n.open{fill:%s;stroke:%s;stroke-dasharray:3 2}\n", bg, ink, muted, panel, edge, bg, edge)
	fmt.Fprintf(sb, ".block{fill:%s;stroke:%s;fill-opacity:.6}\n.lane{stroke:%s}\n.stripe,.badge{fill:%s}\n.bar{stroke:%s;stroke-width:3;stroke-linecap:round}\n", tint, edge, edge, panel, edge)
	for _, k := range kinds() {
		c := k.light
		if dark {
			c = k.dark
		}
		fmt.Fprintf(sb, ".%s{fill:%s;stroke:%s}\n.%s-ink{fill:%s}\n", k.name, c.fill, c.line, k.name, c.ink)
		fmt.Fprintf(sb, ".way.%s,.way2.%s{fill:none;stroke:%s}\n.around.%s,.maybe.%s{fill:%s;stroke:%s}\n", k.name, k.name, c.line, k.name, k.name, bg, c.line)
	}
}

// draw draws one view from the top y on and returns the y behind it.
func draw(c *canvas, v *View, w, y float64) float64 {
	p := &painter{canvas: c, v: v, w: w}
	y = c.lines(margin, y, start, titleFont, "ink", titleFont.wrap(clean(v.Type), w-2*margin))
	about := v.summary()
	if v.Package != "" {
		about = v.Package + " · " + about
	}
	y = c.lines(margin, y+2, start, bodyFont, "muted", bodyFont.wrap(clean(about), w-2*margin))
	if len(v.Members) == 0 {
		return c.lines(margin, y+16, start, bodyFont, "ink", []string{"It has no members."})
	}
	y = p.legend(y + 14)
	y = p.lifecycle(y + 20)
	y = p.tools(y + 24)
	if len(v.Unused) > 0 {
		lines := bodyFont.wrap(clean("Nobody acts at "+strings.Join(v.Unused, ", ")+"."), w-2*margin)
		y = c.lines(margin, y+16, start, bodyFont, "muted", lines)
	}
	return y
}

// usedKinds are the kinds of the points that are shown.
func (v *View) usedKinds() []kind {
	return slices.DeleteFunc(kinds(), func(k kind) bool {
		return !slices.ContainsFunc(v.Points, func(a At) bool { return kindOf(a.Kind).name == k.name })
	})
}
