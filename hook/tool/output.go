package tool

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/argrules"
)

// outputOf returns the schema of a result; "" if it is text, or if the schema library and
// encoding/json disagree on the type.
func outputOf(t reflect.Type) message.JSON {
	switch t {
	case reflect.TypeFor[string](), reflect.TypeFor[message.ToolResult](), jsonType:
		return ""
	}
	if !plain(t, nil) {
		return ""
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		timeType: {Type: "string", Format: "date-time"},
	}})
	if err != nil {
		return ""
	}
	doc, err := textOf(s)
	if err != nil {
		return ""
	}
	return doc
}

// plain reports whether the schema library and encoding/json agree on the type. They disagree
// on types that encode themselves, bytes, numbers in quotes and embedded structs. open is the
// stack of structs around t.
func plain(t reflect.Type, open []reflect.Type) bool {
	if t == timeType {
		return true
	}
	if encodesItself(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Struct:
		return plainFields(t, open)
	case reflect.Slice, reflect.Array:
		return t.Elem().Kind() != reflect.Uint8 && plain(t.Elem(), open)
	case reflect.Map:
		return t.Key().Kind() == reflect.String && !encodesItself(t.Key()) && plain(t.Elem(), open)
	case reflect.Pointer:
		return plain(t.Elem(), open)
	case reflect.Interface:
		return false
	}
	return true
}

func plainFields(t reflect.Type, open []reflect.Type) bool {
	if slices.Contains(open, t) {
		return false
	}
	open = append(open, t)
	seen := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous:
			return false
		case !f.IsExported() || tag == "-":
			continue
		case name == "":
			name = f.Name
		}
		if seen[name] || !argrules.ValidName(name) || slices.Contains(strings.Split(options, ","), "string") || !plain(f.Type, open) {
			return false
		}
		seen[name] = true
	}
	return true
}

func encodesItself(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
