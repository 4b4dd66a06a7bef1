// Package schema compiles untrusted input schemas of tools, and validates the arguments
// of calls against them. Its run time is bounded for any schema and value. Its errors
// name the expectation, and never quote the value.
package schema

import (
	"encoding/json"
	"errors"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/grapnel-go/grapnel/hook/message"
	bounded "github.com/grapnel-go/grapnel/internal/schema"
)

// Schema is a tool's input schema, ready to validate with. Make it with
// [Compile]. It is safe for concurrent use.
type Schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// Compile compiles an untrusted schema. The schema must describe an object, and must
// validate any value in bounded time.
func Compile(text message.JSON) (*Schema, error) {
	var raw map[string]any
	if err := json.Unmarshal([]byte(text), &raw); err != nil || raw == nil {
		return nil, errors.New("it is no JSON object")
	}
	loosen(raw, true)
	out := &Schema{root: new(jsonschema.Schema)}
	if err := convert(raw, out.root); err != nil {
		return nil, err
	}
	if out.root.Type != "object" {
		return nil, errors.New(`it must have "type": "object" at its root`)
	}
	// Check the schema that the library understood, not the text: the library also
	// accepts keywords in another case.
	var understood map[string]any
	if err := convert(out.root, &understood); err != nil {
		return nil, err
	}
	if err := bounded.CheckBounded(understood); err != nil {
		return nil, err
	}
	var err error
	out.resolved, err = out.root.Resolve(nil)
	return out, err
}

// convert makes one form of a schema from another.
func convert(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// loosen removes the parts of a schema that this process cannot check: regular expressions
// of another dialect, and unknown versions. The server still checks them. The model gets
// the original schema.
func loosen(node any, root bool) {
	switch n := node.(type) {
	case map[string]any:
		if version, ok := n["$schema"].(string); ok && (!root || !knownVersion(version)) {
			delete(n, "$schema")
		}
		if p, ok := n["pattern"].(string); ok && !compiles(p) {
			delete(n, "pattern")
		}
		if ps, ok := n["patternProperties"].(map[string]any); ok {
			for p := range ps {
				if !compiles(p) {
					delete(ps, p)
					delete(n, "additionalProperties") // without the pattern it would refuse too much
				}
			}
		}
		for _, child := range n {
			loosen(child, false)
		}
	case []any:
		for _, child := range n {
			loosen(child, false)
		}
	}
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

func knownVersion(v string) bool {
	switch v {
	case "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2020-12/schema":
		return true
	}
	return false
}
