package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
)

// bind checks the arguments of a call and makes it one that can be run.
func (t *tool) bind(call *hook.ToolCall) hook.Invocation {
	canonical, err := args.Canonical(string(call.Args()))
	if err == nil {
		err = t.schema.validate(canonical)
	}
	if err == nil {
		return hook.Bound(canonical, &invocation{t: t, args: canonical})
	}
	bad := &hook.ArgError{Reason: err.Error()}
	var where *hook.ArgError
	if errors.As(err, &where) {
		*bad = *where
	}
	bad.Tool, bad.Schema = call.Name(), t.Input
	return hook.BadArgs(call.Args(), bad)
}

// validate returns nil if the arguments fit, else a *hook.ArgError that says
// where they do not.
func (s *schema) validate(canonical hook.JSON) error {
	var value any
	if err := json.Unmarshal([]byte(canonical), &value); err != nil {
		return err
	}
	if bad := s.caseVariants(s.root, value, ""); bad != nil {
		return bad
	}
	if s.resolved.Validate(value) == nil {
		return nil
	}
	// The library's message quotes the value; the model is told the expectation.
	if bad := s.explain(s.root, value, ""); bad != nil {
		return bad
	}
	return &hook.ArgError{Reason: "must fit the schema"}
}

// caseVariants refuses names that differ from a declared one only in case. A
// schema that allows further names would let them pass, and a server that does
// not distinguish cases would see another value than everybody before it.
func (s *schema) caseVariants(sub *jsonschema.Schema, value any, path string) *hook.ArgError {
	return s.each(sub, value, path, func(sub *jsonschema.Schema, object map[string]any, path string) *hook.ArgError {
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
	}, nil)
}

// explain finds the first place where the value does not fit, among the simple
// rules; nil if it is none of them.
func (s *schema) explain(sub *jsonschema.Schema, value any, path string) *hook.ArgError {
	return s.each(sub, value, path, func(sub *jsonschema.Schema, object map[string]any, path string) *hook.ArgError {
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
	}, explainValue)
}

// each walks value and schema together: object is asked about every object, leaf
// about every value; the first answer ends it. It follows properties, items and
// references, which is where the values of arguments are; allOf and the like are
// left to the library.
func (s *schema) each(
	sub *jsonschema.Schema, value any, path string,
	object func(*jsonschema.Schema, map[string]any, string) *hook.ArgError,
	leaf func(*jsonschema.Schema, any, string) *hook.ArgError,
) *hook.ArgError {
	sub = s.deref(sub)
	if sub == nil {
		return nil
	}
	if leaf != nil {
		if bad := leaf(sub, value, path); bad != nil {
			return bad
		}
	}
	switch v := value.(type) {
	case map[string]any:
		if bad := object(sub, v, path); bad != nil {
			return bad
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if bad := s.each(sub.Properties[name], v[name], join(path, name), object, leaf); bad != nil {
				return bad
			}
		}
	case []any:
		for i, item := range v {
			if bad := s.each(sub.Items, item, fmt.Sprintf("%s[%d]", path, i), object, leaf); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// deref follows references to the schema's own definitions; nil for any other.
// It ends because compile refused those that come back to themselves.
func (s *schema) deref(sub *jsonschema.Schema) *jsonschema.Schema {
	for sub != nil && sub.Ref != "" {
		if sub.Ref == "#" {
			return s.root
		}
		if name, ok := strings.CutPrefix(sub.Ref, "#/$defs/"); ok {
			sub = s.root.Defs[name]
		} else if name, ok := strings.CutPrefix(sub.Ref, "#/definitions/"); ok {
			sub = s.root.Definitions[name]
		} else {
			return nil
		}
	}
	return sub
}

func explainValue(sub *jsonschema.Schema, value any, path string) *hook.ArgError {
	types := sub.Types
	if sub.Type != "" {
		types = []string{sub.Type}
	}
	if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return isType(value, t) }) {
		return &hook.ArgError{Path: path, Reason: "must be of type " + strings.Join(types, " or ")}
	}
	if sub.Enum != nil && !slices.ContainsFunc(sub.Enum, func(e any) bool { return same(e, value) }) {
		allowed := make([]string, len(sub.Enum))
		for i, e := range sub.Enum {
			allowed[i] = literal(e)
		}
		return &hook.ArgError{Path: path, Reason: "must be one of " + strings.Join(allowed, ", ")}
	}
	switch v := value.(type) {
	case float64:
		switch {
		case sub.Minimum != nil && v < *sub.Minimum:
			return &hook.ArgError{Path: path, Reason: fmt.Sprintf("must be at least %v", *sub.Minimum)}
		case sub.Maximum != nil && v > *sub.Maximum:
			return &hook.ArgError{Path: path, Reason: fmt.Sprintf("must be at most %v", *sub.Maximum)}
		}
	case string:
		if sub.MinLength != nil && len([]rune(v)) < *sub.MinLength {
			return &hook.ArgError{Path: path, Reason: fmt.Sprintf("must have at least %d characters", *sub.MinLength)}
		}
	}
	return nil
}

func isType(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	case float64:
		return name == "number" || name == "integer" && v == float64(int64(v))
	}
	return false
}

// same compares two values that are no object and no array; such members of an
// enum are left to the library.
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

// literal shows a value of an enum: strings as they are, everything else as JSON.
func literal(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := encode(v)
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
