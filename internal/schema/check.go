package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Bounds of a value.
const (
	// MaxValue limits its text, in bytes.
	MaxValue = 4 << 20
	// maxDepth limits its nesting.
	maxDepth = 100
	// maxWork limits the work of checking it. A unit is about the visit of one value by one
	// schema, so the limit takes seconds at most.
	maxWork = 5_000_000
	// maxProblems limits the mistakes that are reported at once.
	maxProblems = 5
)

// Problem is a place where a value does not fit its schema.
type Problem struct {
	// Place is a JSON pointer; "" is the whole value.
	Place string
	// Want names the expectation: "must be of type string". It never quotes the value.
	Want string
}

// String returns one line.
func (p Problem) String() string {
	if p.Place == "" {
		return "the value " + p.Want
	}
	return p.Place + " " + p.Want
}

// CheckJSON returns what is wrong with a text that has to be one JSON value; nil if nothing.
// A member that is given twice is a mistake, because readers differ about it.
func CheckJSON(text string) []Problem {
	_, problem := decode(text)
	return problem
}

// Check returns what is wrong with a text that has to be one JSON value of the schema; nil if
// nothing. It returns at most five problems.
func (s *Schema) Check(text string) []Problem {
	value, problem := decode(text)
	if problem != nil {
		return problem
	}
	if w := (work{s: s, known: map[pair]int{}}); w.of(s.root, value) > maxWork {
		return one("", "is too large or nested too deeply to be checked; make it simpler")
	}
	if s.resolved.Validate(value) == nil {
		return nil
	}
	// The library's message quotes the value; ours names the expectation.
	e := explainer{s: s}
	if e.at(s.root, value, ""); len(e.found) > 0 {
		return e.found
	}
	return one("", "must fit the whole schema; look at not, oneOf, if and what is unevaluated there")
}

func one(place, want string) []Problem { return []Problem{{place, want}} }

func decode(text string) (any, []Problem) {
	if len(text) > MaxValue {
		return nil, one("", fmt.Sprintf("must have at most %d bytes", MaxValue))
	}
	if strings.TrimSpace(text) == "" {
		return nil, one("", "must be JSON, and is empty")
	}
	dec := json.NewDecoder(strings.NewReader(text))
	problem, err := distinct(dec, "", 0)
	if problem != nil {
		return nil, problem
	}
	if err == nil {
		end := dec.InputOffset()
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			return nil, one("", fmt.Sprintf("must be JSON and nothing else: there is more text from byte %d on", end))
		}
	}
	var value any
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace([]byte(text)), &value)
	}
	switch bad, ok := errors.AsType[*json.SyntaxError](err); {
	case err == nil:
		return value, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, one("", "must be JSON, and ends too early")
	case ok:
		return nil, one("", fmt.Sprintf("must be JSON, and is none from byte %d on", bad.Offset))
	}
	return nil, one("", "must be JSON, with numbers that fit 64 bits")
}

// distinct reads one value whose objects give no member twice.
func distinct(dec *json.Decoder, place string, depth int) ([]Problem, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	open, nested := tok.(json.Delim)
	if !nested {
		return nil, nil
	}
	if depth == maxDepth {
		return one("", fmt.Sprintf("must not nest deeper than %d levels", maxDepth)), nil
	}
	seen := map[string]bool{}
	for i := 0; dec.More(); i++ {
		at := fmt.Sprintf("%s/%d", place, i)
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			if at = place + "/" + escape(name); seen[name] {
				return one(at, "must be given once"), nil
			}
			seen[name] = true
		}
		if problem, err := distinct(dec, at, depth+1); problem != nil || err != nil {
			return problem, err
		}
	}
	_, err = dec.Token()
	return nil, err
}

// work estimates the work of validating a value, from above: a schema that refers to itself in
// several branches takes exponential time on a deep value.
type work struct {
	s     *Schema
	known map[pair]int
}

// pair is a schema and a value, which are maps or lists.
type pair struct{ schema, value uintptr }

func (w *work) of(schema, value any) int {
	n, ok := schema.(map[string]any)
	if !ok {
		return 1
	}
	p := pair{schema: reflect.ValueOf(n).Pointer()}
	switch value.(type) {
	case map[string]any, []any:
		p.value = reflect.ValueOf(value).Pointer()
		if total, ok := w.known[p]; ok {
			return total
		}
	}
	if len(w.known) > maxWork/10 {
		return maxWork + 1
	}
	total := w.own(n, value)
	here, err := (&bounds{root: w.s.root}).inPlace(n)
	if err != nil {
		return maxWork + 1
	}
	for _, sub := range here {
		if total += w.of(sub, value); total > maxWork {
			break
		}
	}
	if total <= maxWork {
		total += w.below(n, value, maxWork-total)
	}
	if p.value != 0 {
		w.known[p] = total
	}
	return total
}

// own is the work of the schema's own keywords.
func (w *work) own(n map[string]any, value any) int {
	total := 1
	for _, key := range []string{"enum", "required"} {
		list, _ := n[key].([]any)
		total += len(list)
	}
	properties, _ := n["properties"].(map[string]any)
	total += len(properties)
	if text, ok := value.(string); ok {
		if p, ok := n["pattern"].(string); ok {
			total += w.match(p, text)
		}
	}
	return total
}

// match is the work of matching a text with a pattern.
func (w *work) match(pattern, text string) int { return 1 + len(text)/10*w.s.patterns[pattern].size }

// below is the work on members and items, up to more than most.
func (w *work) below(n map[string]any, value any, most int) (total int) {
	add := func(sub, v any) bool {
		if sub != nil {
			total += w.of(sub, v)
		}
		return total <= most
	}
	switch v := value.(type) {
	case map[string]any:
		properties, _ := n["properties"].(map[string]any)
		byPattern, _ := n["patternProperties"].(map[string]any)
		for name, member := range v {
			for p, sub := range byPattern {
				if total += w.match(p, name); !add(sub, member) {
					return total
				}
			}
			if !add(properties[name], member) || !add(n["additionalProperties"], member) ||
				!add(n["unevaluatedProperties"], member) || !add(n["propertyNames"], name) {
				return total
			}
		}
	case []any:
		for i, item := range v {
			for _, key := range []string{"items", "prefixItems"} {
				if list, ok := n[key].([]any); ok && i < len(list) && !add(list[i], item) {
					return total
				}
			}
			if !add(n["items"], item) || !add(n["additionalItems"], item) || !add(n["contains"], item) || !add(n["unevaluatedItems"], item) {
				return total
			}
		}
	}
	return total
}
