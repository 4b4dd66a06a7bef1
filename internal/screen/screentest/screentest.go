// Package screentest has hostile texts, and a check that is independent of package screen:
// it lists the characters that may be on a terminal.
package screentest

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Forged is the text that hostile text puts behind a line break, to look like the program's.
const Forged = "FORGED"

// Escapes returns texts that control a terminal.
func Escapes() []string {
	return []string{
		"\x1b[2J\x1b[1;1H", "\x1b]52;c;bWFzdGVyIGtleQ==\a", "\x1b]0;title\x1b\\", "\x1bP+q544e\x1b\\", "\x1b[6n", "\x1b[8mhidden", "\x1bc",
		"\x9b2J", "\xc2\x9b2J", "\u009d0;t\u009c", "\x90q\x9c", "\a", "\b\b\b", "\v\f", "\x00", "\x7f", "\x0e\x0f",
		"\r" + Forged, "\r\n" + Forged, "\n" + Forged, "\u0085" + Forged, "\u2028" + Forged, "\u2029" + Forged,
	}
}

// Invisible returns characters that are invisible, or that move others.
func Invisible() []string {
	return append(strings.Split(invisible, ""), "e"+strings.Repeat("\u0301", 60))
}

const invisible = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c" +
	"\u200b\u200c\u200d\u2060\u2061\u2064\ufeff\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180e\u180f\u3164\uffa0\u2800" +
	"\ufe00\ufe0e\ufe0f\ufff0\ufff9\ufffa\ufffb\ufffc\ue000\ufdd0\U000e0001\U000e0020\U000e0041\U000e007f\U000e0100\U000f0000\U0010ffff"

// Hostile is one text with all of them.
func Hostile() string { return strings.Join(Escapes(), "x") + strings.Join(Invisible(), "x") + "\xff" }

// Unstyled returns the text without the styles that this program writes.
func Unstyled(s string) string {
	return regexp.MustCompile(`\x1b\[(?:[012349]|22|23|24|29|31|32|33|36|39)m`).ReplaceAllString(s, "")
}

// T is the part of testing.T that Check uses.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Check fails the test if a text has characters that control a terminal or deceive a reader.
// With styled it may have styles. With flowing its lines may begin with hostile text.
func Check(t T, text string, styled, flowing bool) {
	t.Helper()
	if styled {
		text = Unstyled(text)
	}
	check(t, text, func(rune) bool { return false })
	for line := range strings.Lines(text) {
		if !flowing && strings.HasPrefix(strings.TrimPrefix(line, "  "), Forged) {
			t.Errorf("a forged line in %q", text)
			return
		}
	}
}

// CheckFlow is Check for an answer, which may have emoji and joiners.
func CheckFlow(t T, text string) {
	t.Helper()
	check(t, text, func(r rune) bool {
		return r == '\u200c' || r == '\u200d' || r == '\ufe0e' || r == '\ufe0f' || r >= 0xE0060 && r <= 0xE007F
	})
}

func check(t T, text string, may func(rune) bool) {
	t.Helper()
	for i, r := range text {
		_, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 || acts(r) && !may(r) {
			t.Errorf("%U is written raw (%d bytes) in %q", r, n, around(text, i))
			return
		}
	}
	if strings.Contains(text, strings.Repeat("\u0301", 9)) {
		t.Errorf("marks are piled up")
	}
}

func acts(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return r > 0x7e && strings.ContainsRune(invisible, r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

func around(text string, i int) string { return text[max(0, i-40):min(len(text), i+40)] }
