package tool

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/argrules"
)

// candidate is a field that encoding/json sees.
type candidate struct {
	reflect.StructField
	index        []int
	name         string
	tagged       bool // the name comes from the tag
	omit, quoted bool
}

// candidates returns the fields of the struct as encoding/json finds them: of several with
// one name the shallowest counts, then the one with a tag.
func candidates(t reflect.Type) ([]candidate, error) {
	all, err := collect(t, nil)
	if err != nil {
		return nil, err
	}
	var kept []candidate
	for _, c := range all {
		if slices.ContainsFunc(all, func(o candidate) bool { return o.beats(c) }) {
			continue
		}
		for _, o := range kept {
			if strings.EqualFold(o.name, c.name) {
				return nil, fmt.Errorf("fields %s and %s of %s have one name in JSON, or two that differ only in case: %q", o.Name, c.Name, t, c.name)
			}
		}
		kept = append(kept, c)
	}
	return kept, nil
}

func (c candidate) beats(o candidate) bool {
	if c.name != o.name || len(c.index) > len(o.index) {
		return false
	}
	return len(c.index) < len(o.index) || c.tagged && !o.tagged
}

func collect(t reflect.Type, index []int) ([]candidate, error) {
	var out []candidate
	for i := range t.NumField() {
		f := t.Field(i)
		c := candidate{StructField: f, index: append(slices.Clone(index), i)}
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if tag == "-" {
			continue
		}
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			return nil, fmt.Errorf("field %s of %s: a struct embedded by pointer cannot be in arguments; embed it by value, or give it a name", f.Name, t)
		}
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && special(f.Type) == nil && !decodesItself(f.Type) {
			more, err := collect(f.Type, c.index)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			continue
		}
		if !f.IsExported() {
			if _, hooked := f.Tag.Lookup("hook"); tagged || hooked || index == nil && !exports(t) {
				return nil, fmt.Errorf("field %s of %s is unexported and never filled; begin its name with a capital letter", f.Name, t)
			}
			continue
		}
		c.name, c.tagged = f.Name, name != ""
		if c.tagged {
			c.name = name
		}
		if err := c.options(options); err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// exports reports whether the struct has an exported or an embedded field.
func exports(t reflect.Type) bool {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() || f.Anonymous {
			return true
		}
	}
	return false
}

func (c *candidate) options(words string) error {
	for word := range strings.SplitSeq(words, ",") {
		switch word {
		case "omitempty", "omitzero":
			c.omit = true
		case "string":
			c.quoted = true
		case "":
		default:
			return fmt.Errorf("unknown json option %q", word)
		}
	}
	if !argrules.ValidName(c.name) {
		return fmt.Errorf("the JSON name %q has to match %s", c.name, argrules.NamePattern)
	}
	return nil
}
