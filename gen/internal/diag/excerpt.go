package diag

import (
	"fmt"
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const (
	// maxExcerpt is the number of cells of a source line that are shown.
	maxExcerpt = 110
	// before is the minimum number of cells in front of the place if the line is cut.
	before  = 30
	tabStop = 4
)

// cell is one character as shown.
type cell struct {
	text  string
	width int
	// offset is its first byte in the line.
	offset int
}

// cells returns a line as shown: tabs as blanks; control, invisible and bidirectional characters as escapes, so that a source
// cannot forge the output.
func cells(line string) []cell {
	var out []cell
	column := 0
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRuneInString(line[i:])
		c := cell{text: line[i : i+n], width: runeWidth(r), offset: i}
		switch {
		case r == '\t':
			c.width = tabStop - column%tabStop
			c.text = strings.Repeat(" ", c.width)
		case r == utf8.RuneError && n == 1 || hidden(r):
			c.text = escape(r, line[i:i+n])
			c.width = len(c.text)
		}
		out = append(out, c)
		column += c.width
		i += n
	}
	return out
}

// hidden reports whether a character acts on the terminal or is invisible. The two joiners are not hidden: scripts and emoji need
// them.
func hidden(r rune) bool {
	return r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

func escape(r rune, raw string) string {
	switch {
	case r == utf8.RuneError || r < 0x20 || r == 0x7f:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// visible returns the text on one line with hidden characters as escapes.
func visible(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hidden) {
		return text
	}
	var sb strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 || hidden(r) {
			sb.WriteString(escape(r, text[i:i+n]))
		} else {
			sb.WriteString(text[i : i+n])
		}
		i += n
	}
	return sb.String()
}

// runeWidth returns the number of terminal cells of a character.
func runeWidth(r rune) int {
	switch {
	case r < 0x7f:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// excerpt returns the numbered line, and below it a caret at pos and a tail up to end.
func excerpt(line string, pos, end token.Position) string {
	last := pos.Column
	if end.Filename == pos.Filename && end.Line == pos.Line && end.Column > pos.Column {
		last = end.Column - 1
	} else if end.Line > pos.Line {
		last = len(line)
	}
	all := cells(line)
	at := 0
	for at+1 < len(all) && all[at+1].offset <= pos.Column-1 {
		at++
	}
	if pos.Column > len(line) {
		at = len(all)
	}
	from, to := window(all, at)
	var text, pad strings.Builder
	if from > 0 {
		text.WriteString("…")
		pad.WriteString(" ")
	}
	marked := 0
	for i, c := range all[from:to] {
		text.WriteString(c.text)
		switch {
		case from+i < at:
			pad.WriteString(strings.Repeat(" ", c.width))
		case from+i == at || c.offset < last:
			marked += c.width
		}
	}
	if to < len(all) {
		text.WriteString("…")
	}
	number := fmt.Sprint(pos.Line)
	return fmt.Sprintf("\t%s | %s\n\t%s | %s^%s\n", number, strings.TrimRight(text.String(), " "),
		strings.Repeat(" ", len(number)), pad.String(), strings.Repeat("~", max(0, marked-1)))
}

// window returns the range of cells that are shown; it contains the place.
func window(all []cell, at int) (from, to int) {
	sum := 0
	for _, c := range all {
		sum += c.width
	}
	if sum <= maxExcerpt {
		return 0, len(all)
	}
	room := before
	for from = at; from > 0 && room > 0; from-- {
		room -= all[from-1].width
	}
	room = maxExcerpt
	for to = from; to < len(all) && room > 0; to++ {
		room -= all[to].width
	}
	return from, to
}
