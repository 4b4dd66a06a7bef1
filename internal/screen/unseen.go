package screen

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many marks may stand on one character: more of them cover the
// lines above and below.
const maxMarks = 8

// unseen reports whether a character acts on the terminal or on the eye, or shows
// nothing: controls, characters of direction and format, line separators, private
// use, what is not assigned, and everything that Unicode lets a font ignore. Line
// breaks and tabs are not among them.
func unseen(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x7f:
		return r < ' '
	case r == braille || r == object:
		return true
	case !unicode.IsGraphic(r) && !pictograph(r):
		return true
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

const (
	braille = '\u2800' // the pattern without dots, which is a blank
	object  = '\ufffc' // stands for an object that is not there
)

// hidden reports whether a person who decides cannot see the character for what it
// is: line breaks and unusual blanks besides what is unseen.
func hidden(r rune) bool {
	return r == '\n' || r > ' ' && unicode.Is(unicode.Zs, r) || unseen(r)
}

// named is how a character, or a byte that is none, is shown instead.
func named(r rune, bytes string) string {
	switch {
	case r == utf8.RuneError && len(bytes) == 1:
		return fmt.Sprintf(`\x%02x`, bytes[0])
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u{%x}`, r)
}

// piled counts the marks that stand on one character.
func piled(r rune, marks int) int {
	if r >= utf8.RuneSelf && unicode.In(r, unicode.Mn, unicode.Me) {
		return marks + 1
	}
	return 0
}

// pictograph reports whether a character is in a block of pictures, assigned or
// not: newer ones are shown by terminals that know them.
func pictograph(r rune) bool { return r >= 0x1F000 && r <= 0x1FAFF }

// emoji reports whether a character can be a part of a sequence of emoji.
func emoji(r rune) bool {
	switch r {
	case 0xA9, 0xAE, 0x203C, 0x2049, 0x2122, 0x2139, 0x3030, 0x303D, 0x3297, 0x3299:
		return true
	}
	return pictograph(r) || r >= 0x2190 && r <= 0x21FF || r >= 0x2300 && r <= 0x23FF || r >= 0x2460 && r <= 0x24FF ||
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

// flags are the tags behind a black flag that fonts draw as one: of England,
// Scotland and Wales. All other tags hide text.
func flags() []string {
	tags := func(s string) string {
		return strings.Map(func(r rune) rune { return r + 0xE0000 }, s) + "\U000E007F"
	}
	return []string{tags("gbeng"), tags("gbsct"), tags("gbwls")}
}

// joining reports whether a letter belongs to a script whose letters change with a
// joiner beside them.
func joining(r rune) bool {
	return r >= 0x600 && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
		unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// verdict is what becomes of an unseen character in flowing text.
type verdict int

const (
	show verdict = iota
	keep
	drop
	wait // what follows decides
)

// judge decides about the unseen character that rest begins with, of n bytes. The
// text ends behind rest if it is over.
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
