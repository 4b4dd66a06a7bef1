package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/internal/argrules"
)

// members reads the keywords of an object; settle decides about its fields once all are read.
func (s *shaper) members(v *Value, m member) error {
	switch m.name {
	case "properties":
		return s.properties(v, m)
	case "required":
		var names []string
		if json.Unmarshal(m.value, &names) != nil {
			return s.errorf("has a required that is no list of names")
		}
		o := v.object()
		for _, name := range names {
			if slices.Contains(o.required, name) {
				return s.errorf("requires %q twice", name)
			}
			o.required = append(o.required, name)
		}
		return nil
	}
	if string(m.value) == "false" {
		v.object().closed = true
		return nil
	}
	elem, err := readShape(m.value, strings.TrimSpace(s.path+" additionalProperties"), s.depth+1)
	v.Elem = elem
	return err
}

// object returns the object that keywords describe until settle decides whether it is a struct or a map.
func (v *Value) object() *Object {
	if v.Struct == nil {
		v.Struct = &Object{}
	}
	return v.Struct
}

func (s *shaper) properties(v *Value, m member) error {
	list, err := members(m.value)
	if err != nil {
		return s.errorf("has properties that are wrong: properties %w", err)
	}
	o := v.object()
	for _, p := range list {
		if !argrules.ValidName(p.name) {
			return s.errorf("has the property %q, which is not valid: want %s", p.name, argrules.NamePattern)
		}
		value, err := readShape(p.value, strings.TrimSpace(s.path+" property "+strconv.Quote(p.name)), s.depth+1)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(o.Fields, func(f *Field) bool { return strings.EqualFold(f.Name, p.name) }) {
			return s.errorf("has two properties that differ only in case: %q", p.name)
		}
		o.Fields = append(o.Fields, &Field{Name: p.name, Doc: value.Doc, Value: value})
	}
	if len(o.Fields) > argrules.MaxFields {
		return s.errorf("has %d properties, at most %d are allowed", len(o.Fields), argrules.MaxFields)
	}
	return nil
}

// settle decides whether an object is a struct or a map, and refuses limits that exclude every value.
func (s *shaper) settle() error {
	if v := s.forms["object"]; v != nil && v.Struct != nil {
		o := v.Struct
		if !o.closed {
			return s.errorf(`has properties or required, but not "additionalProperties":false`)
		}
		for _, name := range o.required {
			i := slices.IndexFunc(o.Fields, func(f *Field) bool { return f.Name == name })
			if i < 0 {
				return s.errorf("requires %q, which is no property", name)
			}
			o.Fields[i].Required = true
		}
		v.Kind, v.Elem = Struct, nil
	}
	for _, v := range s.forms {
		if l := v.Limits; l.Min != "" && l.Max != "" && less(l.Max, l.Min) || crossed(l.MinLen, l.MaxLen) || crossed(l.MinItems, l.MaxItems) {
			return s.errorf("has limits that leave no value")
		}
		for _, lit := range v.Enum {
			if msg := unfit(v, lit, plainText(lit)); msg != "" {
				return s.errorf("has an enum that breaks its own limits: %w", fmt.Errorf("%s", msg))
			}
		}
	}
	return nil
}

func crossed(least, most *int) bool { return least != nil && most != nil && *most < *least }

func plainText(lit Literal) string {
	if s, err := strconv.Unquote(lit.Go); err == nil {
		return s
	}
	return lit.JSON
}
