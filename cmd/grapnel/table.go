package main

import (
	"unicode"

	"golang.org/x/text/width"

	"github.com/grapnel-go/grapnel/internal/screen"
)

// maxCell is how many columns of the screen the last cell of a row may take.
const maxCell = 80

// tables writes tables with a blank line between them. The first row of each is
// its head; a table without another one is left out.
func (c *command) tables(tables ...[][]string) error {
	var out []screen.Text
	for _, rows := range tables {
		if len(rows) < 2 {
			continue
		}
		if len(out) > 0 {
			out = append(out, screen.Lit("\n"))
		}
		out = append(out, aligned(rows, maxCell))
	}
	return c.print(screen.Join(out...))
}

// aligned aligns the columns as a terminal shows them. Every cell is on one line,
// and the last one of a row is cut to so many columns of the screen; 0 keeps it whole.
func aligned(rows [][]string, most int) screen.Text {
	wide := make([]int, len(rows[0]))
	clean := make([][]screen.Text, len(rows))
	for i, row := range rows {
		clean[i] = make([]screen.Text, len(row))
		for j, cell := range row {
			clean[i][j] = screen.Line(cell)
			wide[j] = max(wide[j], cells(clean[i][j]))
		}
	}
	var out []screen.Text
	for _, row := range clean {
		last := len(row) - 1
		for j, cell := range row[:last] {
			out = append(out, cell, screen.Repeat(" ", wide[j]-cells(cell)+2))
		}
		end := row[last]
		if most > 0 {
			end = cut(end, most)
		}
		out = append(out, end, screen.Lit("\n"))
	}
	return screen.Join(out...)
}

// cut shortens text to so many columns of the screen.
func cut(text screen.Text, most int) screen.Text {
	if cells(text) <= most {
		return text
	}
	at, used := 0, 0
	for i, r := range text.String() {
		if used += runeCells(r); used >= most {
			break
		}
		at = i + len(string(r))
	}
	return screen.Join(text.Slice(0, at), screen.Lit("…"))
}

// cells is how many columns of a screen the text takes.
func cells(text screen.Text) int {
	n := 0
	for _, r := range text.String() {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
