package yamldoc

import (
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// Almost returns the first of the keys that a word is, or is closest to: whatever the
// case, with other signs than letters and digits in it or around it, and with one typing
// mistake, or two in a long key. Letters of other scripts among those of ours stand for
// any letter, because they can look like it. "" if there is none.
func Almost(word string, keys []string) string {
	word = letters(word)
	best, least := "", 3
	for _, key := range keys {
		plain := letters(key)
		if disguised(word, plain) {
			return key
		}
		if mistakes := spell.Distance(word, plain); mistakes <= len(plain)/5 && mistakes < least && word != "" {
			best, least = key, mistakes
		}
	}
	return best
}

// letters returns the letters and digits of a text in lower case.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// disguised reports whether a word in two scripts is the key as far as its ASCII shows.
func disguised(word, key string) bool {
	runes, ascii := []rune(word), 0
	if len(runes) != len(key) {
		return false
	}
	for i, r := range runes {
		switch {
		case r == rune(key[i]):
			ascii++
		case r < unicode.MaxASCII:
			return false
		}
	}
	return ascii > 0
}
