package args

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/internal/format"
)

// Null reads null, if it follows, and reports whether it did. Call it before reading a value
// that may be null.
func (d *Decoder) Null() bool { return d.word("null") }

// Bool reads true or false.
func (d *Decoder) Bool() bool {
	if d.word("true") {
		return true
	}
	if !d.word("false") {
		d.want("true or false")
	}
	return false
}

func (d *Decoder) word(w string) bool {
	if !strings.HasPrefix(d.text[d.pos:], w) {
		return false
	}
	d.pos += len(w)
	return true
}

// String reads a string.
func (d *Decoder) String() string {
	if d.peek() != '"' {
		d.want("a string")
		return ""
	}
	start := d.pos
	for d.pos++; d.text[d.pos] != '"'; d.pos++ {
		if d.text[d.pos] == '\\' {
			d.pos++
		}
	}
	d.pos++
	quoted := d.text[start:d.pos]
	if !strings.Contains(quoted, `\`) {
		return quoted[1 : len(quoted)-1]
	}
	b, _ := jsontext.AppendUnquote(nil, quoted)
	if bytes.IndexByte(b, 0) >= 0 {
		d.fail(start, "", "must not contain the character U+0000")
		return ""
	}
	return string(b)
}

// QuotedBool reads "true" or "false" as a string.
func (d *Decoder) QuotedBool() bool {
	switch s := d.String(); s {
	case "true", "false":
		return s == "true"
	}
	d.Refuse("must be true or false in quotes")
	return false
}

// Time reads a time in the form of RFC 3339.
func (d *Decoder) Time() time.Time {
	s := d.String()
	if d.err != nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !format.DateTime(s) {
		d.Refuse("must be a time as in 2006-01-02T15:04:05Z")
		return time.Time{}
	}
	return t
}

// Duration reads a duration in Go's form, with the units h, m, s, ms, us and ns: "1m30s".
func (d *Decoder) Duration() time.Duration {
	s := d.String()
	if d.err != nil {
		return 0
	}
	v, err := time.ParseDuration(s)
	if err != nil || !plainDuration(s) {
		d.Refuse("must be a duration as in 1m30s")
		return 0
	}
	return v
}

// plainDuration refuses forms that time.ParseDuration accepts but the schema of a duration
// does not: a plus, a micro sign, a point without digits on both sides, a bare 0.
func plainDuration(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '+' || c >= utf8.RuneSelf:
			return false
		case c == '.' && (i == 0 || !isDigit(s[i-1]) || i+1 == len(s) || !isDigit(s[i+1])):
			return false
		}
	}
	return len(s) > 0 && !isDigit(s[len(s)-1])
}

// Bytes reads a string of base64 (RFC 4648 section 4, with padding).
func (d *Decoder) Bytes() []byte {
	s := d.String()
	if d.err != nil {
		return nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		d.Refuse("must be base64 with padding")
		return nil
	}
	return b
}

// Any reads any value and returns it as encoding/json does: nil, bool, float64,
// string, []any or map[string]any.
func (d *Decoder) Any() any {
	raw := d.Raw()
	if d.err != nil {
		return nil
	}
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		d.Refuse("must be valid JSON")
		return nil
	}
	return v
}
