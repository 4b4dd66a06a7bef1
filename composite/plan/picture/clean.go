package picture

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes a name one that can be seen: what is invisible, changes the
// direction of the text, stands on another character or breaks the line is
// written as \u and its number, and what is no UTF-8 as \x and the byte.
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

// plain: nothing but visible ASCII and blanks.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// visible reports whether the character takes a place of its own.
func visible(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0: // letters that have no shape
		return false
	}
	return unicode.IsPrint(r) && !unicode.Is(unicode.M, r)
}

// list joins cleaned names.
func list(names []string, sep string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = clean(n)
	}
	return strings.Join(out, sep)
}
