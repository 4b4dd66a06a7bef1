package yamldoc

import (
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// Almost returns the first of the keys that word equals or resembles; "" if there is none.
// It ignores case and signs other than letters and digits, and allows one typing mistake,
// or two in a long key. Letters of other scripts mixed with ASCII match any letter, because
// they can look like it.
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

// disguised reports whether the ASCII letters of a word in two scripts match the key.
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
