package wire

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
)

// hidden stands for a secret.
const hidden = "[hidden]"

// hide replaces the secret, however its bytes are escaped.
func hide(s, secret string) string {
	if !strings.ContainsAny(s, `\%&`) {
		return strings.ReplaceAll(s, secret, hidden)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := spelled(s[i:], secret); n > 0 {
			b.WriteString(hidden)
			i += n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// spelled returns the length of the secret at the beginning of the text; 0 if it is not there.
func spelled(s, secret string) int {
	at := 0
	for i := range len(secret) {
		rest := s[at:]
		if rest != "" && rest[0] == secret[i] {
			at++
			continue
		}
		b, n := unescaped(rest)
		if n == 0 || b != secret[i] {
			return 0
		}
		at += n
	}
	return at
}

// unescaped returns the byte of the escape that the text begins with, and the length of the
// escape; 0 if there is none.
func unescaped(s string) (b byte, n int) {
	switch {
	case strings.HasPrefix(s, "%"):
		return numbered(s, 1, 3, 16)
	case strings.HasPrefix(s, `\u`):
		return numbered(s, 2, 6, 16)
	case strings.HasPrefix(s, `\x`):
		return numbered(s, 2, 4, 16)
	case len(s) > 1 && s[0] == '\\':
		return s[1], 2
	case strings.HasPrefix(s, "&#"):
		end := strings.IndexByte(s[:min(len(s), 12)], ';') // longer ones are no ASCII
		from, base := 2, 10
		if len(s) > 2 && s[2]|0x20 == 'x' {
			from, base = 3, 16
		}
		if b, n = numbered(s, from, end, base); n > 0 {
			n++
		}
		return b, n
	}
	for _, e := range []struct {
		name string
		b    byte
	}{{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}} {
		if strings.HasPrefix(s, e.name) {
			return e.b, len(e.name)
		}
	}
	return 0, 0
}

// numbered reads the number of a byte between two places of the text.
func numbered(s string, from, to, base int) (b byte, n int) {
	if to <= from || to > len(s) {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[from:to], base, 8)
	if err != nil {
		return 0, 0
	}
	return byte(v), to
}

// encodings returns the secret in hex and base64. In base64 three bytes are four characters,
// so it looks different behind one and behind two other bytes; characters that other bytes
// have a part in are left out.
func encodings(secret string) []string {
	digits := hex.EncodeToString([]byte(secret))
	out := []string{digits, strings.ToUpper(digits)}
	for _, in := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			const bits = 6
			text := in.EncodeToString(append(make([]byte, before), secret...))
			first, end := (before*8+bits-1)/bits, (before+len(secret))*8/bits
			out = append(out, text[first:end])
		}
	}
	return out
}
