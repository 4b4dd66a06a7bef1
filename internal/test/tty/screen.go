// Package tty is a terminal for tests: a pseudo-terminal with a screen that
// understands what programs write, so that a test sees what a person would.
package tty

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Screen is what a terminal shows: the part of xterm that line editors use. What
// it does not know it shows as <…>, so that a test fails.
type Screen struct {
	columns, rows int
	cells         [][]string
	// gone are the lines that were scrolled off.
	gone     []string
	row, col int
	pending  []byte
	// begun is how often a program has asked for pasted text in brackets.
	begun int
}

// NewScreen returns an empty screen of a size.
func NewScreen(columns, rows int) *Screen {
	s := &Screen{}
	s.resize(columns, rows)
	return s
}

func (s *Screen) resize(columns, rows int) {
	s.columns, s.rows = columns, rows
	for len(s.cells) < rows {
		s.cells = append(s.cells, nil)
	}
	for len(s.cells) > rows {
		s.scroll()
		s.cells = s.cells[:len(s.cells)-1]
		s.row = max(0, s.row-1)
	}
}

func (s *Screen) scroll() {
	s.gone = append(s.gone, line(s.cells[0]))
	s.cells = append(s.cells[1:], nil)
}

func line(cells []string) string { return strings.TrimRight(strings.Join(cells, ""), " ") }

// Text is everything that was ever shown and not erased, line by line, without
// blanks at the ends.
func (s *Screen) Text() string {
	lines := append([]string{}, s.gone...)
	for _, cells := range s.cells {
		lines = append(lines, line(cells))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Write shows what a program writes.
func (s *Screen) Write(p []byte) {
	s.pending = append(s.pending, p...)
	for len(s.pending) > 0 {
		n := s.next(s.pending)
		if n == 0 {
			return
		}
		s.pending = s.pending[n:]
	}
}

// next handles one character or sequence and returns its length; 0 if it is not
// whole.
func (s *Screen) next(b []byte) int {
	switch {
	case b[0] == 0x1b:
		return s.escape(b)
	case b[0] == '\r':
		s.col = 0
		return 1
	case b[0] == '\n':
		s.newline()
		return 1
	case b[0] == '\t':
		s.col = min(s.columns-1, s.col/8*8+8)
		return 1
	case b[0] == '\b':
		s.col = max(0, s.col-1)
		return 1
	case b[0] < 0x20:
		s.put(fmt.Sprintf("<%#x>", b[0]), 1)
		return 1
	case !utf8.FullRune(b):
		return 0
	}
	r, n := utf8.DecodeRune(b)
	s.put(string(r), cellsOf(r))
	return n
}

func cellsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

func (s *Screen) newline() {
	if s.row++; s.row == s.rows {
		s.scroll()
		s.row--
	}
}

func (s *Screen) put(text string, cells int) {
	if cells == 0 {
		if row := s.cells[s.row]; s.col > 0 && s.col <= len(row) {
			row[s.col-1] += text
		}
		return
	}
	if s.col+cells > s.columns {
		s.col = 0
		s.newline()
	}
	row := s.cells[s.row]
	for len(row) < s.col+cells {
		row = append(row, " ")
	}
	row[s.col] = text
	if cells == 2 {
		row[s.col+1] = ""
	}
	s.cells[s.row] = row
	s.col += cells
}

// escape handles a control sequence.
func (s *Screen) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] != '[' {
		s.put("<ESC>", 1)
		return 1
	}
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			s.csi(string(b[2:i]), b[i])
			return i + 1
		}
	}
	return 0
}

func (s *Screen) csi(parameters string, last byte) {
	n, err := strconv.Atoi(parameters)
	if err != nil || n == 0 {
		n = 1
	}
	row := s.cells[s.row]
	switch last {
	case 'm':
	case 'A':
		s.row = max(0, s.row-n)
	case 'B':
		s.row = min(s.rows-1, s.row+n)
	case 'C':
		s.col = min(s.columns-1, s.col+n)
	case 'D':
		s.col = max(0, s.col-n)
	case 'H':
		s.row, s.col = 0, 0
	case 'K':
		s.cells[s.row] = row[:min(len(row), s.col)]
	case 'J':
		s.cells[s.row] = row[:min(len(row), s.col)]
		for i := s.row + 1; i < s.rows; i++ {
			s.cells[i] = nil
		}
	case 'h', 'l':
		if parameters == "?2004" {
			if last == 'h' {
				s.begun++
			}
			return
		}
		fallthrough
	default:
		s.put(fmt.Sprintf("<CSI %s%c>", parameters, last), 1)
	}
}
