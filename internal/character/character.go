// Package character finds the visible characters of a text: the places between them, where
// the text may be cut, and characters that are invisible.
package character

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut returns the text with at most n characters, counted as runes. A longer text ends with
// "…", which counts as one. Cut reports whether it cut the text. s must be valid UTF-8.
// Cutting the result with the same n does not change it.
func Cut(s string, n int) (string, bool) {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s, false
	}
	if n <= 0 {
		return "", true
	}
	at := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return strings.TrimRight(s[:Border(s, at, -1)], " \t\r\n") + "…", true
}

// maxCharacter limits one visible character, in bytes: families of emoji have about forty,
// and accents can be piled up without limit.
const maxCharacter = 64

// Border returns the border of a visible character nearest to i in the direction of step, 1
// or -1. i must be within s, and s must be valid UTF-8. At a character of more than 64 bytes
// it returns the border of a rune.
func Border(s string, i, step int) int {
	at := i
	for range maxCharacter {
		if !splits(s, at) {
			return at
		}
		at += step
	}
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i += step
	}
	return i
}

// splits reports whether a cut before s[i] would split one visible character: a rune, or
// several that are drawn as one. It knows the usual ones, without tables of scripts.
func splits(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	if !utf8.RuneStart(s[i]) {
		return true
	}
	const joiner = '\u200d'
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	switch {
	case before == joiner || after == joiner, before == '\r' && after == '\n':
		return true
	case unicode.Is(unicode.M, after): // accents, vowel signs, variants of emoji
		return true
	case after >= '\U0001F3FB' && after <= '\U0001F3FF': // hues of skin
		return true
	case after >= '\U000E0020' && after <= '\U000E007F': // tags of flags
		return true
	case after >= '\u1160' && after <= '\u11FF': // vowels and ends of Hangul syllables
		return true
	}
	return indicator(after) && indicators(s[:i])%2 == 1
}

// indicator reports whether r is half a flag.
func indicator(r rune) bool { return r >= '\U0001F1E6' && r <= '\U0001F1FF' }

// indicators counts the halves of flags at the end of s, up to 1000.
func indicators(s string) (n int) {
	for n < 1000 {
		r, size := utf8.DecodeLastRuneInString(s)
		if !indicator(r) {
			return n
		}
		s = s[:len(s)-size]
		n++
	}
	return n
}
