package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// DecodeStrict decodes a JSON object into a T, a struct with json tags or a map. An
// unknown or repeated key, a key in another case, and data after the value are errors
// that say where. With an error T is zero.
func DecodeStrict[T any](text JSON) (T, error) {
	var v T
	if err := decodeStrict([]byte(text), &v); err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// decodeStrict decodes data into what v points to. encoding/json alone accepts
// repeated keys and other cases, so the keys are checked first.
func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if text := bytes.TrimLeft(data, " \t\r\n"); len(text) > 0 && text[0] != '{' && json.Valid(text) {
		return errors.New("must be an object")
	}
	switch err := checkKeys(dec, reflect.TypeOf(v).Elem(), &keyPath{}); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("unexpected end of the text")
	case err != nil:
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("data after the value")
	}
	dec = json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// maxDepth is how many objects and lists of a configuration may lie in each other.
const maxDepth = 100

// keyPath is where a value is, as links to the values around it: only an error writes
// it out, because paths of deep values with long keys add up.
type keyPath struct {
	up    *keyPath
	key   string
	index int // in a list; -1 for a member of an object
	depth int
}

func (p *keyPath) member(key string) *keyPath { return &keyPath{p, key, -1, p.depth + 1} }

func (p *keyPath) item(i int) *keyPath { return &keyPath{p, "", i, p.depth + 1} }

// String is the path as a person writes it: "tools[2].name".
func (p *keyPath) String() string {
	var parts []string
	for ; p.up != nil; p = p.up {
		if p.index >= 0 {
			parts = append(parts, fmt.Sprintf("[%d]", p.index))
		} else {
			parts = append(parts, "."+p.key)
		}
	}
	slices.Reverse(parts)
	return strings.TrimPrefix(strings.Join(parts, ""), ".")
}

// outermost is the path's first part.
func (p *keyPath) outermost() *keyPath {
	for p.up != nil && p.up.up != nil {
		p = p.up
	}
	return p
}

// checkKeys reads one value and compares the keys of its objects with the fields
// of t; t is nil where any key goes.
func checkKeys(dec *json.Decoder, t reflect.Type, at *keyPath) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, nested := tok.(json.Delim); nested && at.depth >= maxDepth {
		return fmt.Errorf("%s: nests deeper than %d levels", at.outermost(), maxDepth)
	}
	if err := fits(tok, t); err != nil && at.up != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	switch tok {
	case json.Delim('['):
		var elem reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			elem = t.Elem()
		}
		for i := 0; dec.More(); i++ {
			if err := checkKeys(dec, elem, at.item(i)); err != nil {
				return err
			}
		}
		_, err = dec.Token()
	case json.Delim('{'):
		err = checkObject(dec, t, at)
	}
	return err
}

// fits compares a value, or the beginning of a list or an object, with the type that it is for:
// encoding/json would name a mistake in the words of Go. Null fits, and so does every value of a
// type that decodes itself.
func fits(tok json.Token, t reflect.Type) error {
	if tok == nil || t == nil || reflect.PointerTo(t).Implements(decodesJSON) || reflect.PointerTo(t).Implements(decodesText) {
		return nil
	}
	found, want := kindOf(tok), ""
	switch t.Kind() {
	case reflect.Bool:
		want = "true or false"
	case reflect.String:
		want = "a string"
	case reflect.Slice, reflect.Array:
		want = "a list"
	case reflect.Map, reflect.Struct:
		want = "an object"
	case reflect.Float32, reflect.Float64:
		want = "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		want = "a whole number"
		if number, ok := tok.(json.Number); ok {
			found = string(number)
			if _, err := strconv.ParseInt(found, 10, t.Bits()); err == nil {
				return nil
			}
		}
	}
	if want == "" || want == found {
		return nil
	}
	return fmt.Errorf("must be %s, not %s", want, found)
}

var (
	decodesJSON = reflect.TypeFor[json.Unmarshaler]()
	decodesText = reflect.TypeFor[interface{ UnmarshalText(text []byte) error }]()
)

// kindOf names what a token is or begins.
func kindOf(tok json.Token) string {
	switch tok {
	case json.Delim('['):
		return "a list"
	case json.Delim('{'):
		return "an object"
	}
	switch tok.(type) {
	case bool:
		return "true or false"
	case string:
		return "a string"
	}
	return "a number"
}

func checkObject(dec *json.Decoder, t reflect.Type, at *keyPath) error {
	fields := map[string]reflect.Type{}
	if t != nil && t.Kind() == reflect.Struct {
		fields = jsonFields(t)
	}
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key := tok.(string)
		if seen[key] {
			return fmt.Errorf("%s: given twice", at.member(key))
		}
		seen[key] = true
		elem, known := fields[key]
		if t != nil && t.Kind() == reflect.Map {
			elem, known = t.Elem(), true
		}
		if t != nil && t.Kind() == reflect.Struct && !known {
			return fmt.Errorf("%s: unknown key; known are %s", at.member(key), knownKeys(fields))
		}
		if err := checkKeys(dec, elem, at.member(key)); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func jsonFields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		out[name] = f.Type
	}
	return out
}

func knownKeys(fields map[string]reflect.Type) string {
	names := make([]string, 0, len(fields))
	for n := range fields {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
