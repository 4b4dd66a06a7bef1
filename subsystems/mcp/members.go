package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// eachMember calls f for each member of the JSON object, in the order of the
// text. Anything but one object, and a name given twice, are errors; where data
// is no JSON they say the place.
func eachMember(data []byte, f func(key string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	tok, err := dec.Token()
	if err != nil {
		return placed(data, dec, err)
	}
	if tok != json.Delim('{') {
		return errors.New("must be a JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return placed(data, dec, err)
		}
		key := tok.(string) // the decoder accepts nothing else there
		if seen[key] {
			return fmt.Errorf("%q is given twice", key)
		}
		seen[key] = true
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return placed(data, dec, err)
		}
		if err := f(key, raw); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return placed(data, dec, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return placed(data, dec, errors.New("there is more after the object"))
	}
	return nil
}

// placed adds line and column, both from 1, to an error.
func placed(data []byte, dec *json.Decoder, err error) error {
	at := int(dec.InputOffset())
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = int(syntax.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at, err = len(data), errors.New("the text ends too early")
	}
	before := data[:min(at, len(data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}
