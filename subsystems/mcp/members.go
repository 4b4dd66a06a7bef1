package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// checkSyntax returns nil if data is one JSON value, else an error with line and
// column, both from 1.
func checkSyntax(data []byte) error {
	var whole json.RawMessage
	err := json.Unmarshal(data, &whole)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	before := data[:max(0, min(int(syntax.Offset), len(data))-1)]
	if int(syntax.Offset) >= len(data) {
		before = data
	}
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// eachMember calls f for each member of the JSON object, in the order of the
// text. Anything but an object, and a name given twice, are errors. The syntax
// has been checked.
func eachMember(data []byte, f func(key string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return errors.New("must be a JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key := tok.(string) // the decoder accepts nothing else there
		if seen[key] {
			return fmt.Errorf("%q is given twice", key)
		}
		seen[key] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}
