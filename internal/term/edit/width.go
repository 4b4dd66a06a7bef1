package edit

import (
	"unicode"

	"golang.org/x/text/width"
)

const (
	joiner   = '\u200d' // joins two emoji to one
	asEmoji  = '\ufe0f' // shows the character before it as an emoji
	firstRI  = '\U0001f1e6'
	lastRI   = '\U0001f1ff'
	firstMod = '\U0001f3fb' // first of the skin tones
	lastMod  = '\U0001f3ff'
)

// runeWidth returns the cells of a character on a terminal.
func runeWidth(r rune) int {
	switch {
	case r < 0x7f:
		return min(1, int(r)/0x20)
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cc, unicode.Cf), 0x1160 <= r && r <= 0x11ff:
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

func regional(r rune) bool { return firstRI <= r && r <= lastRI }

// cluster returns how many characters from i on are drawn as one, and their cells.
func cluster(text []rune, i int) (n, cells int) {
	first := text[i]
	cells = runeWidth(first)
	j := i + 1
	if regional(first) && j < len(text) && regional(text[j]) {
		return 2, 2
	}
	for j < len(text) {
		switch r := text[j]; {
		case r == '\n' || r == '\t' || first == '\n' || first == '\t':
			return j - i, cells
		case r == asEmoji:
			cells = 2
		case r == joiner || firstMod <= r && r <= lastMod || unicode.In(r, unicode.Mn, unicode.Me):
		case text[j-1] == joiner && unicode.Is(unicode.So, r):
		default:
			return j - i, cells
		}
		j++
	}
	return j - i, cells
}

// Width returns the cells of a line.
func Width(s string) int {
	text, sum := []rune(s), 0
	for i := 0; i < len(text); {
		n, cells := cluster(text, i)
		sum += cells
		i += n
	}
	return sum
}
