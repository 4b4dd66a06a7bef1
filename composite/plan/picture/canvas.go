package picture

import (
	"fmt"
	"strconv"
	"strings"
)

// canvas writes the elements of an SVG. Every string goes through escaped.
type canvas struct{ sb strings.Builder }

// num is a coordinate with one decimal at most.
func num(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

// escaped is a cleaned text as XML writes it, between tags and in attributes.
func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(clean(s))
}

// anchor is which end of a line its x belongs to.
type anchor string

const (
	start  anchor = "start"
	middle anchor = "middle"
)

// line writes one line of text with its baseline at y. What may be wider than
// the estimate is set in the estimate.
func (c *canvas) line(x, y float64, a anchor, f font, colour, s string) {
	if s = clean(s); s == "" {
		return
	}
	attr := ""
	if a != start {
		attr = ` text-anchor="` + string(a) + `"`
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !known(r) }) {
		attr += ` textLength="` + num(f.width(s)) + `" lengthAdjust="spacingAndGlyphs"`
	}
	fmt.Fprintf(&c.sb, "<text x=\"%s\" y=\"%s\" class=\"%s %s\"%s>%s</text>\n", num(x), num(y), f.class, colour, attr, escaped(s))
}

// lines writes lines from the top y on and returns the y behind them.
func (c *canvas) lines(x, y float64, a anchor, f font, colour string, all []string) float64 {
	for _, l := range all {
		c.line(x, y+f.size, a, f, colour, l)
		y += f.height()
	}
	return y
}

func (c *canvas) rect(x, y, w, h, round float64, class string) {
	fmt.Fprintf(&c.sb, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"%s\" class=\"%s\"/>\n", num(x), num(y), num(w), num(h), num(round), class)
}

func (c *canvas) path(class, d string) {
	fmt.Fprintf(&c.sb, "<path class=\"%s\" d=\"%s\"/>\n", class, d)
}

// group writes elements that belong together, with a title that pointers and
// screen readers get.
func (c *canvas) group(title string, inside func()) {
	fmt.Fprintf(&c.sb, "<g><title>%s</title>\n", escaped(title))
	inside()
	c.sb.WriteString("</g>\n")
}

// shape draws the outline of a kind around a centre; half is half its width.
func (c *canvas) shape(k kind, x, y, half float64, class string) {
	const h = 10.0 // half the height
	p := func(coords ...float64) string {
		d := "M"
		for i := 0; i < len(coords); i += 2 {
			d += num(x+coords[i]) + " " + num(y+coords[i+1]) + "L"
		}
		return strings.TrimSuffix(d, "L") + "Z"
	}
	switch k.shape {
	case hexagon:
		c.path(class, p(-half-3, 0, -half+3, -h, half-3, -h, half+3, 0, half-3, h, -half+3, h))
	case slanted:
		c.path(class, p(-half+3, -h, half+4, -h, half-3, h, -half-4, h))
	case diamond:
		c.path(class, p(-half-4, 0, 0, -h-3, half+4, 0, 0, h+3))
	case ring:
		half = max(half, h-1)
		c.rect(x-half-3, y-h-2, 2*half+6, 2*h+4, h+2, "around "+class)
		c.rect(x-half, y-h+1, 2*half, 2*h-2, h-1, class)
	case disc:
		half = max(half, h)
		c.rect(x-half, y-h, 2*half, 2*h, h, class)
	default:
		c.rect(x-half, y-h, 2*half, 2*h, 3, class)
	}
}
