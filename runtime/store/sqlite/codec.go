package sqlite

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook"
)

// Messages are stored as JSON by hook's tags, with one difference: a hook.JSON
// comes back byte by byte. Arguments that could not be bound are kept as the
// model sent them and may be anything, and canonical arguments are compared and
// hashed by others. So a text that this encoding would change, or that is no
// JSON, is written as a string that holds it, and so is a text that is itself a
// JSON string, to tell the two apart. Only what is not UTF-8 is mended.

func encodeAll(ms []hook.Message) ([]string, error) {
	out := make([]string, 0, len(ms))
	o := json.JoinOptions(
		json.WithMarshalers(json.JoinMarshalers(
			json.MarshalToFunc(marshalJSON), json.MarshalToFunc(marshalBlocks))),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	)
	for _, m := range ms {
		if m.Ephemeral {
			continue
		}
		var sb strings.Builder
		if err := json.MarshalWrite(&sb, m, o, jsontext.PreserveRawStrings(true)); err != nil {
			return nil, err
		}
		out = append(out, sb.String())
	}
	return out, nil
}

// marshalBlocks takes the place of List's own method, which knows nothing of the
// options.
func marshalBlocks(enc *jsontext.Encoder, l hook.List[hook.Block]) error {
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

func marshalJSON(enc *jsontext.Encoder, j hook.JSON) error {
	kept, err := jsontext.AppendFormat(nil, []byte(j), jsontext.PreserveRawStrings(true), jsontext.AllowDuplicateNames(true))
	if err != nil || string(kept) != string(j) || kept[0] == '"' {
		return enc.WriteToken(jsontext.String(string(j)))
	}
	return enc.WriteValue(kept)
}

func decode(body []byte) (hook.Message, error) {
	var m hook.Message
	err := json.Unmarshal(body, &m, json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(unmarshalJSON), json.UnmarshalFromFunc(unmarshalBlocks))),
		jsontext.AllowDuplicateNames(true))
	return m, err
}

func unmarshalBlocks(dec *jsontext.Decoder, l *hook.List[hook.Block]) error {
	var blocks []hook.Block
	if err := json.UnmarshalDecode(dec, &blocks, dec.Options()); err != nil {
		return err
	}
	*l = hook.Freeze(blocks)
	return nil
}

func unmarshalJSON(dec *jsontext.Decoder, j *hook.JSON) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() == '"' {
		text, err := jsontext.AppendUnquote(nil, v)
		*j = hook.JSON(text)
		return err
	}
	*j = hook.JSON(v)
	return nil
}
