package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns text as it may be written to a terminal: control characters,
// escape sequences and characters that change the direction or hide what is
// written are shown as \x1b, \u202e and so on. Line breaks and tabs stay. What a
// model, a file or a server said must never steer the terminal or look like
// something else to the person who approves it.
func Clean(text string) string {
	if !strings.ContainsFunc(text, steers) && utf8.ValidString(text) {
		return text
	}
	var sb strings.Builder
	for _, r := range text {
		switch {
		case !steers(r):
			sb.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&sb, `\x%02x`, r)
		default:
			fmt.Fprintf(&sb, `\u%04x`, r)
		}
	}
	return sb.String()
}

// steers reports whether a character acts on the terminal or on the reader's eye
// instead of being seen: controls (also the 8-bit ones), format characters such
// as the bidirectional ones and zero-width spaces, line separators, private use.
// The two joiners stay: scripts and emoji need them.
func steers(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// line returns text on one line of at most width characters, cut with an
// ellipsis.
func line(text string, width int) string {
	text = Clean(strings.Join(strings.Fields(text), " "))
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
