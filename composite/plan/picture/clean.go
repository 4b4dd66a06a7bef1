package picture

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes all characters of a name visible. It escapes as \u those that are invisible,
// change the direction of the text, combine with another one or break the line, and as \x
// bytes that are no UTF-8.
func clean(s string) string {
	if plain(s) {
		return s
	}
	var sb strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && strings.HasPrefix(s[i:], "\ufffd"), r != utf8.RuneError && visible(r):
			sb.WriteRune(r)
		case r == utf8.RuneError:
			fmt.Fprintf(&sb, `\x%02x`, s[i])
		case r > 0xffff:
			fmt.Fprintf(&sb, `\U%08x`, r)
		default:
			fmt.Fprintf(&sb, `\u%04x`, r)
		}
	}
	return sb.String()
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// visible reports whether the character is drawn in a cell of its own.
func visible(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0: // letters that have no shape
		return false
	}
	return unicode.IsPrint(r) && !unicode.Is(unicode.M, r)
}

func list(names []string, sep string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = clean(n)
	}
	return strings.Join(out, sep)
}
