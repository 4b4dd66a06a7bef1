package tool

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/argrules"
)

// kind is the JSON form of a value.
type kind int

const (
	text      kind = iota + 1
	number         // of any Go type
	boolean        //
	base64         // []byte
	moment         // time.Time, RFC 3339
	duration       // 1m30s
	canonical      // message.JSON
	raw            // json.RawMessage
	anything       //
	object         // a struct
	list           // a slice
	dict           // a map of strings
	ownText        // read by UnmarshalText
)

// value describes a Go type as JSON: its schema, and how to read it.
type value struct {
	kind kind
	// typ is the type without its pointer; null: there is a pointer.
	typ  reflect.Type
	null bool
	// quoted: the tag says ",string".
	quoted bool
	elem   *value
	fields []*field
	// schema also has the limits of lengths and counts.
	schema     *jsonschema.Schema
	min, max   *limit
	pattern    *regexp.Regexp
	enum       []reflect.Value
	enumTokens []string
}

// field is one name of an object.
type field struct {
	name     string
	index    []int
	value    *value
	required bool
	// fallback is the default; the zero Value if there is none.
	fallback reflect.Value
}

// input is a struct of arguments with its schema as text.
type input struct {
	*value
	text message.JSON
}

func inputOf(t reflect.Type) (input, error) {
	switch {
	case t.Kind() != reflect.Struct:
		return input{}, fmt.Errorf("the arguments are a struct, not %s", t)
	case decodesItself(t):
		return input{}, fmt.Errorf("%s decodes itself, which no call does; a field may be of such a type", t)
	}
	v := &value{kind: object, typ: t, schema: &jsonschema.Schema{Type: "object"}}
	if err := new(builder).fields(v); err != nil {
		return input{}, err
	}
	doc, err := textOf(v.describe())
	return input{v, doc}, err
}

// textOf writes a schema without the escapes that only HTML needs.
func textOf(s *jsonschema.Schema) (message.JSON, error) {
	doc, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return args.Canonical(string(doc))
}

var (
	timeType        = reflect.TypeFor[time.Time]()
	durationType    = reflect.TypeFor[time.Duration]()
	jsonType        = reflect.TypeFor[message.JSON]()
	rawType         = reflect.TypeFor[json.RawMessage]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func implements(t, method reflect.Type) bool {
	return t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(method)
}

func decodesItself(t reflect.Type) bool {
	return implements(t, unmarshaler) || implements(t, textUnmarshaler)
}

// builder walks through one struct; open is the stack of structs around the current field.
type builder struct{ open []reflect.Type }

func (b *builder) fields(v *value) error {
	switch {
	case slices.Contains(b.open, v.typ):
		return fmt.Errorf("%s refers to itself: arguments must be finite", v.typ)
	case len(b.open) > argrules.MaxDepth:
		return fmt.Errorf("%s lies more than %d objects deep", v.typ, argrules.MaxDepth)
	}
	b.open = append(b.open, v.typ)
	defer func() { b.open = b.open[:len(b.open)-1] }()
	found, err := candidates(v.typ)
	if err != nil {
		return err
	}
	if len(found) > argrules.MaxFields {
		return fmt.Errorf("%s has %d fields, at most %d are allowed", v.typ, len(found), argrules.MaxFields)
	}
	for _, c := range found {
		f, err := b.field(c)
		if err != nil {
			return fmt.Errorf("field %s of %s: %w", c.Name, v.typ, err)
		}
		v.fields = append(v.fields, f)
	}
	return nil
}

func (b *builder) field(c candidate) (*field, error) {
	v, err := b.value(c.Type)
	if err != nil {
		return nil, err
	}
	f := &field{name: c.name, index: c.index, value: v, required: !v.null && !c.omit}
	if c.quoted {
		if err := v.quote(); err != nil {
			return nil, err
		}
	}
	return f, f.constrain(c.Tag.Get("hook"))
}

// value describes the type, or says why arguments cannot have it.
func (b *builder) value(t reflect.Type) (*value, error) {
	if t.Kind() == reflect.Pointer {
		v, err := b.value(t.Elem())
		if err == nil && v.null {
			err = errors.New("a pointer to a pointer cannot be in arguments")
		}
		if err == nil {
			v.null = true
		}
		return v, err
	}
	if v := special(t); v != nil {
		return v, nil
	}
	switch {
	case implements(t, unmarshaler):
		return nil, fmt.Errorf("%s has its own UnmarshalJSON, so its JSON is not known here", t)
	case implements(t, textUnmarshaler):
		return leaf(ownText, t, "string"), nil
	}
	switch t.Kind() {
	case reflect.String:
		return leaf(text, t, "string"), nil
	case reflect.Bool:
		return leaf(boolean, t, "boolean"), nil
	case reflect.Float32, reflect.Float64:
		return leaf(number, t, "number"), nil
	case reflect.Struct:
		v := leaf(object, t, "object")
		return v, b.fields(v)
	case reflect.Slice:
		return b.elem(leaf(list, t, "array"))
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !decodesItself(t.Key()) {
			return b.elem(leaf(dict, t, "object"))
		}
	case reflect.Array:
		return nil, fmt.Errorf("%s cannot be in arguments; use a slice, with minitems= and maxitems= in the tag", t)
	}
	if v := integer(t); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("%s cannot be in arguments; leave it out with `json:\"-\"`, or use strings, numbers, structs, slices, maps from strings", t)
}

func (b *builder) elem(v *value) (*value, error) {
	var err error
	v.elem, err = b.value(v.typ.Elem())
	return v, err
}

func leaf(k kind, t reflect.Type, name string) *value {
	return &value{kind: k, typ: t, schema: &jsonschema.Schema{Type: name}}
}

// integer returns the value of a type of integers, with the range that its size gives.
func integer(t reflect.Type) *value {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s, err := jsonschema.ForType(t, nil)
		if err == nil {
			return &value{kind: number, typ: t, schema: s}
		}
	}
	return nil
}

// special returns the value of a type with a JSON form of its own, or nil.
func special(t reflect.Type) *value {
	switch {
	case t == timeType:
		v := leaf(moment, t, "string")
		v.schema.Format = "date-time"
		return v
	case t == durationType:
		v := leaf(duration, t, "string")
		v.schema.Pattern = argrules.DurationPattern
		return v
	case t == jsonType:
		return leaf(canonical, t, "")
	case t == rawType:
		return leaf(raw, t, "")
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		return leaf(anything, t, "")
	case t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[byte]() && !decodesItself(t):
		v := leaf(base64, t, "string")
		v.schema.ContentEncoding = "base64"
		return v
	}
	return nil
}

// quote applies ",string".
func (v *value) quote() error {
	pattern := ""
	switch {
	case v.kind == boolean:
		v.quoted, v.schema = true, &jsonschema.Schema{Type: "string", Enum: []any{"true", "false"}}
		return nil
	case v.kind != number:
		return fmt.Errorf("the json option string is for numbers and booleans, not for %s", v.typ)
	case v.schema.Type == "number":
		pattern = argrules.NumberPattern
	case v.typ.Kind() >= reflect.Uint:
		pattern = argrules.NaturalPattern
	default:
		pattern = argrules.IntegerPattern
	}
	v.quoted, v.schema = true, &jsonschema.Schema{Type: "string", Pattern: pattern}
	return nil
}

// describe completes the schema with those of fields and elements.
func (v *value) describe() *jsonschema.Schema {
	s := v.schema
	switch v.kind {
	case object:
		s.Properties = map[string]*jsonschema.Schema{}
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}} // false
		for _, f := range v.fields {
			s.Properties[f.name] = f.value.describe()
			s.PropertyOrder = append(s.PropertyOrder, f.name)
			if f.required {
				s.Required = append(s.Required, f.name)
			}
		}
	case list:
		s.Items = v.elem.describe()
	case dict:
		s.AdditionalProperties = v.elem.describe()
	case canonical, raw, anything:
		if s.Description == "" {
			s.Description = "Any value." // an empty schema becomes true, which some providers refuse
		}
		return s
	}
	if v.null {
		s.Type, s.Types = "", []string{s.Type, "null"}
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
	}
	return s
}
