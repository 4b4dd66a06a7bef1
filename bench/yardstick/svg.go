package main

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// widest is how much wider than ours the font of a reader may be: DejaVu Sans, which a
// system without ours takes, has up to 1.25 times the width.
const widest = 1.3

// roomFor is how much the longest of the texts takes in any font.
func roomFor(texts []string) vg.Length {
	room := vg.Length(0)
	for _, t := range texts {
		room = max(room, (text.Style{Font: sans, Handler: anchors}).Width(t))
	}
	return vg.Length(math.Ceil(float64(room*widest + 6)))
}

// anchored sets text so that it stays centred, or ends where it should, in a font of
// other widths: it places the middle or the end of a line, and says which by a character
// that anchor reads, because a canvas takes no attributes.
type anchored struct{ text.Plain }

var _ text.Handler = anchored{}

var anchors = anchored{plot.DefaultTextHandler.(text.Plain)}

// The characters in front of a text, which are for private use.
const (
	fromMiddle = "\ue001"
	fromEnd    = "\ue002"
)

// Draw implements text.Handler.
func (h anchored) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	mark := ""
	switch sty.XAlign {
	case text.XCenter:
		mark = fromMiddle
	case text.XRight:
		mark = fromEnd
	}
	lines := h.Lines(strings.TrimRight(txt, "\n"))
	for i, l := range lines {
		lines[i] = mark + l
	}
	sty.XAlign = text.XLeft
	h.Plain.Draw(c, strings.Join(lines, "\n"), sty, pt)
}

// render draws a plot below its title, and in the room to its right what after draws.
func render(p *plot.Plot, title string, width, room vg.Length, after func(c draw.Canvas)) ([]byte, error) {
	canvas := vgsvg.New(width+room, height)
	all := draw.New(canvas)
	canvas.SetColor(paper)
	canvas.Fill(all.Rectangle.Path())
	head := text.Style{Color: ink, Font: sans, XAlign: text.XCenter, YAlign: text.YTop, Handler: anchors}
	head.Font.Size = textSize + 3
	all.FillText(head, vg.Point{X: (width + room) / 2, Y: height - 12}, title)
	inner := draw.Crop(all, 10, -room, 10, -40)
	p.Draw(inner)
	after(inner)
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	return readable(out.String(), title), nil
}

// readable gives a picture a name for those who hear it, names fonts of about the same
// widths for machines that have not the first one, anchors its texts, and takes the
// colours into a style sheet for light and dark pages.
func readable(svg, title string) []byte {
	svg = strings.ReplaceAll(svg, "font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
	svg = strings.Replace(svg, "<svg ", `<svg role="img" `, 1)
	svg = anchor(svg)
	svg, sheet := themed(svg)
	at := strings.Index(svg, "<g ")
	return []byte(svg[:at] + "<title>" + html.EscapeString(title) + "</title>\n<style>\n" + sheet + "</style>\n" + svg[at:])
}

var (
	markedText = regexp.MustCompile(`<text ([^>]*)>([` + fromMiddle + fromEnd + `])`)
	styled     = regexp.MustCompile(`style="([^"]*)"`)
	coloured   = regexp.MustCompile(`(fill|stroke):#([0-9A-F]{6});?`)
)

// anchor puts an attribute in the place of the characters of [anchored].
func anchor(svg string) string {
	return markedText.ReplaceAllStringFunc(svg, func(tag string) string {
		m := markedText.FindStringSubmatch(tag)
		where := map[string]string{fromMiddle: "middle", fromEnd: "end"}[m[2]]
		return fmt.Sprintf(`<text text-anchor="%s" %s>`, where, m[1])
	})
}

// themed puts a class in the place of each colour, and returns the sheet of the classes.
func themed(svg string) (out, sheet string) {
	used := map[string]bool{}
	out = styled.ReplaceAllStringFunc(svg, func(attr string) string {
		style := styled.FindStringSubmatch(attr)[1]
		var classes []string
		for _, m := range coloured.FindAllStringSubmatch(style, -1) {
			class := m[1] + "-" + m[2]
			used[class] = true
			classes = append(classes, class)
		}
		if len(classes) == 0 {
			return attr
		}
		rest := strings.Trim(coloured.ReplaceAllString(style, ""), ";")
		attr = fmt.Sprintf(`class="%s"`, strings.Join(classes, " "))
		if rest != "" {
			attr += fmt.Sprintf(` style="%s"`, rest)
		}
		return attr
	})
	var light, dark strings.Builder
	for _, class := range slices.Sorted(maps.Keys(used)) {
		property, colour, _ := strings.Cut(class, "-")
		fmt.Fprintf(&light, ".%s{%s:#%s}\n", class, property, colour)
		if other, ok := onDark[colour]; ok {
			fmt.Fprintf(&dark, ".%s{%s:#%s}\n", class, property, other)
		}
	}
	return out, light.String() + "@media (prefers-color-scheme:dark){\n" + dark.String() + "}\n"
}

// onDark are the colours on a dark page. Those of bars, and of the text on them, stay.
var onDark = map[string]string{
	hex(paper): "0D1117", hex(ink): "E6EDF3", hex(fine): "30363D",
	hex(colours[0]): "4493F8", hex(colours[1]): "9198A1", hex(colours[2]): "F0883E", hex(colours[3]): "3FB996",
	hex(colours[4]): "D2A8FF", hex(colours[5]): "D8A227",
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("%02X%02X%02X", r>>8, g>>8, b>>8)
}
