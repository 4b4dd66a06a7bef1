// Package codec writes messages as JSON and reads them back, for stores and for
// files: by hook's tags, with one difference.
//
// A message.JSON comes back byte by byte. Arguments that could not be bound are kept
// as the model sent them and may be anything, and canonical arguments are compared
// and hashed by others. So a text that this encoding would change, or that is no
// JSON, is written as a string that holds it, and so is a text that is itself a
// JSON string, to tell the two apart. Only what is not UTF-8 is mended.
package codec

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
)

// The options are made once: what they have learned of the types is kept in them.
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

// marshalBlocks takes the place of List's own method, which knows nothing of the
// options.
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

// compact reports whether there is no blank between the tokens of a JSON text: such a
// text is written as it is. It may be huge, so it is looked at and not formatted.
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

// Decode returns the message of a store's row. What it does not know it skips.
func Decode(body []byte) (m message.Message, err error) {
	err = json.Unmarshal(body, &m, lenient)
	return m, err
}

// DecodeStrict is Decode for what comes from outside: a member that is unknown or
// there twice is an error.
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
