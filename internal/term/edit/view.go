package edit

import (
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/internal/screen"
)

// layout has the prompt and the text as rows of a screen, and the cursor's place.
type layout struct {
	rows     []string
	widths   []int
	row, col int
}

// tab is shown for a tab.
const tab = "    "

// lay breaks prompt and text into rows of a screen. The last column stays free, because
// terminals differ in what they do after it.
func lay(prompt string, t *text, columns int, bold bool) layout {
	l := layouter{limit: max(columns-1, len(tab)), rows: []string{""}, widths: []int{0}}
	p := []rune(prompt)
	if bold {
		l.add("\x1b[1m", 0)
	}
	for i := 0; i < len(p); {
		n, cells := cluster(p, i)
		l.put(seen(p, i, n, cells))
		i += n
	}
	if bold {
		l.add("\x1b[22m", 0)
	}
	indent := ""
	if w := Width(prompt); w <= len(tab) {
		indent = strings.Repeat(" ", w)
	}
	out := layout{}
	for i := 0; i < len(t.runes); {
		n, cells := cluster(t.runes, i)
		shown, cells := seen(t.runes, i, n, cells)
		switch shown {
		case "\n":
			cells = 0
		case "\t":
			shown, cells = tab, len(tab)
		}
		l.wrap(cells)
		if i <= t.at && t.at < i+n {
			out.row, out.col = l.cursor()
		}
		if shown == "\n" {
			l.newRow()
			l.put(indent, len(indent))
		} else {
			l.put(shown, cells)
		}
		i += n
	}
	if t.at == len(t.runes) {
		out.row, out.col = l.cursor()
	}
	out.rows, out.widths = l.rows, l.widths
	return out
}

// seen returns the shown form of a cluster of n characters at i, and its cells. An invisible
// character is shown by its number.
func seen(text []rune, i, n, cells int) (string, int) {
	raw := string(text[i : i+n])
	before, after := string(text[max(0, i-1):i]), string(text[i+n:min(len(text), i+n+1)])
	if all := before + raw + after; screen.Flow(all).String() == all {
		return raw, cells
	}
	shown := screen.Flow(raw).String()
	if shown == raw {
		return raw, cells
	}
	return shown, Width(shown)
}

type layouter struct {
	limit  int
	rows   []string
	widths []int
}

func (l *layouter) cursor() (row, col int) { return len(l.rows) - 1, l.widths[len(l.widths)-1] }

func (l *layouter) newRow() { l.rows, l.widths = append(l.rows, ""), append(l.widths, 0) }

func (l *layouter) wrap(cells int) {
	if l.widths[len(l.widths)-1]+cells > l.limit {
		l.newRow()
	}
}

func (l *layouter) put(s string, cells int) {
	l.wrap(cells)
	l.add(s, cells)
}

func (l *layouter) add(s string, cells int) {
	l.rows[len(l.rows)-1] += s
	l.widths[len(l.widths)-1] += cells
}

// view is the part of a layout that is on the screen. It moves the cursor only within the
// rows that it has drawn.
type view struct {
	columns, height int
	// row and col are the cursor's place, from the first row drawn; widths has the
	// widths of the rows.
	row, col int
	widths   []int
}

// draw returns the output that replaces the old rows by those of the layout. If the layout
// is higher than the screen, it draws the part around the cursor, or with last everything.
func (v *view) draw(l layout, last bool) string {
	visible := max(1, v.height-1)
	if top := 0; len(l.rows) > visible && !last {
		top = min(max(0, l.row-visible/2), len(l.rows)-visible)
		l.rows, l.widths = l.rows[top:top+visible], l.widths[top:top+visible]
		l.row -= top
	}
	var sb strings.Builder
	v.home(&sb)
	for i, row := range l.rows {
		if i > 0 {
			sb.WriteString("\r\n")
		}
		sb.WriteString(row + "\x1b[K")
	}
	sb.WriteString("\x1b[J")
	up(&sb, len(l.rows)-1-l.row)
	sb.WriteString("\r")
	if l.col > 0 {
		fmt.Fprintf(&sb, "\x1b[%dC", l.col)
	}
	v.row, v.col, v.widths = l.row, l.col, l.widths
	return sb.String()
}

// home moves the cursor to the beginning of the first row drawn.
func (v *view) home(sb *strings.Builder) {
	up(sb, v.row)
	sb.WriteString("\r")
	v.row, v.col, v.widths = 0, 0, nil
}

func (v *view) erase() string {
	var sb strings.Builder
	v.home(&sb)
	sb.WriteString("\x1b[J")
	return sb.String()
}

func up(sb *strings.Builder, n int) {
	if n > 0 {
		fmt.Fprintf(sb, "\x1b[%dA", n)
	}
}

// resize records the size of the screen. Most terminals wrap rows that are too long for a
// narrower screen, so the cursor moves down from the first row.
func (v *view) resize(columns, height int) {
	if columns < v.columns && len(v.widths) > 0 {
		row := v.col / columns
		for _, w := range v.widths[:v.row] {
			row += max(1, (w+columns-1)/columns)
		}
		v.row = min(row, max(0, height-1))
	}
	v.columns, v.height = columns, height
}
