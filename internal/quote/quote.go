// Package quote appends JSON strings to bytes. Its text equals that of encoding/json, byte
// for byte, but without the escapes for HTML.
package quote

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// Append appends s as a JSON string. Bytes that are not UTF-8 become \ufffd.
func Append(dst []byte, s string) []byte {
	return append(AppendInside(append(dst, '"'), s), '"')
}

// AppendInside appends s without the quotes.
func AppendInside(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' && b < utf8.RuneSelf {
			i++
			continue
		}
		if b < utf8.RuneSelf {
			dst = append(dst, s[from:i]...)
			dst = appendEscape(dst, b)
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(append(dst, s[from:i]...), `\ufffd`...)
			from = i + n
		} else if r == '\u2028' || r == '\u2029' {
			dst = append(append(dst, s[from:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xF])
			from = i + n
		}
		i += n
	}
	return append(dst, s[from:]...)
}

// appendEscape appends the escape of a byte below 0x80.
func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xF])
}
