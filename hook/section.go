package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// sections are the per-subsystem parts of a configuration, sorted by name.
type sections []section

type section struct {
	name string
	body message.JSON
}

// WithSection returns c with the section of one subsystem set; body "" removes
// it. The name is the subsystem's, "ostools".
func (c AgentConfig) WithSection(name string, body message.JSON) AgentConfig {
	i, found := slices.BinarySearchFunc(c.sections, name, func(s section, n string) int {
		return strings.Compare(s.name, n)
	})
	out := slices.Clone(c.sections)
	switch {
	case found && body == "":
		out = slices.Delete(out, i, i+1)
	case found:
		out[i].body = body
	case body != "":
		out = slices.Insert(out, i, section{name, body})
	}
	c.sections = out
	return c
}

// Sections returns the names of the sections that are set, sorted.
func (c *AgentConfig) Sections() []string {
	names := make([]string, len(c.sections))
	for i, s := range c.sections {
		names[i] = s.name
	}
	return names
}

// SectionOf decodes the section of one subsystem into a T, a struct with json
// tags. Without the section it returns the zero T and false. Decoding is strict:
// an unknown or repeated key, a key in another case, and data after the value
// are errors that name the place. A subsystem calls it in OnBuildAgent, so that a
// wrong section ends the registration.
func SectionOf[T any](c *AgentConfig, name string) (T, bool, error) {
	var v T
	i, found := slices.BinarySearchFunc(c.sections, name, func(s section, n string) int {
		return strings.Compare(s.name, n)
	})
	if !found {
		return v, false, nil
	}
	v, err := DecodeStrict[T](c.sections[i].body)
	if err != nil {
		return v, true, fmt.Errorf("agent %q: section %s: %w", c.Name, name, err)
	}
	return v, true, nil
}

// DecodeStrict decodes a JSON object into a T, a struct with json tags or a map, as
// strictly as [SectionOf]: for files with the content of sections. With an error T is
// zero.
func DecodeStrict[T any](text message.JSON) (T, error) {
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

// maxDepth bounds the nesting of objects and lists in a configuration.
const maxDepth = 100

// keyPath is the path of a value, linked to that of its parent. Only an error writes it
// out: the paths of all values in a deep object would need quadratic memory.
type keyPath struct {
	up    *keyPath
	key   string
	index int // in a list; -1 for a member of an object
	depth int
}

func (p *keyPath) member(key string) *keyPath { return &keyPath{p, key, -1, p.depth + 1} }

func (p *keyPath) item(i int) *keyPath { return &keyPath{p, "", i, p.depth + 1} }

// String returns the path as text: "tools[2].name".
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
// of t; a nil t allows any key.
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
