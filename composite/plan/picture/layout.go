package picture

import (
	"fmt"
	"slices"
)

// Distances of the picture, in pixels.
const (
	margin    = 32.0
	indent    = 12.0 // of a scope inside another
	columnGap = 8.0
	minColumn = 84.0
	maxColumn = 132.0
	cardPad   = 8.0
	blockPad  = 10.0 // between a block and the columns in it
	rowHeight = 30.0
	scopeRow  = 30.0
	minWidth  = 860.0
)

// column is the lane of one leaf.
type column struct {
	leaf
	number string
	x, w   float64
	// name, typ and flags are the lines of its card.
	name, typ, flags []string
	// depth is how many blocks are around it.
	depth int
}

func (c *column) centre() float64 { return c.x + c.w/2 }

// block is a member that is a composite: what stands above its columns.
type block struct {
	*Member
	number      string
	depth       int
	first, last int // columns
	x, w        float64
	// name and about are the lines of its head; about stands beside the name if
	// there is room.
	name, about []string
	beside      bool
}

// grid is the part of the picture with the lanes.
type grid struct {
	columns []*column
	blocks  []*block
	// levels are the heights of the blocks' heads, outermost first.
	levels []float64
	card   float64 // the height of the cards
	right  float64
}

// layGrid lays the lanes side by side from x on.
func layGrid(v *View, x float64) *grid {
	g := &grid{}
	g.add(v.Members, "", 0)
	g.place(x)
	for _, b := range g.blocks {
		b.head()
		for len(g.levels) <= b.depth {
			g.levels = append(g.levels, 0)
		}
		g.levels[b.depth] = max(g.levels[b.depth], b.height())
	}
	for _, c := range g.columns {
		inner := c.w - 2*cardPad
		c.name, c.typ = nameFont.wrap(clean(c.label()), inner), typeFont.wrap(clean(c.shownType()), inner)
		for _, f := range c.marks() {
			c.flags = append(c.flags, smallFont.wrap(clean(f), inner)...)
		}
		g.card = max(g.card, smallFont.height()+height(nameFont, c.name)+height(typeFont, c.typ)+height(smallFont, c.flags)+2*cardPad)
	}
	return g
}

func height(f font, lines []string) float64 { return f.height() * float64(len(lines)) }

// head sets the lines of the block's head.
func (b *block) head() {
	about := b.Nested
	if b.Optional {
		about += ", may be nil"
	}
	if b.Prefix != "" {
		about += ", prefix " + b.Prefix
	}
	for _, n := range b.narrowed() {
		about += ", " + n
	}
	inner := b.w - 2*cardPad - smallFont.width(b.number) - 6
	b.name, b.about = nameFont.wrap(clean(b.Field), inner), smallFont.wrap(clean(about), inner)
	b.beside = len(b.name) == 1 && len(b.about) == 1 && nameFont.width(b.name[0])+8+smallFont.width(b.about[0]) <= inner
}

func (b *block) height() float64 {
	h := height(nameFont, b.name) + cardPad
	if !b.beside {
		h += height(smallFont, b.about)
	}
	return h
}

// add adds the columns of members and the blocks around them.
func (g *grid) add(all []Member, number string, depth int) {
	for i := range all {
		m, n := &all[i], fmt.Sprintf("%s%d", number, i+1)
		if m.Nested == "" {
			g.columns = append(g.columns, &column{leaf: leaf{Member: m}, number: n, depth: depth})
			continue
		}
		b := &block{Member: m, number: n, depth: depth, first: len(g.columns)}
		g.blocks = append(g.blocks, b)
		if len(m.own()) > 0 || len(m.Members) == 0 {
			g.columns = append(g.columns, &column{leaf: leaf{Member: m, itself: true}, number: n, depth: depth + 1})
		}
		g.add(m.Members, n+".", depth+1)
		b.last = len(g.columns) - 1
	}
}

// place gives columns and blocks their x and width.
func (g *grid) place(x float64) {
	for i, c := range g.columns {
		for _, b := range g.blocks {
			if b.first == i {
				x += blockPad
			}
		}
		c.x, c.w = x, c.wanted()
		x += c.w
		for _, b := range g.blocks {
			if b.last == i {
				x += blockPad
			}
		}
		x += columnGap
	}
	g.right = x - columnGap
	for _, b := range g.blocks {
		b.x = g.columns[b.first].x - blockPad*float64(g.nested(b, func(o *block) bool { return o.first == b.first }))
		b.w = g.columns[b.last].x + g.columns[b.last].w + blockPad*float64(g.nested(b, func(o *block) bool { return o.last == b.last })) - b.x
	}
}

// nested counts the block and those in it that also begin, or end, where it does.
func (g *grid) nested(b *block, same func(*block) bool) int {
	n := 0
	for _, o := range g.blocks {
		if o.depth >= b.depth && o.first >= b.first && o.last <= b.last && same(o) {
			n++
		}
	}
	return n
}

// wanted is how wide the column would like to be, within bounds.
func (c *column) wanted() float64 {
	w := max(nameFont.width(clean(c.label())), typeFont.width(clean(c.shownType())))
	for _, f := range c.marks() {
		w = max(w, smallFont.width(clean(f)))
	}
	return min(max(w+2*cardPad, minColumn), maxColumn)
}

func (c *column) label() string {
	if c.itself {
		return c.Field + " itself"
	}
	return c.Field
}

func (c *column) shownType() string {
	if c.itself {
		return ""
	}
	return c.Type
}

// marks say what is special about a member.
func (c *column) marks() []string {
	var out []string
	add := func(on bool, s string) {
		if on {
			out = append(out, s)
		}
	}
	add(c.Optional, "may be nil")
	add(c.Group, "a group")
	add(c.Dynamic && !c.Group && !c.itself, "tools at run time")
	add(c.Prefix != "" && !c.itself, "prefix "+c.Prefix)
	for _, n := range c.narrowed() {
		add(!c.itself, n)
	}
	add(c.itself && len(c.Members) == 0, "no members")
	return out
}

// find returns the column of a call, or nil. Each has one mark in a row: two
// fields of one name, which no struct has, have a column each.
func (g *grid) find(path string, taken map[*column]bool) *column {
	i := slices.IndexFunc(g.columns, func(c *column) bool { return c.Path == path && !taken[c] })
	if i < 0 {
		return nil
	}
	return g.columns[i]
}
