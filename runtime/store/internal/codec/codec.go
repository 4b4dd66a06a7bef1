// Package codec encodes messages as JSON and decodes them, for stores and files. It
// uses the tags of the types, with one difference.
//
// A message.JSON keeps its bytes. Arguments that no tool could accept are kept in the
// model's form and may be any text; canonical arguments are compared and hashed. So a
// text that this encoding would change, or that is not JSON, is written as a JSON string.
// A text that is itself a JSON string is written so, too, to tell the two apart. Only
// bytes that are not UTF-8 are replaced.
package codec

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
)

// The options are made once, because they cache the types.
var (
	encoding = json.JoinOptions(
		json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(marshalJSON), json.MarshalToFunc(marshalBlocks))),
		jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	decoding = json.JoinOptions(
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(unmarshalJSON), json.UnmarshalFromFunc(unmarshalBlocks))))
	lenient = json.JoinOptions(decoding, jsontext.AllowDuplicateNames(true))
	strict  = json.JoinOptions(decoding, json.RejectUnknownMembers(true))
)

// Encode returns the message as one line of JSON. Two equal messages have one
// encoding.
func Encode(m message.Message) (string, error) {
	var sb strings.Builder
	err := json.MarshalWrite(&sb, m, encoding)
	return sb.String(), err
}

// marshalBlocks replaces List's own method, which ignores the options.
func marshalBlocks(enc *jsontext.Encoder, l message.List[message.Block]) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, b := range l.All() {
		if err := json.MarshalEncode(enc, b, enc.Options()); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}

func marshalJSON(enc *jsontext.Encoder, j message.JSON) error {
	if j == "" || j[0] == '"' || !utf8.ValidString(string(j)) || !compact(string(j)) || enc.WriteValue(jsontext.Value(j)) != nil {
		return enc.WriteToken(jsontext.String(string(j)))
	}
	return nil
}

// compact reports whether a JSON text has no blanks between its tokens: such a text is
// written as it is. It may be huge, so compact does not format it to compare.
func compact(s string) bool {
	text, escaped := false, false
	for i := range len(s) {
		switch b := s[i]; {
		case escaped:
			escaped = false
		case text:
			text, escaped = b != '"', b == '\\'
		case b == '"':
			text = true
		case b <= ' ':
			return false
		}
	}
	return true
}

// Decode returns the message of a store's row. It ignores unknown members.
func Decode(body []byte) (m message.Message, err error) {
	err = json.Unmarshal(body, &m, lenient)
	return m, err
}

// DecodeStrict is Decode for text from outside: unknown and repeated members are errors.
func DecodeStrict(body []byte) (m message.Message, err error) {
	err = json.Unmarshal(body, &m, strict)
	return m, err
}

func unmarshalBlocks(dec *jsontext.Decoder, l *message.List[message.Block]) error {
	var blocks []message.Block
	if err := json.UnmarshalDecode(dec, &blocks, dec.Options()); err != nil {
		return err
	}
	*l = message.Freeze(blocks)
	return nil
}

func unmarshalJSON(dec *jsontext.Decoder, j *message.JSON) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() == '"' {
		text, err := jsontext.AppendUnquote(nil, v)
		*j = message.JSON(text)
		return err
	}
	*j = message.JSON(v)
	return nil
}
