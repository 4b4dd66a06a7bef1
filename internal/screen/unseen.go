package screen

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/character"
)

// emoji reports whether a character can be a part of a sequence of emoji.
func emoji(r rune) bool {
	switch r {
	case 0xA9, 0xAE, 0x203C, 0x2049, 0x2122, 0x2139, 0x3030, 0x303D, 0x3297, 0x3299:
		return true
	}
	return character.Pictograph(r) || r >= 0x2190 && r <= 0x21FF || r >= 0x2300 && r <= 0x23FF || r >= 0x2460 && r <= 0x24FF ||
		r >= 0x25A0 && r <= 0x27BF || r >= 0x2900 && r <= 0x297F || r >= 0x2B00 && r <= 0x2BFF
}

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	asText    = '\ufe0e' // shows the character before it as text
	asEmoji   = '\ufe0f' // shows it as an emoji
	keycap    = '\u20e3'
	blackFlag = '\U0001F3F4'
)

// flags returns the tags behind a black flag that fonts draw: of England, Scotland and
// Wales. All other tags hide text.
func flags() []string {
	tags := func(s string) string {
		return strings.Map(func(r rune) rune { return r + 0xE0000 }, s) + "\U000E007F"
	}
	return []string{tags("gbeng"), tags("gbsct"), tags("gbwls")}
}

// joining reports whether a letter belongs to a script whose letters change next to a
// joiner.
func joining(r rune) bool {
	return r >= 0x600 && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
		unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// verdict is the decision about an unseen character in flowing text.
type verdict int

const (
	show verdict = iota
	keep
	drop
	wait // more text must decide
)

// judge decides about the unseen character of n bytes at the beginning of rest. With over
// the text ends behind rest.
func judge(before []rune, rest string, n int, over bool) (v verdict, length int) {
	r, _ := utf8.DecodeRuneInString(rest)
	next, size := utf8.DecodeRuneInString(rest[n:])
	last := before[len(before)-1]
	switch r {
	case '\r', joiner, nonJoiner, asEmoji, asText:
		if !over && (size == 0 || !utf8.FullRuneInString(rest[n:])) {
			return wait, 0
		}
	}
	real := false
	switch r {
	case '\r':
		if next == '\n' {
			return drop, n
		}
	case asEmoji, asText:
		real = emoji(last) || next == keycap && strings.ContainsRune("#*0123456789", last)
	case joiner:
		base := last
		if last == asEmoji {
			base = before[0]
		}
		real = emoji(base) && emoji(next) || joining(last) && joining(next)
	case nonJoiner:
		real = joining(last) && joining(next)
	default:
		if last == blackFlag && r > 0xE0000 {
			return tagged(rest, n, over)
		}
	}
	if real {
		return keep, n
	}
	return show, n
}

// tagged decides about the tags behind a black flag.
func tagged(rest string, n int, over bool) (verdict, int) {
	all := flags()
	if i := slices.IndexFunc(all, func(f string) bool { return strings.HasPrefix(rest, f) }); i >= 0 {
		return keep, len(all[i])
	}
	if !over && slices.ContainsFunc(all, func(f string) bool { return strings.HasPrefix(f, rest) }) {
		return wait, 0
	}
	return show, n
}
