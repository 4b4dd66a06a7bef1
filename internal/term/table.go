package term

import (
	"slices"

	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term/edit"
)

// MaxCell is how many columns of the screen the last cell of a row may take in [Tables].
const MaxCell = 80

// Tables returns tables with a blank line between them. The first row of each is
// its head; a table without another one is left out.
func Tables(tables ...[][]string) screen.Text { return AlignedTables(MaxCell, tables...) }

// AlignedTables is Tables with another limit for the last cell of a row; 0 keeps it whole.
func AlignedTables(most int, tables ...[][]string) screen.Text {
	var out []screen.Text
	for _, rows := range tables {
		if len(rows) < 2 {
			continue
		}
		if len(out) > 0 {
			out = append(out, screen.Lit("\n"))
		}
		out = append(out, Aligned(rows, most))
	}
	return screen.Join(out...)
}

// ProjectColumn adds a column to a table, behind the first one.
func ProjectColumn(rows [][]string, project func(i int) string) {
	for i, row := range rows {
		cell := "PROJECT"
		if i > 0 {
			cell = project(i - 1)
		}
		rows[i] = slices.Insert(row, 1, cell)
	}
}

// Aligned aligns the columns as a terminal shows them. Every cell is on one line,
// and the last one of a row is cut to so many columns of the screen; 0 keeps it whole.
func Aligned(rows [][]string, most int) screen.Text {
	wide := make([]int, len(rows[0]))
	clean := make([][]screen.Text, len(rows))
	for i, row := range rows {
		clean[i] = make([]screen.Text, len(row))
		for j, cell := range row {
			clean[i][j] = screen.Line(cell)
			wide[j] = max(wide[j], columns(clean[i][j]))
		}
	}
	var out []screen.Text
	for _, row := range clean {
		last := len(row) - 1
		for j, cell := range row[:last] {
			out = append(out, cell, screen.Repeat(" ", wide[j]-columns(cell)+2))
		}
		end := row[last]
		if most > 0 {
			end = Cut(end, most)
		}
		out = append(out, end, screen.Lit("\n"))
	}
	return screen.Join(out...)
}

// Cut shortens text to so many columns of the screen.
func Cut(text screen.Text, most int) screen.Text {
	if columns(text) <= most {
		return text
	}
	const more = "…"
	kept := len(edit.Fit(text.String(), most)) - len(more)
	return screen.Join(text.Slice(0, kept), screen.Lit(more))
}

// columns is how many columns of a screen the text takes.
func columns(text screen.Text) int { return edit.Width(text.String()) }
