package wire

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

// Lax returns options that accept harmless mistakes of servers.
func Lax() jsontext.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// IsObject reports whether the text is one JSON object.
func IsObject(text []byte) bool {
	value := jsontext.Value(text)
	return value.Kind() == jsontext.KindBeginObject && value.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Piece is a string; any other value is empty. It keeps half a surrogate pair at either end
// apart, because some servers cut characters in two.
type Piece struct {
	Text       string
	head, tail rune
}

// Empty reports whether there is neither text nor half a character.
func (p Piece) Empty() bool { return p == Piece{} }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (p *Piece) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if *p = (Piece{}); err == nil && value.Kind() == jsontext.KindString {
		*p = pieceOf(value)
	}
	return err
}

func pieceOf(quoted jsontext.Value) Piece {
	const size = len(`\u0000`)
	var p Piece
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
	p.Text = Unquote(text)
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

// Unquote returns the value of a text between quotes, as valid UTF-8.
func Unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return string(text)
	}
	out, _ := jsontext.AppendUnquote(nil, `"`+string(text)+`"`) // the error is about invalid UTF-8 alone
	return string(out)
}

// Glue joins the waiting half of a character with the text of the next piece. A half at
// the end of that piece waits in turn.
func Glue(waiting *rune, p Piece) string {
	if *waiting == 0 && p.head == 0 && p.tail == 0 || p.Empty() {
		return p.Text
	}
	var out []byte
	switch {
	case *waiting != 0 && p.head != 0:
		out = utf8.AppendRune(out, utf16.DecodeRune(*waiting, p.head))
	case *waiting != 0 || p.head != 0:
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	*waiting = p.tail
	return string(append(out, p.Text...))
}

// Half returns the text for half a character.
func Half(r rune) string {
	if r == 0 {
		return ""
	}
	return string(utf8.RuneError)
}

// Text is a string; anything else is "".
type Text string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *Text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if *t = ""; err == nil && value.Kind() == jsontext.KindString {
		*t = Text(Unquote(value[1 : len(value)-1]))
	}
	return err
}

// Words is a string or the text of a number; anything else is "".
type Words string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (w *Words) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	switch *w = ""; {
	case err != nil:
	case value.Kind() == jsontext.KindString:
		*w = Words(Unquote(value[1 : len(value)-1]))
	case value.Kind() == jsontext.KindNumber:
		*w = Words(value)
	}
	return err
}

// Object is a T; any other value than an object is empty.
type Object[T any] struct{ Is T }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *Object[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginObject {
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, &o.Is)
}

// Count is a number of tokens; anything else is 0.
type Count int64

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *Count) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if *c = 0; err == nil && value.Kind() == jsontext.KindNumber {
		*c = countOf(string(value))
	}
	return err
}

func countOf(number string) Count {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return Count(min(max(n, 0), 1<<53)) // so that sums do not overflow
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f < 1<<53) {
		return 0
	}
	return Count(max(f, 0))
}

// Content is a text, or a list of parts of which the texts are taken.
type Content struct{ Piece }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *Content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginArray {
		return c.Piece.UnmarshalJSONFrom(d)
	}
	var sb strings.Builder
	err := Elements(d, func() error {
		var part Object[struct {
			Text Text `json:"text"`
		}]
		err := json.UnmarshalDecode(d, &part)
		sb.WriteString(string(part.Is.Text))
		return err
	})
	c.Piece = Piece{Text: sb.String()}
	return err
}

// MaxList limits a List: no server sends as many choices or tool calls at once.
const MaxList = 1024

// List has at most MaxList elements, because a small text can make a large list.
type List[T any] []T

// ErrMany: a list has more than MaxList elements.
var ErrMany = errors.New("it has more than " + strconv.Itoa(MaxList) + " choices or parts of tool calls")

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *List[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if *l = (*l)[:0]; d.PeekKind() != jsontext.KindBeginArray {
		return json.UnmarshalDecode(d, (*[]T)(l)) // null, or an error
	}
	return Elements(d, func() error {
		if len(*l) == MaxList {
			return ErrMany
		}
		var zero T
		*l = append(*l, zero)
		return json.UnmarshalDecode(d, &(*l)[len(*l)-1])
	})
}

// Elements calls read for each element of a list.
func Elements(d *jsontext.Decoder, read func() error) error {
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

// Arguments are those of a call: a part of their text, or all of them as an object.
type Arguments struct{ Piece }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (a *Arguments) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	switch a.Piece = (Piece{}); {
	case err != nil:
	case value.Kind() == jsontext.KindString:
		a.Piece = pieceOf(value)
	case value.Kind() == jsontext.KindBeginObject:
		a.Piece = Piece{Text: strings.ToValidUTF8(string(value), "\uFFFD")}
	}
	return err
}

// Index is the index of a call; anything but a number from 0 on is -1.
type Index int

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (i *Index) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if *i = -1; d.PeekKind() != jsontext.KindNumber {
		return d.SkipValue()
	}
	value, err := d.ReadValue()
	if err == nil && value[0] != '-' {
		*i = Index(countOf(string(value)))
	}
	return err
}
