package openai

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lax returns options that accept harmless mistakes of servers.
func lax() jsontext.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// isObject reports whether the text is one JSON object.
func isObject(text []byte) bool {
	value := jsontext.Value(text)
	return value.Kind() == jsontext.KindBeginObject && value.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// piece is a string; any other value is empty. It keeps half a surrogate pair at either end
// apart, because some servers cut characters in two.
type piece struct {
	text       string
	head, tail rune
}

func (p piece) empty() bool { return p == piece{} }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (p *piece) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if *p = (piece{}); err == nil && value.Kind() == jsontext.KindString {
		*p = pieceOf(value)
	}
	return err
}

func pieceOf(quoted jsontext.Value) piece {
	const size = len(`\u0000`)
	var p piece
	text := quoted[1 : len(quoted)-1]
	if r := escaped(text); r >= 0xDC00 {
		p.head, text = r, text[size:]
	}
	if n := len(text) - size; n >= 0 {
		before := text[:n]
		slashes := n - len(bytes.TrimRight(before, `\`))
		if r := escaped(text[n:]); slashes%2 == 0 && r != 0 && r < 0xDC00 {
			p.tail, text = r, before
		}
	}
	p.text = unquote(text)
	return p
}

// escaped returns the half of a surrogate pair whose escape sequence a text begins
// with, 0 if there is none.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(r)) {
		return 0
	}
	return rune(r)
}

// unquote returns the value of a text between quotes, as valid UTF-8.
func unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return string(text)
	}
	out, _ := jsontext.AppendUnquote(nil, `"`+string(text)+`"`) // the error is about invalid UTF-8 alone
	return string(out)
}

// glue joins the waiting half of a character with the text of the next piece. A half at
// the end of that piece waits in turn.
func glue(waiting *rune, p piece) string {
	if *waiting == 0 && p.head == 0 && p.tail == 0 || p.empty() {
		return p.text
	}
	var out []byte
	switch {
	case *waiting != 0 && p.head != 0:
		out = utf8.AppendRune(out, utf16.DecodeRune(*waiting, p.head))
	case *waiting != 0 || p.head != 0:
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	*waiting = p.tail
	return string(append(out, p.text...))
}

// half returns the text for half a character.
func half(r rune) string {
	if r == 0 {
		return ""
	}
	return string(utf8.RuneError)
}

// text is a string; anything else is "".
type text string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if *t = ""; err == nil && value.Kind() == jsontext.KindString {
		*t = text(unquote(value[1 : len(value)-1]))
	}
	return err
}

// words is a string or the text of a number; anything else is "".
type words string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (w *words) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	switch *w = ""; {
	case err != nil:
	case value.Kind() == jsontext.KindString:
		*w = words(unquote(value[1 : len(value)-1]))
	case value.Kind() == jsontext.KindNumber:
		*w = words(value)
	}
	return err
}

// object is a T; any other value than an object is empty.
type object[T any] struct{ is T }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *object[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginObject {
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, &o.is)
}

// count is a number of tokens; anything else is 0.
type count int64

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *count) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if *c = 0; err == nil && value.Kind() == jsontext.KindNumber {
		*c = countOf(string(value))
	}
	return err
}

func countOf(number string) count {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return count(min(max(n, 0), 1<<53)) // so that sums do not overflow
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f < 1<<53) {
		return 0
	}
	return count(max(f, 0))
}

// content is a text, or a list of parts of which the texts are taken.
type content struct{ piece }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginArray {
		return c.piece.UnmarshalJSONFrom(d)
	}
	var sb strings.Builder
	err := elements(d, func() error {
		var part object[struct {
			Text text `json:"text"`
		}]
		err := json.UnmarshalDecode(d, &part)
		sb.WriteString(string(part.is.Text))
		return err
	})
	c.piece = piece{text: sb.String()}
	return err
}

// list has at most maxCalls elements, because a small text can make a large list.
type list[T any] []T

// errMany: a list has more than maxCalls elements.
var errMany = errors.New("it has more than " + strconv.Itoa(maxCalls) + " choices or parts of tool calls")

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *list[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if *l = (*l)[:0]; d.PeekKind() != jsontext.KindBeginArray {
		return json.UnmarshalDecode(d, (*[]T)(l)) // null, or an error
	}
	return elements(d, func() error {
		if len(*l) == maxCalls {
			return errMany
		}
		var zero T
		*l = append(*l, zero)
		return json.UnmarshalDecode(d, &(*l)[len(*l)-1])
	})
}

// elements calls read for each element of a list.
func elements(d *jsontext.Decoder, read func() error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != jsontext.KindEndArray {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// arguments are those of a call: a part of their text, or all of them as an object.
type arguments struct{ piece }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (a *arguments) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	switch a.piece = (piece{}); {
	case err != nil:
	case value.Kind() == jsontext.KindString:
		a.piece = pieceOf(value)
	case value.Kind() == jsontext.KindBeginObject:
		a.piece = piece{text: strings.ToValidUTF8(string(value), "\uFFFD")}
	}
	return err
}

// index is the index of a call; anything but a number from 0 on is -1.
type index int

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (i *index) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if *i = -1; d.PeekKind() != jsontext.KindNumber {
		return d.SkipValue()
	}
	value, err := d.ReadValue()
	if err == nil && value[0] != '-' {
		*i = index(countOf(string(value)))
	}
	return err
}
