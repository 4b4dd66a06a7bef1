package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// explainer finds the places where a value that the library refused does not fit. What it finds
// is wrong; it does not find everything.
type explainer struct {
	s     *Schema
	found []Problem
}

func (e *explainer) add(place, format string, args ...any) {
	const most = 300
	if len(place) > most {
		place = strings.ToValidUTF8(place[:most], "") + "…"
	}
	if p := (Problem{place, fmt.Sprintf(format, args...)}); len(e.found) < maxProblems && !slices.Contains(e.found, p) {
		e.found = append(e.found, p)
	}
}

// at explains one value. It ends because the work on the value was estimated before.
func (e *explainer) at(schema, value any, place string) {
	if schema == false {
		e.add(place, "must not be there")
	}
	n, ok := schema.(map[string]any)
	if !ok || len(e.found) == maxProblems {
		return
	}
	if not, ok := n["not"].(map[string]any); ok && len(not) == 0 {
		e.add(place, "must not be there")
		return
	}
	if ref, ok := n["$ref"].(string); ok {
		if target, err := lookup(e.s.root, ref); err == nil {
			e.at(target, value, place)
		}
	}
	if !e.typed(n, value, place) {
		return
	}
	e.allowed(n, value, place)
	switch v := value.(type) {
	case string:
		e.text(n, v, place)
	case float64:
		e.number(n, v, place)
	case []any:
		e.list(n, v, place)
	case map[string]any:
		e.object(n, v, place)
	}
	parts, _ := n["allOf"].([]any)
	for _, part := range parts {
		e.at(part, value, place)
	}
	e.alternatives(n["anyOf"], value, place, "one")
	e.alternatives(n["oneOf"], value, place, "exactly one")
}

// typed checks the type. If it is wrong, nothing else is worth a word.
func (e *explainer) typed(n map[string]any, value any, place string) bool {
	types := strings.Join(names(n["type"]), " or ")
	if types == "" || slices.ContainsFunc(names(n["type"]), func(t string) bool { return IsType(value, t) }) {
		return true
	}
	e.add(place, "must be of type %s", types)
	return false
}

// names returns a word or a list of words.
func names(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, w := range v {
			if w, ok := w.(string); ok {
				out = append(out, w)
			}
		}
		return out
	}
	return nil
}

// IsType reports whether a value, decoded from JSON, has a type of JSON Schema. A number
// without a fraction is an integer, however large.
func IsType(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	}
	return false
}

func (e *explainer) allowed(n map[string]any, value any, place string) {
	if list, ok := n["enum"].([]any); ok && !slices.ContainsFunc(list, func(v any) bool { return reflect.DeepEqual(v, value) }) {
		words := make([]string, len(list))
		for i, v := range list {
			words[i] = literal(v)
		}
		e.add(place, "must be one of %s", joined(words))
	}
	if v, ok := n["const"]; ok && !reflect.DeepEqual(v, value) {
		e.add(place, "must be %s", literal(v))
	}
}

// literal returns a value of a schema as short JSON.
func literal(v any) string {
	const most = 60
	text, err := json.Marshal(v)
	if err != nil || len(text) > most {
		return "the value in the schema"
	}
	return string(text)
}

// joined joins the first words of a list.
func joined(words []string) string {
	const most = 12
	shown := make([]string, 0, most)
	for _, w := range words[:min(len(words), most)] {
		shown = append(shown, short(w))
	}
	if len(words) > most {
		return strings.Join(shown, ", ") + fmt.Sprintf(" or %d others", len(words)-most)
	}
	return strings.Join(shown, ", ")
}

func (e *explainer) text(n map[string]any, v, place string) {
	size := float64(utf8.RuneCountInString(v))
	if least, ok := n["minLength"].(float64); ok && size < least {
		e.add(place, "must have at least %v characters", least)
	}
	if most, ok := n["maxLength"].(float64); ok && size > most {
		e.add(place, "must have at most %v characters", most)
	}
	if p, ok := n["pattern"].(string); ok && !e.s.patterns[p].MatchString(v) {
		e.add(place, "must match the regular expression %.200s", p)
	}
}

func (e *explainer) number(n map[string]any, v float64, place string) {
	for _, limit := range []struct {
		key, want string
		broken    func(limit float64) bool
	}{
		{"minimum", "at least", func(l float64) bool { return v < l }},
		{"maximum", "at most", func(l float64) bool { return v > l }},
		{"exclusiveMinimum", "more than", func(l float64) bool { return v <= l }},
		{"exclusiveMaximum", "less than", func(l float64) bool { return v >= l }},
		{"multipleOf", "a multiple of", func(l float64) bool { return l > 0 && math.Mod(v, l) != 0 && v == math.Trunc(v) && l == math.Trunc(l) }},
	} {
		if l, ok := n[limit.key].(float64); ok && limit.broken(l) {
			e.add(place, "must be %s %v", limit.want, l)
		}
	}
}

func (e *explainer) list(n map[string]any, v []any, place string) {
	if least, ok := n["minItems"].(float64); ok && float64(len(v)) < least {
		e.add(place, "must have at least %v items", least)
	}
	if most, ok := n["maxItems"].(float64); ok && float64(len(v)) > most {
		e.add(place, "must have at most %v items", most)
	}
	prefix, _ := n["prefixItems"].([]any)
	rest := n["items"]
	if list, ok := rest.([]any); ok { // draft 7
		prefix, rest = list, n["additionalItems"]
	}
	for i, item := range v {
		sub := rest
		if i < len(prefix) {
			sub = prefix[i]
		}
		e.at(sub, item, fmt.Sprintf("%s/%d", place, i))
	}
	if n["uniqueItems"] == true {
		e.unique(v, place)
	}
}

func (e *explainer) unique(v []any, place string) {
	const most = 1000 // the comparison is quadratic
	for i := range v[:min(len(v), most)] {
		for j := range i {
			if reflect.DeepEqual(v[i], v[j]) {
				e.add(fmt.Sprintf("%s/%d", place, i), "must differ from item %d", j)
				return
			}
		}
	}
}

func (e *explainer) object(n, v map[string]any, place string) {
	for _, name := range names(n["required"]) {
		if _, ok := v[name]; !ok {
			e.add(place+"/"+escape(name), "is required")
		}
	}
	if least, ok := n["minProperties"].(float64); ok && float64(len(v)) < least {
		e.add(place, "must have at least %v members", least)
	}
	if most, ok := n["maxProperties"].(float64); ok && float64(len(v)) > most {
		e.add(place, "must have at most %v members", most)
	}
	properties, _ := n["properties"].(map[string]any)
	byPattern, _ := n["patternProperties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		at := place + "/" + escape(name)
		sub, known := properties[name]
		if known {
			e.at(sub, v[name], at)
		}
		for _, p := range slices.Sorted(maps.Keys(byPattern)) {
			if e.s.patterns[p].MatchString(name) {
				known = true
				e.at(byPattern[p], v[name], at)
			}
		}
		switch further, ok := n["additionalProperties"]; {
		case known || !ok:
		case closed(further):
			e.add(at, "is not known; known are %s", joined(slices.Sorted(maps.Keys(properties))))
		default:
			e.at(further, v[name], at)
		}
	}
}

// closed reports whether a schema allows nothing.
func closed(schema any) bool {
	n, ok := schema.(map[string]any)
	not, isNot := n["not"].(map[string]any)
	return schema == false || ok && (n["not"] == true || isNot && len(not) == 0)
}

// alternatives explains anyOf and oneOf, where no alternative fits. If one of them has the
// right type, its problems say more than that none fits.
func (e *explainer) alternatives(list, value any, place, count string) {
	all, _ := list.([]any)
	var best []Problem
	near := 0
	for _, sub := range all {
		one := explainer{s: e.s}
		one.at(sub, value, place)
		if len(one.found) == 0 {
			return
		}
		if p := one.found[0]; p.Place != place || !strings.HasPrefix(p.Want, "must be of type ") {
			near++
			best = one.found
		}
	}
	switch {
	case len(all) == 0:
	case near == 1:
		for _, p := range best {
			e.add(p.Place, "%s", p.Want)
		}
	default:
		e.add(place, "must fit %s of the %d alternatives in the schema", count, len(all))
	}
}
