package character

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxMarks limits the marks on one character: more would cover the lines above and below.
const MaxMarks = 8

// Unseen reports whether a character controls a terminal, deceives the reader, or is
// invisible: controls, characters of direction and format, line separators, private use,
// unassigned characters, and those that fonts may ignore. Line breaks and tabs are not
// among them.
func Unseen(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x7f:
		return r < ' '
	case r == braille || r == object:
		return true
	case !unicode.IsGraphic(r) && !Pictograph(r):
		return true
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

const (
	braille = '\u2800' // the pattern without dots, which is a blank
	object  = '\ufffc' // stands for a missing object
)

// Hidden reports whether a person cannot recognise the character: an unseen one, a line
// break or an unusual blank.
func Hidden(r rune) bool {
	return r == '\n' || r > ' ' && unicode.Is(unicode.Zs, r) || Unseen(r)
}

// Escaped returns the escape that is shown for a character, or for a byte that is none.
func Escaped(r rune, bytes string) string {
	switch {
	case r == utf8.RuneError && len(bytes) == 1:
		return fmt.Sprintf(`\x%02x`, bytes[0])
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u{%x}`, r)
}

// Piled counts the marks on one character.
func Piled(r rune, marks int) int {
	if r >= utf8.RuneSelf && unicode.In(r, unicode.Mn, unicode.Me) {
		return marks + 1
	}
	return 0
}

// Pictograph reports whether a character is in a block of pictures, assigned or not: newer
// terminals show newer ones.
func Pictograph(r rune) bool { return r >= 0x1F000 && r <= 0x1FAFF }

// Odd returns the first character of s that a person cannot recognise, in the form of
// [Escaped]; tabs are among them. "" if there is none.
func Odd(s string) string {
	marks := 0
	for i, r := range s {
		_, n := utf8.DecodeRuneInString(s[i:])
		marks = Piled(r, marks)
		if Hidden(r) || r == '\t' || marks > MaxMarks || r == utf8.RuneError && n == 1 {
			return Escaped(r, s[i:i+n])
		}
	}
	return ""
}
