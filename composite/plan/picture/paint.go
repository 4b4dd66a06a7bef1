package picture

import (
	"strconv"
)

// painter draws one view.
type painter struct {
	*canvas
	v *View
	w float64
}

// lifecycle draws the members as lanes and the points as rows.
func (p *painter) lifecycle(y float64) float64 {
	rows := layRows(p.v)
	at := layLabels(rows)
	g := layGrid(p.v, at.right)
	top := y
	for _, h := range g.levels {
		top += h
	}
	first := top + g.card + 10
	bottom := placeRows(rows, g, first)
	p.stripes(rows, g.right)
	for _, b := range g.blocks {
		p.block(b, g, y, bottom)
	}
	p.heads(at, first-10)
	for _, col := range g.columns {
		p.path("lane", "M"+num(col.centre())+" "+num(top+g.card)+"V"+num(bottom-6))
		p.cardOf(col, top, g.card)
	}
	for _, b := range bars(rows) {
		p.path("bar", "M"+num(rowX(b.depth)+1.5)+" "+num(b.from)+"V"+num(b.til))
	}
	for _, r := range rows {
		p.row(r, at)
	}
	return bottom + blockFoot*float64(len(g.levels))
}

// blockFoot is how much further down a block goes than one inside it.
const blockFoot = 6.0

// block draws what is around the columns of a composite; top is that of the
// outermost ones.
func (p *painter) block(b *block, g *grid, top, bottom float64) {
	for _, h := range g.levels[:b.depth] {
		top += h
	}
	p.rect(b.x, top, b.w, bottom-top+blockFoot*float64(len(g.levels)-b.depth), 8, "block")
	x, y := b.x+cardPad, top+cardPad/2
	p.line(x, y+nameFont.size, start, smallFont, "muted", b.number)
	x += smallFont.width(b.number) + 6
	y = p.lines(x, y, start, nameFont, "ink", b.name)
	if b.beside {
		p.line(x+nameFont.width(b.name[0])+8, y-nameFont.height()+nameFont.size, start, smallFont, "muted", b.about[0])
		return
	}
	p.lines(x, y, start, smallFont, "muted", b.about)
}

// heads are the names of the columns in front of the lanes; y is their foot.
func (p *painter) heads(at labels, y float64) {
	p.line(margin, y-8, start, smallFont, "muted", "Point")
	p.line(at.rule, y-8, start, smallFont, "muted", "Rule")
	p.line(at.fails, y-8, start, smallFont, "muted", "On failure")
}

// stripes are behind every other point.
func (p *painter) stripes(rows []*row, right float64) {
	odd := false
	for _, r := range rows {
		if odd = !odd && r.scope == nil; odd {
			x := rowX(r.depth) + 7
			p.rect(x, r.y, right-x, r.h, 4, "stripe")
		}
	}
}

func (p *painter) cardOf(col *column, y, h float64) {
	class := "card"
	if col.open() {
		class = "open"
	}
	p.rect(col.x, y, col.w, h, 6, class)
	x := col.x + cardPad
	y = p.lines(x, y+cardPad, start, smallFont, "muted", []string{col.number})
	y = p.lines(x, y, start, nameFont, "ink", col.name)
	y = p.lines(x, y, start, typeFont, "muted", col.typ)
	p.lines(x, y, start, smallFont, "ink", col.flags)
}

func (p *painter) row(r *row, at labels) {
	x, y := rowX(r.depth)+indent, r.y+19
	if r.scope != nil {
		p.line(x, y+2, start, scopeFont, "ink", titled(r.scope.Name))
		p.line(x+scopeFont.width(titled(r.scope.Name))+8, y+2, start, smallFont, "muted", r.scope.Each)
		return
	}
	p.line(x, y, start, codeFont, "ink", r.at.Name)
	p.line(at.rule, y, start, smallFont, "muted", r.at.shownRule())
	p.line(at.fails, y, start, smallFont, "muted", r.at.fails())
	k := kindOf(r.at.Kind)
	centre := r.y + rowHeight/2
	if len(r.marks) > 1 && !r.at.byTool() {
		line, heads := direction(r.marks, centre)
		p.path("way "+k.name, line)
		p.path("way2 "+k.name, heads)
	}
	for _, m := range r.marks {
		p.group(r.said(m.call), func() {
			p.mark(k, m.x, centre, strconv.Itoa(m.call.Order), m.call.Maybe)
			p.badge(m.x, r.y+rowHeight-1, m.font, m.badge)
		})
	}
}

// badge is what the tag says, in front of the lane.
func (p *painter) badge(x, y float64, in font, lines []string) {
	w := 0.0
	for _, l := range lines {
		w = max(w, in.width(l))
	}
	if w > 0 {
		p.rect(x-w/2-4, y-1, w+8, height(in, lines), 4, "badge")
		p.lines(x, y, middle, in, "ink", lines)
	}
}

// mark is the shape of a kind with the number of the call.
func (p *painter) mark(k kind, x, y float64, number string, maybe bool) {
	half, class, ink := max(9, markFont.width(number)/2+3), k.name, k.name+"-ink"
	if maybe {
		class, ink = k.name+" maybe", "ink"
	}
	p.shape(k, x, y, half, class)
	p.line(x, y+4, middle, markFont, ink, number)
}

// flow places things of some width beside each other, and the next line below.
type flow struct {
	left, right, x, y float64
	// step is the height of the line, least what it is at least.
	step, least float64
}

// next returns the place for something so wide.
func (f *flow) next(w float64) (x, y float64) {
	if f.x > f.left && f.x+w > f.right {
		f.x, f.y, f.step = f.left, f.y+f.step, f.least
	}
	x = f.x
	f.x += w
	return x, f.y
}

// sample is one entry of the legend.
type sample struct {
	word, says string
	draw       func(x, y float64)
}

func (s sample) width() float64 {
	return 34 + scopeFont.width(s.word) + 6 + smallFont.width(s.says) + 16
}

func (p *painter) samples() []sample {
	var out []sample
	for _, k := range p.v.usedKinds() {
		out = append(out, sample{k.name, k.says, func(x, y float64) { p.shape(k, x, y, 8, k.name) }})
	}
	k := kindOf("facade")
	out = append(out, sample{"number", "order of the calls", func(x, y float64) { p.mark(k, x, y, "2", false) }})
	if someMember(p.v.Members, (*Member).open) {
		out = append(out, sample{"dashed", "known only at run time", func(x, y float64) { p.shape(k, x, y, 8, k.name+" maybe") }})
	}
	return out
}

// legend explains what occurs, in columns of one width.
func (p *painter) legend(y float64) float64 {
	all := p.samples()
	w := 0.0
	for _, s := range all {
		w = max(w, s.width())
	}
	columns := max(int((p.w-2*margin)/w), 1)
	columns = (len(all) + columns - 1) / columns // rows
	columns = (len(all) + columns - 1) / columns
	w = (p.w - 2*margin) / float64(columns)
	for i, s := range all {
		x, top := margin+float64(i%columns)*w, y+float64(i/columns)*30
		s.draw(x+12, top+13)
		p.line(x+34, top+17, start, scopeFont, "ink", s.word)
		p.line(x+34+scopeFont.width(s.word)+6, top+17, start, smallFont, "muted", s.says)
	}
	return y + float64((len(all)+columns-1)/columns)*30
}

// tools draws who owns which tools.
func (p *painter) tools(y float64) float64 {
	var rows []leaf
	x := 0.0
	for _, l := range leaves(p.v.Members, nil) {
		if !l.itself && (len(l.Tools) > 0 || l.Dynamic || l.Group) {
			rows = append(rows, l)
			x = max(x, nameFont.width(clean(l.Path)))
		}
	}
	if len(rows) == 0 {
		return y
	}
	y = p.lines(margin, y, start, scopeFont, "ink", []string{"Tools and their owners"}) + 6
	wide := min(x, 220)
	for _, l := range rows {
		owner := nameFont.wrap(clean(l.Path), wide)
		end := p.lines(margin, y+3, start, nameFont, "ink", owner)
		f := &flow{left: margin + wide + 20, right: p.w - margin, x: margin + wide + 20, y: y, step: 28, least: 28}
		for _, t := range l.Tools {
			p.chip(f, codeFont, "chip", "ink", t)
		}
		if l.Dynamic || l.Group {
			text := "known at run time"
			if len(l.Tools) > 0 {
				text = "more at run time"
			}
			p.chip(f, smallFont, "open", "muted", text)
		}
		y = max(end, f.y+f.step) + 6
	}
	return y
}

// chip is one tool; a name that is wider than the picture has several lines.
func (p *painter) chip(f *flow, in font, class, colour, text string) {
	const pad = 8
	lines := in.wrap(clean(text), f.right-f.left-2*pad)
	w := 0.0
	for _, l := range lines {
		w = max(w, in.width(l))
	}
	h := height(in, lines) + 6
	x, y := f.next(w + 2*pad + 6)
	f.step = max(f.step, h+6)
	p.rect(x, y, w+2*pad, h, 5, class)
	p.lines(x+pad, y+3, start, in, colour, lines)
}
