package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	bounded "github.com/grapnel-go/grapnel/internal/schema"
)

// Validate returns nil if the arguments match the schema, else a *hook.ArgError that names
// the place.
func (s *Schema) Validate(canonical message.JSON) error {
	var value any
	if err := json.Unmarshal([]byte(canonical), &value); err != nil {
		return err
	}
	if bad := s.caseVariants(value); bad != nil {
		return bad
	}
	if s.resolved.Validate(value) == nil {
		return nil
	}
	// The library's message quotes the value; ours names the expectation.
	if bad := s.explain(value); bad != nil {
		return bad
	}
	return &hook.ArgError{Reason: "must fit the schema"}
}

// caseVariants refuses names that differ from a declared one only in case. A schema that
// allows further names accepts them, and a server that ignores case would then see a value
// that no hook has judged.
func (s *Schema) caseVariants(value any) *hook.ArgError {
	w := walk{s: s, object: func(sub *jsonschema.Schema, object map[string]any, path string) *hook.ArgError {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if sub.Properties[name] != nil {
				continue
			}
			for declared := range sub.Properties {
				if strings.EqualFold(declared, name) {
					return &hook.ArgError{Path: join(path, name), Reason: "is not an argument; did you mean " + declared + "?"}
				}
			}
		}
		return nil
	}}
	return w.at(s.root, value, "")
}

// explain returns the first breach of a simple rule; nil if there is none.
func (s *Schema) explain(value any) *hook.ArgError {
	return walk{s: s, object: explainObject, leaf: explainValue}.at(s.root, value, "")
}

func explainObject(sub *jsonschema.Schema, object map[string]any, path string) *hook.ArgError {
	for _, name := range sub.Required {
		if _, ok := object[name]; !ok {
			return &hook.ArgError{Path: join(path, name), Reason: "is required"}
		}
	}
	closed := sub.AdditionalProperties != nil && sub.AdditionalProperties.Not != nil && len(sub.PatternProperties) == 0
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if closed && sub.Properties[name] == nil {
			return &hook.ArgError{Path: join(path, name), Reason: "is not an argument; known are " +
				strings.Join(slices.Sorted(maps.Keys(sub.Properties)), ", ")}
		}
	}
	return nil
}

// walk walks value and schema together. It calls object for every object and leaf, if not
// nil, for every value; the first error ends it. It follows properties, items and
// references; the library checks allOf and the like.
type walk struct {
	s      *Schema
	object func(sub *jsonschema.Schema, object map[string]any, path string) *hook.ArgError
	leaf   func(sub *jsonschema.Schema, value any, path string) *hook.ArgError
}

func (w walk) at(sub *jsonschema.Schema, value any, path string) *hook.ArgError {
	if sub = w.s.deref(sub); sub == nil {
		return nil
	}
	if w.leaf != nil {
		if bad := w.leaf(sub, value, path); bad != nil {
			return bad
		}
	}
	switch v := value.(type) {
	case map[string]any:
		if bad := w.object(sub, v, path); bad != nil {
			return bad
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if bad := w.at(sub.Properties[name], v[name], join(path, name)); bad != nil {
				return bad
			}
		}
	case []any:
		for i, item := range v {
			if bad := w.at(sub.Items, item, fmt.Sprintf("%s[%d]", path, i)); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// deref follows references to the schema's own definitions; it returns nil for others. It
// ends because Compile refuses cyclic references.
func (s *Schema) deref(sub *jsonschema.Schema) *jsonschema.Schema {
	for sub != nil && sub.Ref != "" {
		sub = s.target(sub.Ref)
	}
	return sub
}

// target returns the definition that a reference names; nil for any other reference.
func (s *Schema) target(ref string) *jsonschema.Schema {
	if ref == "#" {
		return s.root
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return s.root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return s.root.Definitions[name]
	}
	return nil
}

func explainValue(sub *jsonschema.Schema, value any, path string) *hook.ArgError {
	types := sub.Types
	if sub.Type != "" {
		types = []string{sub.Type}
	}
	if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return bounded.IsType(value, t) }) {
		return &hook.ArgError{Path: path, Reason: "must be of type " + strings.Join(types, " or ")}
	}
	if sub.Enum != nil && !slices.ContainsFunc(sub.Enum, func(e any) bool { return same(e, value) }) {
		allowed := make([]string, len(sub.Enum))
		for i, e := range sub.Enum {
			allowed[i] = literal(e)
		}
		return &hook.ArgError{Path: path, Reason: "must be one of " + strings.Join(allowed, ", ")}
	}
	if reason := explainBounds(sub, value); reason != "" {
		return &hook.ArgError{Path: path, Reason: reason}
	}
	return nil
}

func explainBounds(sub *jsonschema.Schema, value any) string {
	switch v := value.(type) {
	case float64:
		if sub.Minimum != nil && v < *sub.Minimum {
			return fmt.Sprintf("must be at least %v", *sub.Minimum)
		}
		if sub.Maximum != nil && v > *sub.Maximum {
			return fmt.Sprintf("must be at most %v", *sub.Maximum)
		}
	case string:
		n := utf8.RuneCountInString(v)
		if sub.MinLength != nil && n < *sub.MinLength {
			return fmt.Sprintf("must have at least %d characters", *sub.MinLength)
		}
		if sub.MaxLength != nil && n > *sub.MaxLength {
			return fmt.Sprintf("must have at most %d characters", *sub.MaxLength)
		}
	}
	return ""
}

// same compares two values that are no object and no array; the library compares those.
func same(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return true
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// literal returns a value of an enum as text: strings as they are, others as JSON.
func literal(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
