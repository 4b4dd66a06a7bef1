package args

import (
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// String reads a string.
func (d *Decoder) String() string {
	if d.next() != '"' {
		d.want("a string")
		return ""
	}
	return d.scan(true)
}

// scan reads the string at pos. If keep is false it only checks it.
func (d *Decoder) scan(keep bool) string {
	start := d.pos + 1
	i := plain(d.text, start)
	if i < len(d.text) && d.text[i] == '"' {
		d.pos = i + 1
		return d.text[start:i]
	}
	return d.scanRest(start, i, keep)
}

// scanRest reads on at i, where something else than a plain character stands.
func (d *Decoder) scanRest(start, i int, keep bool) string {
	var b strings.Builder
	from, escaped := start, false
	for i < len(d.text) {
		switch c := d.text[i]; {
		case c == '"':
			d.pos = i + 1
			if !escaped || !keep {
				return d.text[start:i]
			}
			b.WriteString(d.text[from:i])
			return b.String()
		case c == '\\':
			e := readEscape(d.text[i:])
			if e.reason != "" {
				d.fail(start-1, "", e.reason)
				return ""
			}
			d.loose = d.loose || e.loose
			if keep {
				if !escaped {
					b.Grow(textEnd(d.text, i) - start)
				}
				b.WriteString(d.text[from:i])
				b.WriteRune(e.r)
			}
			i += e.n
			from, escaped = i, true
		case c < ' ':
			d.fail(start-1, "", fmt.Sprintf("must be valid JSON: the control character at byte %d of the text must be escaped", i))
			return ""
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(d.text[i:])
			if r == utf8.RuneError && n == 1 {
				d.fail(start-1, "", fmt.Sprintf("must be valid UTF-8, which it is not at byte %d of the text", i))
				return ""
			}
			i += n
			continue
		}
		i = plain(d.text, i)
	}
	d.pos = len(d.text)
	d.fail(start-1, "", "must be complete JSON: the text ends within a string")
	return ""
}

const (
	ones  = 0x0101010101010101
	highs = ones * 0x80
)

// plain returns the index of the first byte of s from i on that is a quote, a
// backslash, a control character or not ASCII; len(s) if there is none. It looks
// at eight bytes at a time: each subtraction sets the high bit of exactly those
// bytes (and perhaps of some after them) that are the one looked for.
func plain(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		m := (w | (w - ones*' ') | ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones)) & highs
		if m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return i
}

// textEnd returns where the string ends that has an escape at i.
func textEnd(s string, i int) int {
	for i < len(s) {
		switch s[i] {
		case '"':
			return i
		case '\\':
			i++
		}
		i = plain(s, i+1)
	}
	return len(s)
}

// escape is one escape sequence: its rune, its length and whether there is a
// shorter way to write it; or why it is refused.
type escape struct {
	r      rune
	n      int
	loose  bool
	reason string
}

// readEscape reads the sequence that s begins with.
func readEscape(s string) escape {
	if len(s) < 2 {
		return escape{reason: "must be complete JSON: the text ends within an escape sequence"}
	}
	switch s[1] {
	case '"', '\\':
		return escape{r: rune(s[1]), n: 2}
	case '/':
		return escape{r: '/', n: 2, loose: true}
	case 'b':
		return escape{r: '\b', n: 2}
	case 'f':
		return escape{r: '\f', n: 2}
	case 'n':
		return escape{r: '\n', n: 2}
	case 'r':
		return escape{r: '\r', n: 2}
	case 't':
		return escape{r: '\t', n: 2}
	case 'u':
		return readUnicode(s)
	}
	return escape{reason: `must be valid JSON: after \ only " \ / b f n r t u may follow`}
}

func readUnicode(s string) escape {
	r, ok := hex4(s)
	if !ok {
		return escape{reason: `must be valid JSON: \u needs four hexadecimal digits`}
	}
	switch {
	case r == 0:
		return escape{reason: "must not contain the character U+0000"}
	case utf16.IsSurrogate(r):
		low, ok := hex4(s[6:])
		pair := utf16.DecodeRune(r, low)
		if !ok || pair == utf8.RuneError {
			return escape{reason: "must not contain half a surrogate pair"}
		}
		return escape{r: pair, n: 12, loose: true}
	}
	return escape{r: r, n: 6, loose: s[:6] != shortest(r)}
}

// hex4 reads \uXXXX.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[2:6]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// shortest returns the canonical way to write r within quotes.
func shortest(r rune) string {
	switch r {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if r < ' ' {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}
