package main

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// chart is a picture of the page.
type chart struct {
	// file is its name below docs/performance, and alt what it shows, in words.
	file, title, alt string
	svg              []byte
}

// growth is a chart of cost against a size, one line a subject.
type growth struct{ scenario, file, title, axis string }

var growths = []growth{
	{"Turn", "tools.svg", "A turn with one call, by registered tools", "registered tools"},
	{"TurnHooks", "hooks.svg", "A turn with one call, by hooks", "hooks that act at every model call and tool call"},
	{"TurnHistory", "history.svg", "A turn with one call, by length of the history", "messages before the turn"},
}

// The measures of the pictures, in points. The width is without the names on the right.
const (
	growthWidth, sharesWidth = 540, 470
	height                   = 380
	textSize                 = 11
)

// Dark enough on white, and told apart by those who see fewer colours. The order is that
// of lines.
var colours = []color.Color{
	color.RGBA{0x00, 0x5f, 0xcc, 0xff}, color.RGBA{0x59, 0x63, 0x6e, 0xff}, color.RGBA{0xb8, 0x3a, 0x00, 0xff}, color.RGBA{0x00, 0x73, 0x5a, 0xff},
	color.RGBA{0x94, 0x2c, 0xa0, 0xff}, color.RGBA{0x94, 0x6c, 0x00, 0xff}, color.RGBA{0x1f, 0x23, 0x28, 0xff},
}

// lines are who has a line in the charts, with the same colour in all of them.
var lines = append([]string{"grapnel", "limit"}, agents...)

func colourOf(subject string) color.Color {
	return colours[(slices.Index(lines, subject)+len(colours))%len(colours)] // whoever is not there has the last
}

var (
	ink   = color.RGBA{0x1f, 0x23, 0x28, 0xff}
	fine  = color.RGBA{0xd8, 0xde, 0xe4, 0xff}
	paper = color.RGBA{0xff, 0xff, 0xff, 0xff}
	// onBars is ink that stays as it is on a dark page, like what it stands on.
	onBars = color.RGBA{0x1f, 0x23, 0x29, 0xff}
)

var sans = font.Font{Typeface: "Liberation", Variant: "Sans", Size: textSize}

// charts draws all that the results have something for.
func (r *Results) charts() (all []chart, err error) {
	for _, g := range growths {
		if len(r.groups(g.scenario)) < 2 {
			continue
		}
		c, err := r.drawGrowth(g)
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", g.file, err)
		}
		all = append(all, c)
	}
	if len(r.Shares) > 0 {
		c, err := r.drawShares()
		if err != nil {
			return nil, fmt.Errorf("draw the shares: %w", err)
		}
		all = append(all, c)
	}
	return all, nil
}

// newPlot is an empty plot in our fonts and colours.
func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	style := func(s *text.Style, size vg.Length) {
		s.Font, s.Color, s.Handler = sans, ink, anchors
		s.Font.Size = size
	}
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Label.Padding, p.Y.Label.Padding = 6, 14 // another font may be wider
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		style(&axis.Label.TextStyle, textSize)
		style(&axis.Tick.Label, textSize)
		axis.Color, axis.LineStyle.Color, axis.Tick.LineStyle.Color = ink, ink, ink
	}
	style(&p.Legend.TextStyle, textSize)
	return p
}

// series is the line of a subject: its times by the place of the size.
type series struct {
	subject string
	at      plotter.XYs
}

// series of a scenario, ours first, then by what they end with.
func (r *Results) series(scenario string) (all []series, labels []string) {
	for i, group := range r.groups(scenario) {
		_, value, _ := strings.Cut(group, "=")
		var n float64
		fmt.Sscan(value, &n)
		labels = append(labels, whole(n))
		for _, b := range r.Benchmarks {
			p, ok := split(b.Name)
			if !ok || p.group != group {
				continue
			}
			k := slices.IndexFunc(all, func(s series) bool { return s.subject == p.subject })
			if k < 0 {
				k = len(all)
				all = append(all, series{subject: p.subject})
			}
			all[k].at = append(all[k].at, plotter.XY{X: float64(i), Y: b.Units[nanoseconds].Median})
		}
	}
	slices.SortStableFunc(all, func(a, b series) int {
		return cmp.Or(cmp.Compare(rank(a.subject), rank(b.subject)), cmp.Compare(a.at[len(a.at)-1].Y, b.at[len(b.at)-1].Y))
	})
	return all, labels
}

func rank(name string) int {
	return slices.IndexFunc(subjects, func(s subject) bool { return s.name == name })
}

func (r *Results) drawGrowth(g growth) (chart, error) {
	all, labels := r.series(g.scenario)
	p := newPlot(g.axis, "time of a turn (logarithmic)")
	p.Y.Scale = plot.LogScale{}
	low, high := math.Inf(1), 0.0
	for _, s := range all {
		for _, xy := range s.at {
			low, high = min(low, xy.Y), max(high, xy.Y)
		}
	}
	p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	var y, x []plot.Tick
	for v := p.Y.Min; v <= p.Y.Max*1.01; v *= 10 {
		y = append(y, plot.Tick{Value: v, Label: duration(v)})
	}
	for i, label := range labels {
		x = append(x, plot.Tick{Value: float64(i), Label: label})
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(x), plot.ConstantTicks(y)
	p.X.Min, p.X.Max = 0, float64(len(labels)-1)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, fine
	p.Add(grid)
	for _, s := range all {
		line, points, err := plotter.NewLinePoints(s.at)
		if err != nil {
			return chart{}, err
		}
		line.Color, line.Width = colourOf(s.subject), 1.6
		if s.subject == "limit" {
			line.Dashes = []vg.Length{4, 3}
		}
		points.Color, points.Shape, points.Radius = line.Color, draw.CircleGlyph{}, 2.6
		p.Add(line, points)
	}
	var names []string
	for _, s := range all {
		names = append(names, s.subject)
	}
	svg, err := render(p, g.title, growthWidth, 8+roomFor(names), func(c draw.Canvas) { labelLines(p, c, all) })
	return chart{file: g.file, title: g.title, alt: altOf(g, all, labels), svg: svg}, err
}

// labelLines writes the name of each line at its end, and moves names apart that
// would lie on each other.
func labelLines(p *plot.Plot, c draw.Canvas, all []series) {
	data := p.DataCanvas(c)
	_, toY := p.Transforms(&data)
	type label struct {
		y    vg.Length
		text string
		c    color.Color
		end  plotter.XY
	}
	var labels []label
	for _, s := range all {
		end := s.at[len(s.at)-1]
		labels = append(labels, label{toY(end.Y), s.subject, colourOf(s.subject), end})
	}
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	const apart = textSize + 2
	for i := range labels {
		if i > 0 {
			labels[i].y = max(labels[i].y, labels[i-1].y+apart)
		}
	}
	top := data.Max.Y
	for i := len(labels) - 1; i >= 0; i-- {
		labels[i].y = min(labels[i].y, top)
		top = labels[i].y - apart
	}
	for _, l := range labels {
		style := draw.TextStyle{Color: l.c, Font: sans, YAlign: draw.YCenter, Handler: anchors}
		c.FillText(style, vg.Point{X: data.Max.X + 8, Y: l.y}, l.text)
	}
}

func altOf(g growth, all []series, labels []string) string {
	var each []string
	for _, s := range all {
		first, last := s.at[0], s.at[len(s.at)-1]
		each = append(each, fmt.Sprintf("%s %s at %s, %s at %s", s.subject, duration(first.Y), labels[int(first.X)], duration(last.Y), labels[int(last.X)]))
	}
	return g.title + ": " + strings.Join(each, "; ")
}

// drawShares draws a bar for each of our turns, cut by what takes the time.
func (r *Results) drawShares() (chart, error) {
	const title = "Where the time of a turn goes"
	p := newPlot("", "share of the processor's time")
	var names []string
	for _, s := range r.Shares {
		names = append(names, strings.Replace(s.Title, ", ", "\n", 1))
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.6, float64(len(names))-0.4
	p.Y.Min, p.Y.Max = 0, 1
	var ticks []plot.Tick
	for v := 0; v <= 100; v += 20 {
		ticks = append(ticks, plot.Tick{Value: float64(v) / 100, Label: fmt.Sprintf("%d %%", v)})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	var below *plotter.BarChart
	for i, class := range classes() {
		var values plotter.Values
		for _, s := range r.Shares {
			values = append(values, s.of(class))
		}
		bars, err := plotter.NewBarChart(values, 80)
		if err != nil {
			return chart{}, err
		}
		bars.Color, bars.LineStyle.Color, bars.LineStyle.Width = barColours[i%len(barColours)], paper, 0.7
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
	}
	svg, err := render(p, title, sharesWidth, 32+roomFor(classes()), func(c draw.Canvas) { labelBars(p, c, r.Shares) })
	return chart{file: "shares.svg", title: title, alt: title + ", by cause; the table below has the figures", svg: svg}, err
}

// Light enough for dark text on each.
var barColours = []color.Color{
	color.RGBA{0x9e, 0xc5, 0xf4, 0xff}, color.RGBA{0xf4, 0xb9, 0x8f, 0xff}, color.RGBA{0x9b, 0xd8, 0xc4, 0xff}, color.RGBA{0xe0, 0xb0, 0xe6, 0xff},
	color.RGBA{0xf2, 0xd7, 0x7a, 0xff}, color.RGBA{0xa9, 0xd8, 0xe8, 0xff}, color.RGBA{0xe9, 0xa9, 0xa9, 0xff}, color.RGBA{0xd0, 0xd7, 0xde, 0xff},
}

// labelBars writes the share into each piece that has room, and the classes beside
// the bars, in their order.
func labelBars(p *plot.Plot, c draw.Canvas, shares []Share) {
	data := p.DataCanvas(c)
	toX, toY := p.Transforms(&data)
	style := draw.TextStyle{Color: onBars, Font: sans, XAlign: draw.XCenter, YAlign: draw.YCenter, Handler: anchors}
	for i, s := range shares {
		base := 0.0
		for _, class := range classes() {
			share := s.of(class)
			if share >= 0.04 {
				c.FillText(style, vg.Point{X: toX(float64(i)), Y: toY(base + share/2)}, fmt.Sprintf("%.0f %%", 100*share))
			}
			base += share
		}
	}
	style.XAlign, style.Color = draw.XLeft, ink
	for i, class := range classes() {
		at := vg.Point{X: data.Max.X + 14, Y: data.Min.Y + vg.Length(i)*22 + 12}
		box := vg.Rectangle{Min: vg.Point{X: at.X, Y: at.Y - 6}, Max: vg.Point{X: at.X + 12, Y: at.Y + 6}}
		c.SetColor(barColours[i%len(barColours)])
		c.Fill(box.Path())
		c.FillText(style, vg.Point{X: at.X + 18, Y: at.Y}, class)
	}
}

// writeCharts writes the pictures into the page, and the shares in figures.
func (r *Results) writeCharts(b *strings.Builder, charts []chart) {
	if len(charts) == 0 {
		return
	}
	b.WriteString("## Charts\n\n")
	for _, c := range charts {
		fmt.Fprintf(b, "![%s](performance/%s)\n\n", c.alt, c.file)
	}
	r.writeShares(b)
}

// saveCharts writes the pictures below a directory, and removes those of another run.
func saveCharts(dir string, charts []chart) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for _, c := range charts {
		if err := os.WriteFile(filepath.Join(dir, c.file), c.svg, 0o644); err != nil {
			return err
		}
	}
	return nil
}
