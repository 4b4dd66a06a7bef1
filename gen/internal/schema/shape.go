package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/argrules"
	"github.com/grapnel-go/grapnel/internal/format"
)

// Shape reads the JSON Schema of a //hook:schema. It allows only keywords that generated code can check, so that a schema
// never promises more: the seven types, alone or several, description, enum of strings and integers, minLength,
// maxLength, pattern, format, minimum, maximum, items, minItems, maxItems, and properties with required and
// additionalProperties false, or additionalProperties as the schema of all members.
func Shape(text string) (*Value, error) { return readShape([]byte(text), "", 0) }

// UnknownKeyword is the error of [Shape] for a keyword that generated code does not check.
type UnknownKeyword struct {
	// Path is the part of the schema that has the keyword; "" for the schema itself.
	Path string
	// Keyword is the one in the text, Meant the one that was probably meant; "" if none is close.
	Keyword, Meant string
}

func (e *UnknownKeyword) Error() string {
	text := fmt.Sprintf("has the keyword %q, which generated code does not check", e.Keyword)
	if e.Meant != "" {
		text += fmt.Sprintf("; did you mean %q?", e.Meant)
	}
	return strings.TrimSpace(e.Path + " " + text)
}

// keywords are the keywords of a schema and the type that each constrains; "" is every type.
var keywords = []struct{ name, about string }{
	{"type", ""}, {"description", ""}, {"enum", ""},
	{"minLength", "string"}, {"maxLength", "string"}, {"pattern", "string"}, {"format", "string"},
	{"minimum", "number"}, {"maximum", "number"}, {"items", "array"}, {"minItems", "array"}, {"maxItems", "array"},
	{"properties", "object"}, {"required", "object"}, {"additionalProperties", "object"},
}

// member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

func members(raw []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("is no JSON: %w", err)
	} else if open != json.Delim('{') {
		return nil, fmt.Errorf("is no JSON object")
	}
	var out []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("is no JSON: %w", err)
		}
		m := member{name: key.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, fmt.Errorf("is no JSON: %w", err)
		}
		if slices.ContainsFunc(out, func(o member) bool { return o.name == m.name }) {
			return nil, fmt.Errorf("has %q twice", m.name)
		}
		out = append(out, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("is no JSON: the closing brace is missing")
	}
	if dec.More() {
		return nil, fmt.Errorf("has more text after the closing brace")
	}
	return out, nil
}

// shaper reads a schema. forms are the values by JSON type.
type shaper struct {
	path  string
	depth int
	forms map[string]*Value
	out   *Value
}

func readShape(raw []byte, path string, depth int) (*Value, error) {
	s := shaper{path: path, depth: depth, forms: map[string]*Value{}}
	list, err := members(raw)
	if err != nil {
		return nil, s.errorf("%w", err)
	}
	if depth > argrules.MaxDepth {
		return nil, s.errorf("lies more than %d objects deep", argrules.MaxDepth)
	}
	var typ json.RawMessage
	for _, m := range list {
		if m.name == "type" {
			typ = m.value
		}
	}
	if err := s.types(typ); err != nil {
		return nil, err
	}
	for _, m := range list {
		if err := s.keyword(m); err != nil {
			return nil, err
		}
	}
	return s.out, s.settle()
}

func (s *shaper) errorf(text string, args ...any) error {
	if s.path != "" {
		text = s.path + " " + text
	}
	return fmt.Errorf(text, args...)
}

func (s *shaper) types(raw json.RawMessage) error {
	if raw == nil {
		s.out = &Value{Kind: Any, Type: types.Universe.Lookup("any").Type()}
		return nil
	}
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil || len(names) == 0 {
		names = []string{""}
		if json.Unmarshal(raw, &names[0]) != nil {
			return s.errorf("has a type that is neither a string nor a list of strings")
		}
	}
	null := false
	var forms []*Value
	for _, name := range names {
		v := formOf(name)
		switch {
		case name == "null":
			null = true
			continue
		case v == nil:
			return s.errorf("has the unknown type %q%s", name, diag.DidYouMean(name, []string{"string", "integer", "number", "boolean", "array", "object", "null"}, `"`))
		case s.forms[kindName(name)] != nil:
			return s.errorf("has a type twice: %s", name)
		}
		s.forms[kindName(name)] = v
		forms = append(forms, v)
	}
	switch len(forms) {
	case 0:
		return s.errorf("allows nothing but null")
	case 1:
		s.out = forms[0]
	default:
		s.out = &Value{Kind: Union, Forms: forms}
	}
	s.out.Pointer = null
	return nil
}

// kindName returns the type under which keywords look for a type: integers are numbers.
func kindName(typ string) string {
	if typ == "integer" {
		return "number"
	}
	return typ
}

func formOf(typ string) *Value {
	switch typ {
	case "string":
		return &Value{Kind: String, Type: types.Typ[types.String]}
	case "integer":
		return &Value{Kind: Int, Type: types.Typ[types.Int64], Bits: 64}
	case "number":
		return &Value{Kind: Float, Type: types.Typ[types.Float64], Bits: 64}
	case "boolean":
		return &Value{Kind: Bool, Type: types.Typ[types.Bool]}
	case "array":
		return &Value{Kind: List, Elem: &Value{Kind: Any, Type: types.Universe.Lookup("any").Type()}}
	case "object":
		return &Value{Kind: Map, Elem: &Value{Kind: Any, Type: types.Universe.Lookup("any").Type()}}
	}
	return nil
}

func (s *shaper) keyword(m member) error {
	i := slices.IndexFunc(keywords, func(k struct{ name, about string }) bool { return k.name == m.name })
	if i < 0 {
		var names []string
		for _, k := range keywords {
			names = append(names, k.name)
		}
		return &UnknownKeyword{Path: s.path, Keyword: m.name, Meant: diag.Closest(m.name, names)}
	}
	v := s.out
	if about := keywords[i].about; about != "" {
		if v = s.forms[about]; v == nil {
			return s.errorf("has %s, which is about type %s", m.name, about)
		}
	}
	switch m.name {
	case "type":
		return nil
	case "description":
		return s.text(m, &v.Doc)
	case "enum":
		return s.enum(v, m)
	case "minLength", "maxLength", "minItems", "maxItems":
		return s.count(v, m)
	case "minimum", "maximum":
		return s.bound(v, m)
	case "pattern":
		return s.pattern(v, m)
	case "format":
		if err := s.text(m, &v.Format); err != nil {
			return err
		}
		if !slices.Contains(format.Names(), v.Format) {
			return s.errorf("has the unknown format %q%s", v.Format, diag.DidYouMean(v.Format, format.Names(), `"`))
		}
		return nil
	case "items":
		elem, err := readShape(m.value, strings.TrimSpace(s.path+" items"), s.depth)
		v.Elem = elem
		return err
	}
	return s.members(v, m)
}

func (s *shaper) text(m member, to *string) error {
	if json.Unmarshal(m.value, to) != nil {
		return s.errorf("has a %s that is no string", m.name)
	}
	return nil
}

func (s *shaper) pattern(v *Value, m member) error {
	if err := s.text(m, &v.Pattern); err != nil {
		return err
	}
	if _, err := regexp.Compile(v.Pattern); err != nil {
		return s.errorf("has a pattern that is none: %w", err)
	}
	if bad := argrules.GoOnly(v.Pattern); bad != "" {
		return s.errorf("has a pattern with %s, which not every reader of patterns understands in the same way", bad)
	}
	return nil
}

func (s *shaper) count(v *Value, m member) error {
	n, err := strconv.Atoi(string(m.value))
	if err != nil || n < 0 {
		return s.errorf("has a %s that is no number of at least 0", m.name)
	}
	*map[string]**int{"minLength": &v.MinLen, "maxLength": &v.MaxLen, "minItems": &v.MinItems, "maxItems": &v.MaxItems}[m.name] = &n
	return nil
}

func (s *shaper) bound(v *Value, m member) error {
	text := string(m.value)
	if msg := numberProblem(v, text); msg != "" {
		return s.errorf("has a %s that is wrong: %s", m.name, msg)
	}
	if m.name == "minimum" {
		v.Min = text
	} else {
		v.Max = text
	}
	return nil
}

// enum reads the values of a string or an integer, and null if the type allows it.
func (s *shaper) enum(v *Value, m member) error {
	var values []json.RawMessage
	if json.Unmarshal(m.value, &values) != nil || len(values) == 0 {
		return s.errorf("has an enum that is no list of values")
	}
	if v.Kind != String && v.Kind != Int {
		return s.errorf("has an enum, which generated code checks for type string or integer only")
	}
	for _, raw := range values {
		if string(raw) == "null" && v.Pointer {
			continue
		}
		lit := Literal{JSON: string(raw), Go: string(raw)}
		if v.Kind == String {
			var text string
			if json.Unmarshal(raw, &text) != nil {
				return s.errorf("has an enum with %s, which is no string", raw)
			}
			lit = Literal{JSON: quote(text), Go: strconv.Quote(text)}
		} else if msg := numberProblem(v, lit.JSON); msg != "" {
			return s.errorf("has an enum that is wrong: %s", msg)
		}
		if slices.ContainsFunc(v.Enum, func(o Literal) bool { return o.JSON == lit.JSON }) {
			return s.errorf("has an enum with %s twice", lit.JSON)
		}
		v.Enum = append(v.Enum, lit)
	}
	return nil
}
