package main

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/grapnel-go/grapnel/internal/terminal"
)

// maxCell is how many columns of the screen the last cell of a row may take.
const maxCell = 80

// tables writes tables with a blank line between them. The first row of each is
// its head; a table without another one is left out.
func (c *command) tables(tables ...[][]string) error {
	var out []string
	for _, rows := range tables {
		if len(rows) > 1 {
			out = append(out, aligned(rows))
		}
	}
	_, err := fmt.Fprint(c.out, strings.Join(out, "\n"))
	return err
}

// aligned aligns the columns as a terminal shows them. Every cell is on one line,
// and the last one of a row is cut.
func aligned(rows [][]string) string {
	wide := make([]int, len(rows[0]))
	clean := make([][]string, len(rows))
	for i, row := range rows {
		clean[i] = make([]string, len(row))
		for j, cell := range row {
			clean[i][j] = terminal.Clean(strings.Join(strings.Fields(cell), " "))
			wide[j] = max(wide[j], cells(clean[i][j]))
		}
	}
	var sb strings.Builder
	for _, row := range clean {
		last := len(row) - 1
		for j, cell := range row[:last] {
			sb.WriteString(cell + strings.Repeat(" ", wide[j]-cells(cell)+2))
		}
		sb.WriteString(cut(row[last], maxCell) + "\n")
	}
	return sb.String()
}

// cut shortens text to so many columns of the screen.
func cut(text string, most int) string {
	if cells(text) <= most {
		return text
	}
	at, used := 0, 0
	for i, r := range text {
		if used += runeCells(r); used >= most {
			break
		}
		at = i + len(string(r))
	}
	return text[:at] + "…"
}

// cells is how many columns of a screen the text takes.
func cells(text string) int {
	n := 0
	for _, r := range text {
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
