package secure

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/hook/message"
)

var (
	// wordForm is a word with the signs that tokens have.
	wordForm = regexp.MustCompile(`[0-9A-Za-z_+/=.-]{6,}`)
	// linkForm is an address of the web.
	linkForm = regexp.MustCompile(`(?i)\b(?:https?|wss?|ftp)://[^\s"'<>()\[\]{}|\\^` + "`" + `]+`)

	percentForm = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	escapeForm  = regexp.MustCompile(`\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[0-7]{3})`)
	base64Form  = regexp.MustCompile(`[0-9A-Za-z+/_-]{11,}={0,2}`)
	base32Form  = regexp.MustCompile(`(?i)[2-7a-z]{16,}`)
	hexForm     = regexp.MustCompile(`(?:(?:\\x|0x|%|=)?[0-9A-Fa-f]{2}[\s:,.;_-]{0,2}){6,}`)
	codesForm   = regexp.MustCompile(`(?:\b[0-9]{2,3}\b[^0-9A-Za-z]{1,3}){6,}[0-9]{2,3}\b`)
	codeForm    = regexp.MustCompile(`[0-9]{2,3}`)
)

// maxDecoded bounds what is looked at of a text, and what is made of it, in bytes.
const maxDecoded = 1 << 20

// variants returns the texts, joined without anything between them, and what they may encode, twice over.
func variants(texts []string) []string {
	joined := strings.Join(texts, "")
	spaced := strings.Join(texts, " ")
	out := []string{joined}
	first := decoded(joined)
	first = append(first, decoded(spaced)...)
	for _, t := range texts {
		first = append(first, decoded(t)...)
	}
	first = slices.Compact(first)
	out = append(out, first...)
	for _, t := range first {
		out = append(out, decoded(t)...)
	}
	return out
}

// decoded returns what a text may encode: percent signs, entities, base64, base32, hexadecimal digits and numbers of characters.
func decoded(text string) (out []string) {
	text = text[:min(len(text), maxDecoded)]
	room := maxDecoded
	add := func(s string) {
		if room -= len(s); room >= 0 && len(s) >= shortest {
			out = append(out, s)
		}
	}
	if strings.Contains(text, "%") {
		add(percentForm.ReplaceAllStringFunc(text, func(code string) string {
			b, _ := strconv.ParseUint(code[1:], 16, 8) // two hexadecimal digits
			return string([]byte{byte(b)})
		}))
	}
	if strings.Contains(text, "\\") {
		add(unescaped(text))
	}
	if strings.Contains(text, "&") {
		if s := html.UnescapeString(text); s != text {
			add(s)
		}
	}
	for _, run := range base64Form.FindAllString(text, -1) {
		for _, s := range unbase64(run) {
			add(s)
		}
		if rev := unbase64(reversed(strings.TrimRight(run, "="))); len(run) >= 16 {
			for _, s := range rev {
				add(s)
			}
		}
	}
	for _, run := range base32Form.FindAllString(text, -1) {
		if data, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(run[:len(run)/8*8])); err == nil && readable(data) {
			add(string(data))
		}
	}
	for _, run := range hexForm.FindAllString(text, -1) {
		digits := strings.Map(func(r rune) rune {
			if strings.ContainsRune("0123456789abcdefABCDEF", r) {
				return r
			}
			return -1
		}, strings.NewReplacer(`\x`, "", "0x", "").Replace(run))
		if data, err := hex.DecodeString(digits[:len(digits)/2*2]); err == nil && readable(data) {
			add(string(data))
		}
	}
	for _, run := range codesForm.FindAllString(text, -1) {
		var sb strings.Builder
		for _, code := range codeForm.FindAllString(run, -1) {
			if n, err := strconv.Atoi(code); err == nil && n < unicode.MaxASCII {
				sb.WriteByte(byte(n))
			}
		}
		add(sb.String())
	}
	return out
}

// unescaped replaces the escapes \u0041, \x41 and \101.
func unescaped(text string) string {
	return escapeForm.ReplaceAllStringFunc(text, func(code string) string {
		digits, base := strings.TrimLeft(code[1:], "ux"), 16
		if digits == code[1:] {
			base = 8
		}
		r, _ := strconv.ParseUint(digits, base, 32) // at most four digits
		return string(rune(r))
	})
}

// unbase64 decodes a run of base64, of either alphabet, wherever its groups of four begin.
func unbase64(run string) (out []string) {
	run = strings.NewReplacer("-", "+", "_", "/", "=", "").Replace(run)
	for shift := range 4 {
		if len(run) < shift+8 {
			break
		}
		part := run[shift:]
		if len(part)%4 == 1 {
			part = part[:len(part)-1]
		}
		data, err := base64.RawStdEncoding.DecodeString(part)
		if err != nil { // the last bits are not zero
			data, err = base64.RawStdEncoding.DecodeString(part[:len(part)/4*4])
		}
		if err == nil && readable(data) {
			out = append(out, string(data))
		}
	}
	return out
}

// readable reports whether most of the bytes are text.
func readable(data []byte) bool {
	n := 0
	for _, b := range data {
		if b >= ' ' && b < 0x7f || b == '\n' || b == '\r' || b == '\t' {
			n++
		}
	}
	return n >= shortest && 3*n >= len(data) // of UTF-16 half of the bytes are, and something may stand in front
}

func reversed(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

// rotated turns letters by 13.
func rotated(n string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return 'a' + (r-'a'+13)%26
		}
		return r
	}, n)
}

// stringsOf returns the names and the values of a JSON document as texts, in their order. Of one that cannot be read it returns the text.
func stringsOf(doc message.JSON) (out []string) {
	dec := json.NewDecoder(strings.NewReader(string(doc)))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			return []string{string(doc)}
		}
		switch v := tok.(type) {
		case string:
			out = append(out, v)
		case json.Number:
			out = append(out, v.String())
		}
	}
}
