package picture

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// font is one way in which text is set. Its class is that of the style sheet.
type font struct {
	class string
	size  float64
	bold  bool
	mono  bool
}

var (
	titleFont = font{class: "h", size: 22, bold: true}
	nameFont  = font{class: "n", size: 13, bold: true}
	scopeFont = font{class: "s", size: 12, bold: true}
	bodyFont  = font{class: "b", size: 12}
	smallFont = font{class: "t", size: 11}
	codeFont  = font{class: "c", size: 12, mono: true}
	typeFont  = font{class: "y", size: 10, mono: true}
	markFont  = font{class: "k", size: 11, bold: true}
)

// How wide the characters from blank to tilde are, in hundredths of the font's
// size: the larger of DejaVu Sans, the widest that a system is likely to take for
// sans-serif, and Liberation Sans, which has the widths of Arial and Helvetica.
var (
	regularWidths = [...]uint8{
		32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 56,
		102, 69, 69, 73, 78, 67, 62, 78, 76, 30, 50, 67, 56, 87, 75, 79, 67, 79, 73, 67, 62, 74, 69, 99, 69, 67, 69, 40, 34, 40, 84, 56,
		50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
	}
	boldWidths = [...]uint8{
		35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40, 40, 84, 84, 84, 62,
		100, 78, 77, 74, 84, 69, 69, 83, 84, 38, 56, 78, 64, 100, 84, 86, 74, 86, 78, 73, 69, 82, 78, 111, 78, 73, 73, 46, 37, 46, 84, 56,
		50, 68, 72, 60, 72, 68, 44, 72, 72, 35, 35, 67, 35, 105, 72, 69, 72, 72, 50, 60, 48, 72, 66, 93, 65, 66, 59, 72, 37, 72, 84,
	}
)

const (
	monoWidth = 0.62 // of the font's size; the common ones have 0.55 to 0.61
	otherWide = 1.2  // what is not ASCII may be wider than it is high
)

// known reports whether otherWide is enough for the character. For all others,
// some of which are ten times as wide, the picture says how wide they are to be.
func known(r rune) bool {
	return r < 0x180 || r >= 0x370 && r < 0x460 || r >= 0x2010 && r < 0x2200 ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// width is how wide a line is at most, whatever font the reader has.
func (f font) width(s string) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case r < ' ' || r > '~':
			w += otherWide
		case f.mono:
			w += monoWidth
		case f.bold:
			w += float64(boldWidths[r-' ']) / 100
		default:
			w += float64(regularWidths[r-' ']) / 100
		}
	}
	return w * f.size
}

// height is from one line to the next.
func (f font) height() float64 { return f.size + 4 }

// wrap breaks a cleaned text into lines that are at most so wide: behind a
// blank, else behind a dot, a slash or an underscore, or in front of a capital
// letter, else anywhere. Nothing of it is lost but blanks at the breaks.
func (f font) wrap(s string, most float64) []string {
	if s == "" {
		return nil
	}
	var lines []string
	for {
		at := f.breakAt(s, most)
		if at == len(s) {
			return append(lines, s)
		}
		lines = append(lines, strings.TrimRight(s[:at], " "))
		if s = strings.TrimLeft(s[at:], " "); s == "" {
			return lines
		}
	}
}

// breakAt is the best place for a break that leaves a first line that fits, or
// the end if all of it does; at least one character is in front of it.
func (f font) breakAt(s string, most float64) int {
	most += 0.01 // sums of fractions are not exact
	_, first := utf8.DecodeRuneInString(s)
	best, rank, w := first, 0, 0.0
	var before rune
	for i, r := range s {
		if i > 0 && w <= most {
			if n := breakRank(before, r); n >= rank {
				best, rank = i, n
			}
		}
		if w += f.width(string(r)); w > most && r != ' ' {
			return best
		}
		before = r
	}
	if w > most {
		return best // but for blanks at the end
	}
	return len(s)
}

func breakRank(before, next rune) int {
	isUpper := func(r rune) bool { return r >= 'A' && r <= 'Z' }
	switch {
	case before == ' ':
		return 3
	case before == '.' || before == '/' || before == '_' || before == '-':
		return 2
	case isUpper(next) && !isUpper(before):
		return 1
	}
	return 0
}
