package chat

import (
	"strings"

	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term/edit"
)

// table has rows of a name and a text, under titles.
type table struct{ rows []row }

type row struct{ title, name, text string }

func (t *table) title(s string) { t.rows = append(t.rows, row{title: s}) }

func (t *table) row(name, text string) { t.rows = append(t.rows, row{name: name, text: text}) }

// lines returns the lines of the table for a screen with that many columns: each name with
// its text, cut to one line. On a narrow screen each text has a line of its own.
func (t *table) lines(columns int) []string {
	widest := 0
	for _, r := range t.rows {
		widest = max(widest, edit.Width(oneLine(r.name)))
	}
	var out []string
	for _, r := range t.rows {
		name, text := oneLine(r.name), oneLine(r.text)
		pad := strings.Repeat(" ", widest-edit.Width(name))
		switch {
		case r.title != "":
			out = append(out, r.title+":")
		case text == "":
			out = append(out, "  "+name)
		case columns < widest+30:
			out = append(out, "  "+name, "      "+text)
		default:
			out = append(out, edit.Fit("  "+name+pad+"  "+text, columns-1))
		}
	}
	return out
}

func oneLine(s string) string { return screen.Line(s).String() }

// show shows a table.
func (c *Chat) show(t table) {
	for _, l := range t.lines(c.ed.Columns()) {
		c.say(l)
	}
}
