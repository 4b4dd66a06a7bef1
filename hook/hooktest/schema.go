package hooktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// schema is the part of JSON Schema that the kit reads. A field is raw JSON if JSON
// Schema allows several forms.
type schema struct {
	Type        typeNames       `json:"type"`
	Description string          `json:"description"`
	Properties  map[string]node `json:"properties"`
	Required    []string        `json:"required"`
	Additional  json.RawMessage `json:"additionalProperties"`
	Items       *node           `json:"items"`
	AnyOf       []node          `json:"anyOf"`
	OneOf       []node          `json:"oneOf"`
	AllOf       []node          `json:"allOf"`
	Enum        []message.JSON  `json:"enum"`
	Const       message.JSON    `json:"const"`
	Ref         string          `json:"$ref"`
	Format      string          `json:"format"`
	Pattern     string          `json:"pattern"`

	MinLength  int      `json:"minLength"`
	MinItems   int      `json:"minItems"`
	Minimum    *float64 `json:"minimum"`
	Maximum    *float64 `json:"maximum"`
	Above      *float64 `json:"exclusiveMinimum"`
	Below      *float64 `json:"exclusiveMaximum"`
	MultipleOf *float64 `json:"multipleOf"`
}

// node is a schema below the top: an object, or a boolean, which reads as the empty
// schema.
type node struct{ schema }

// UnmarshalJSON reads an object or a boolean.
func (n *node) UnmarshalJSON(data []byte) error {
	if s := string(data); s == "true" || s == "false" {
		return nil
	}
	return json.Unmarshal(data, &n.schema)
}

// typeNames is the keyword type: one name or several.
type typeNames []string

// UnmarshalJSON reads a string or an array of strings.
func (t *typeNames) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = typeNames{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// parseSchema reads a tool's schema. The error says why it is no JSON Schema of an object.
func parseSchema(text message.JSON) (*schema, error) {
	s, err := readSchema(text)
	if err == nil && !slices.Equal(s.Type, typeNames{"object"}) {
		err = fmt.Errorf(`has type %q at the top instead of "object"`, s.Type)
	}
	return s, err
}

func readSchema(text message.JSON) (*schema, error) {
	var s schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("is no JSON Schema: %w", err)
	}
	return &s, s.valid("")
}

var typeList = []string{"object", "array", "string", "integer", "number", "boolean", "null"}

// valid checks the demands of JSON Schema itself, here and below.
func (s *schema) valid(path string) error {
	for _, name := range s.Type {
		if !slices.Contains(typeList, name) {
			return fmt.Errorf("%s: unknown type %q", at(path), name)
		}
	}
	for i, name := range s.Required {
		if _, ok := s.Properties[name]; !ok && s.closed() {
			return fmt.Errorf("%s: required %q is no property", at(path), name)
		}
		if slices.Contains(s.Required[:i], name) {
			return fmt.Errorf("%s: required names %q twice", at(path), name)
		}
	}
	if _, err := regexp.Compile(s.Pattern); err != nil {
		return fmt.Errorf("%s: pattern: %w", at(path), err)
	}
	for where, child := range s.children() {
		if err := child.valid(join(path, where)); err != nil {
			return err
		}
	}
	return nil
}

// closed reports whether an object of the schema may have no other properties.
func (s *schema) closed() bool { return string(s.Additional) == "false" }

// children returns the schemas one level below, by their paths.
func (s *schema) children() map[string]*schema {
	out := map[string]*schema{}
	for name, p := range s.Properties {
		out[name] = &p.schema
	}
	if s.Items != nil {
		out["[]"] = &s.Items.schema
	}
	for word, list := range map[string][]node{"anyOf": s.AnyOf, "oneOf": s.OneOf, "allOf": s.AllOf} {
		for i := range list {
			out[fmt.Sprintf("(%s %d)", word, i)] = &list[i].schema
		}
	}
	var values node
	if json.Unmarshal(s.Additional, &values) == nil && len(s.Additional) > 0 && s.Additional[0] == '{' {
		out["{}"] = &values.schema
	}
	return out
}

// subset lists the violations of the subset of JSON Schema that all providers accept.
func (s *schema) subset(path string) []string {
	var bad []string
	say := func(format string, args ...any) {
		bad = append(bad, at(path)+": "+fmt.Sprintf(format, args...))
	}
	if s.Ref != "" {
		say("$ref; write the schema out in its place")
	}
	if path == "" && len(s.AnyOf)+len(s.OneOf)+len(s.AllOf) > 0 {
		say("anyOf, oneOf or allOf at the top")
	}
	if len(s.Type) == 0 && len(s.AnyOf) == 0 && len(s.Enum) == 0 && s.Const == "" && s.Ref == "" {
		say("has no type")
	}
	if slices.Contains(s.Type, "object") && len(s.Additional) == 0 {
		say("additionalProperties is missing; it must be false, or a schema for a map")
	}
	if path == "" && !s.closed() && len(s.Additional) > 0 {
		say("additionalProperties must be false")
	}
	if slices.Contains(s.Type, "array") && s.Items == nil {
		say("array without items")
	}
	below := s.children()
	for _, where := range slices.Sorted(maps.Keys(below)) {
		bad = append(bad, below[where].subset(join(path, where))...)
	}
	return bad
}

// undescribed returns the paths of properties without a description.
func (s *schema) undescribed(path string) []string {
	var bare []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p, where := s.Properties[name], join(path, name)
		if strings.TrimSpace(p.Description) == "" {
			bare = append(bare, where)
		}
		bare = append(bare, p.undescribed(where)...)
	}
	if s.Items != nil {
		bare = append(bare, s.Items.undescribed(join(path, "[]"))...)
	}
	return bare
}

func join(path, name string) string {
	if path == "" || strings.HasPrefix(name, "[") || strings.HasPrefix(name, "{") || strings.HasPrefix(name, "(") {
		return path + name
	}
	return path + "." + name
}

func at(path string) string {
	if path == "" {
		return "at the top"
	}
	return path
}
