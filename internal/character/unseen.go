package character

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxMarks is how many marks may stand on one character: more of them cover the
// lines above and below.
const MaxMarks = 8

// Unseen reports whether a character acts on the terminal or on the eye, or shows
// nothing: controls, characters of direction and format, line separators, private
// use, what is not assigned, and everything that Unicode lets a font ignore. Line
// breaks and tabs are not among them.
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
	object  = '\ufffc' // stands for an object that is not there
)

// Hidden reports whether a person who decides cannot see the character for what it
// is: line breaks and unusual blanks besides what is unseen.
func Hidden(r rune) bool {
	return r == '\n' || r > ' ' && unicode.Is(unicode.Zs, r) || Unseen(r)
}

// Escaped is how a character, or a byte that is none, is shown instead.
func Escaped(r rune, bytes string) string {
	switch {
	case r == utf8.RuneError && len(bytes) == 1:
		return fmt.Sprintf(`\x%02x`, bytes[0])
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u{%x}`, r)
}

// Piled counts the marks that stand on one character.
func Piled(r rune, marks int) int {
	if r >= utf8.RuneSelf && unicode.In(r, unicode.Mn, unicode.Me) {
		return marks + 1
	}
	return 0
}

// Pictograph reports whether a character is in a block of pictures, assigned or
// not: newer ones are shown by terminals that know them.
func Pictograph(r rune) bool { return r >= 0x1F000 && r <= 0x1FAFF }

// Odd returns the first character of s that cannot be seen for what it is, as
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
