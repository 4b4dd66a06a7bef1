package schema

import (
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Given returns canonical arguments without optional properties that are null although the
// schema does not allow null. It finds properties where [Schema.Validate] explains values,
// and in the parts of allOf.
func (s *Schema) Given(canonical message.JSON) message.JSON {
	if !strings.Contains(string(canonical), ":null") {
		return canonical
	}
	return args.Without(canonical, place{s, s.applied(s.root)})
}

// place is the schemas that apply to one value.
type place struct {
	s   *Schema
	all []*jsonschema.Schema
}

// Member implements args.Guide.
func (p place) Member(name string) (args.Guide, bool) {
	var below []*jsonschema.Schema
	required, null := false, true
	for _, sub := range p.all {
		required = required || slices.Contains(sub.Required, name)
		if property := sub.Properties[name]; property != nil {
			below = append(below, p.s.applied(property)...)
			null = null && p.s.allowsNull(property)
		}
	}
	return p.s.guide(below), !required && !null
}

// Item implements args.Guide.
func (p place) Item() args.Guide {
	var below []*jsonschema.Schema
	for _, sub := range p.all {
		if sub.Items != nil {
			below = append(below, p.s.applied(sub.Items)...)
		}
	}
	return p.s.guide(below)
}

func (s *Schema) guide(all []*jsonschema.Schema) args.Guide {
	if len(all) == 0 {
		return nil
	}
	return place{s, all}
}

// applied returns the schemas that every value of sub must match: sub, its references and
// the parts of allOf. It ends because Compile refuses cyclic schemas.
func (s *Schema) applied(sub *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{sub}
	if target := s.target(sub.Ref); target != nil {
		out = append(out, s.applied(target)...)
	}
	for _, part := range sub.AllOf {
		out = append(out, s.applied(part)...)
	}
	return out
}

// allowsNull reports whether null matches a schema. It assumes so behind an unusual
// reference, so that the value is passed on unchanged.
func (s *Schema) allowsNull(sub *jsonschema.Schema) bool {
	return !slices.ContainsFunc(s.applied(sub), s.forbidsNull)
}

// forbidsNull checks the schema itself, without its references.
func (s *Schema) forbidsNull(sub *jsonschema.Schema) bool {
	types := sub.Types
	if sub.Type != "" {
		types = []string{sub.Type}
	}
	switch {
	case len(types) > 0 && !slices.Contains(types, "null"),
		sub.Enum != nil && !slices.Contains(sub.Enum, nil),
		sub.Const != nil && *sub.Const != nil,
		sub.Not != nil && s.allowsNull(sub.Not),
		sub.AnyOf != nil && !slices.ContainsFunc(sub.AnyOf, s.allowsNull):
		return true
	}
	if sub.OneOf != nil {
		fit := 0
		for _, one := range sub.OneOf {
			if s.allowsNull(one) {
				fit++
			}
		}
		if fit != 1 {
			return true
		}
	}
	if sub.If == nil {
		return false
	}
	branch := sub.Else
	if s.allowsNull(sub.If) {
		branch = sub.Then
	}
	return branch != nil && !s.allowsNull(branch)
}
