package anthropic

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/quote"
)

// member is one member of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

// membersOf returns the members of an object in their order; false if v is none.
func membersOf(v jsontext.Value) (out []member, ok bool) {
	if v.Kind() != jsontext.KindBeginObject || !v.IsValid() {
		return nil, false
	}
	d := jsontext.NewDecoder(bytes.NewReader(v))
	_, _ = d.ReadToken() // v is valid: nothing here fails
	for d.PeekKind() == jsontext.KindString {
		name, _ := d.ReadToken()
		text := name.String()
		value, _ := d.ReadValue()
		out = append(out, member{text, value.Clone()})
	}
	return out, true
}

func find(ms []member, name string) jsontext.Value {
	for _, m := range ms {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func elements(v jsontext.Value) (out []jsontext.Value) {
	if json.Unmarshal(v, &out) != nil {
		return nil
	}
	return out
}

func appendObject(dst []byte, ms []member) []byte {
	dst = append(dst, '{')
	for i, m := range ms {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(quote.Append(dst, m.name), ':')
		dst = append(dst, m.value...)
	}
	return append(dst, '}')
}

// alternatives reports whether the API refuses the keyword at the top of a tool's schema.
func alternatives(keyword string) bool {
	return keyword == "oneOf" || keyword == "anyOf" || keyword == "allOf"
}

// toolSchema returns the schema of a tool's arguments as the API takes it: an object without
// alternatives at its top. more quotes those that were left out, for the description of the
// tool. The runtime checks arguments against the tool's own schema.
func toolSchema(schema message.JSON) (text, more string) {
	ms, _ := membersOf(jsontext.Value(schema))
	kept := []member{{"type", jsontext.Value(`"object"`)}}
	var dropped []member
	for _, m := range ms {
		switch {
		case alternatives(m.name):
			dropped = append(dropped, m)
		case m.name != "type":
			kept = append(kept, m)
		}
	}
	switch {
	case dropped != nil:
		more = "\n\nThe arguments must also fit this JSON Schema: " + string(appendObject(nil, dropped))
	case string(find(ms, "type")) == `"object"`:
		return string(schema), ""
	}
	return string(appendObject(nil, kept)), more
}

func text(v jsontext.Value) (s string) {
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// appendAnswerSchema appends the schema of an answer. The API wants every object closed and
// does not know most limits; those stand in the description, and who asked checks them.
func appendAnswerSchema(dst []byte, schema message.JSON) ([]byte, error) {
	if _, ok := membersOf(jsontext.Value(schema)); !ok {
		return nil, errors.New("the schema of the response format is not a JSON object")
	}
	return appendClosed(dst, jsontext.Value(schema)), nil
}

func appendClosed(dst []byte, v jsontext.Value) []byte {
	ms, ok := membersOf(v)
	if !ok {
		return append(dst, v...)
	}
	if ref := find(ms, "$ref"); ref != nil { // the API takes nothing beside it
		return appendObject(dst, []member{{"$ref", ref}})
	}
	var out, limits []member
	for _, m := range ms {
		if m.name == "oneOf" {
			m.name = "anyOf"
		}
		switch m.name {
		case "properties", "$defs", "definitions":
			of, _ := membersOf(m.value)
			for i := range of {
				of[i].value = appendClosed(nil, of[i].value)
			}
			out = append(out, member{m.name, appendObject(nil, of)})
		case "items":
			out = append(out, member{m.name, appendClosed(nil, m.value)})
		case "anyOf", "allOf":
			out = append(out, member{m.name, appendClosedAll(nil, m.value)})
		case "description", "additionalProperties", "$schema", "$id":
		default:
			if enforced(m) {
				out = append(out, m)
			} else {
				limits = append(limits, m)
			}
		}
	}
	return appendObject(dst, append(out, closing(ms, limits)...))
}

// closing returns the members that end a schema: what further members its objects have, and
// its description with the limits that the API does not know.
func closing(ms, limits []member) (out []member) {
	switch more := find(ms, "additionalProperties"); {
	case find(ms, "properties") == nil && more.Kind() == jsontext.KindBeginObject: // names are free
		out = append(out, member{"additionalProperties", appendClosed(nil, more)})
	case find(ms, "properties") != nil || text(find(ms, "type")) == "object":
		out = append(out, member{"additionalProperties", jsontext.Value(`false`)})
	}
	description := text(find(ms, "description"))
	if limits != nil {
		description = strings.TrimSpace(description + " " + string(appendObject(nil, limits)))
	}
	if description != "" {
		out = append(out, member{"description", quote.Append(nil, description)})
	}
	return out
}

// enforced reports whether the API knows the keyword with this value.
func enforced(m member) bool {
	switch m.name {
	case "type", "enum", "const", "required", "title", "default":
		return true
	case "minItems":
		return string(m.value) == "0" || string(m.value) == "1"
	case "format":
		switch text(m.value) {
		case "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid":
			return true
		}
	}
	return false
}

func appendClosedAll(dst []byte, v jsontext.Value) []byte {
	dst = append(dst, '[')
	for i, e := range elements(v) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendClosed(dst, e)
	}
	return append(dst, ']')
}
