// Package schema checks values against JSON Schemas that a project wrote. The validator is
// google/jsonschema-go; this package bounds it for any schema and any value, and names the
// places of mistakes. It reads no other document, whatever a schema refers to.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/grapnel-go/grapnel/hook/message"
)

// MaxSize limits a schema, in bytes.
const MaxSize = 128 << 10

// maxPattern limits a compiled regular expression, in instructions.
const maxPattern = 2_000

// Schema is a compiled schema. Make it with [Compile]. It is safe for concurrent use.
type Schema struct {
	root     map[string]any
	resolved *jsonschema.Resolved
	// patterns has the compiled regular expressions by their text.
	patterns map[string]pattern
}

type pattern struct {
	*regexp.Regexp
	// size counts the instructions.
	size int
}

// Error is a mistake in a schema.
type Error struct {
	// Place is a JSON pointer; "" is the root.
	Place string
	What  string
	// Fix says what to write instead.
	Fix string
}

// Error returns one line.
func (e *Error) Error() string {
	place := e.Place
	if place == "" {
		place = "the schema"
	}
	return fmt.Sprintf("%s %s; %s", place, e.What, e.Fix)
}

var types = [...]string{"array", "boolean", "integer", "null", "number", "object", "string"}

// The keywords whose values are schemas, lists of schemas, and schemas by name.
var (
	single = [...]string{
		"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames",
		"then", "unevaluatedItems", "unevaluatedProperties",
	}
	listed = [...]string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	named  = [...]string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// Compile compiles a schema, which must be an object. The error is an *Error.
func Compile(text message.JSON) (*Schema, error) {
	if len(text) > MaxSize {
		return nil, &Error{What: fmt.Sprintf("has %d bytes", len(text)), Fix: fmt.Sprintf("write a smaller one, of at most %d bytes", MaxSize)}
	}
	if _, err := message.DecodeStrict[map[string]any](text); err != nil {
		return nil, &Error{What: "is no JSON object: " + err.Error(), Fix: `write an object: {"type":"object","properties":{…}}`}
	}
	parsed := new(jsonschema.Schema)
	if err := json.Unmarshal([]byte(text), parsed); err != nil {
		var root map[string]any
		place := ""
		if json.Unmarshal([]byte(text), &root) == nil {
			place = misfit(root)
		}
		return nil, &Error{Place: place, What: "has a value that JSON Schema does not have there", Fix: "write a JSON Schema (draft 2020-12)"}
	}
	// Check the schema that the library understood, not the text: the library also
	// accepts keywords in another case.
	s := &Schema{root: map[string]any{}, patterns: map[string]pattern{}}
	var understood any // an empty schema becomes true
	if err := convert(parsed, &understood); err != nil {
		return nil, &Error{What: "is not understood: " + err.Error(), Fix: "write a JSON Schema (draft 2020-12)"}
	}
	if root, ok := understood.(map[string]any); ok {
		s.root = root
	}
	if err := s.check(s.root, ""); err != nil {
		return nil, err
	}
	if err := CheckBounded(s.root); err != nil {
		return nil, &Error{What: "cannot be checked in bounded time: " + err.Error(), Fix: "let a definition refer to itself only from properties or items"}
	}
	var err error
	s.resolved, err = parsed.Resolve(&jsonschema.ResolveOptions{Loader: func(*url.URL) (*jsonschema.Schema, error) {
		return nil, errors.New("a schema from elsewhere is not read")
	}})
	if err != nil {
		return nil, &Error{What: "is no JSON Schema: " + err.Error(), Fix: "write a JSON Schema (draft 2020-12)"}
	}
	return s, nil
}

// misfit returns the place of the first keyword with a value that the library does not take.
func misfit(n map[string]any) string {
	fits := func(part map[string]any) bool { return convert(part, new(jsonschema.Schema)) == nil }
	for at, sub := range within(n) {
		if sub, ok := sub.(map[string]any); ok && !fits(sub) {
			return at + misfit(sub)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(n)) {
		if !fits(map[string]any{key: n[key]}) {
			return "/" + escape(key)
		}
	}
	return ""
}

func convert(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// check checks a schema and those within it.
func (s *Schema) check(node any, place string) error {
	n, ok := node.(map[string]any)
	if !ok {
		return nil
	}
	if err := s.checkKeywords(n, place); err != nil {
		return err
	}
	for at, sub := range within(n) {
		if err := s.check(sub, place+at); err != nil {
			return err
		}
	}
	return nil
}

// within yields the schemas within n with their places, in a fixed order.
func within(n map[string]any) func(yield func(string, any) bool) {
	return func(yield func(string, any) bool) {
		for _, key := range single {
			if sub, ok := n[key].(map[string]any); ok && !yield("/"+key, sub) {
				return
			}
		}
		for _, key := range listed {
			list, _ := n[key].([]any)
			for i, sub := range list {
				if !yield(fmt.Sprintf("/%s/%d", key, i), sub) {
					return
				}
			}
		}
		for _, key := range named {
			byName, _ := n[key].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(byName)) {
				if !yield("/"+key+"/"+escape(name), byName[name]) {
					return
				}
			}
		}
	}
}

func (s *Schema) checkKeywords(n map[string]any, place string) error {
	if ref, ok := n["$ref"].(string); ok {
		if _, err := lookup(s.root, ref); err != nil {
			return &Error{place + "/$ref", err.Error(), `copy the definition into $defs and refer to it as "#/$defs/NAME"; nothing is read from elsewhere`}
		}
	}
	if _, ok := n["$dynamicRef"]; ok {
		return &Error{place + "/$dynamicRef", "is not supported", `write "$ref": "#/$defs/NAME"`}
	}
	if _, ok := n["$id"]; ok && place != "" {
		return &Error{place + "/$id", "is not supported within a schema", "leave it out"}
	}
	for _, name := range names(n["type"]) {
		if !slices.Contains(types[:], name) {
			return &Error{place + "/type", fmt.Sprintf("is %.60q, which is no type", name), "write one of " + strings.Join(types[:], ", ")}
		}
	}
	if text, ok := n["pattern"].(string); ok {
		if err := s.addPattern(text, place+"/pattern"); err != nil {
			return err
		}
	}
	byPattern, _ := n["patternProperties"].(map[string]any)
	for _, text := range slices.Sorted(maps.Keys(byPattern)) {
		if err := s.addPattern(text, place+"/patternProperties/"+escape(text)); err != nil {
			return err
		}
	}
	return nil
}

// addPattern compiles a regular expression.
func (s *Schema) addPattern(text, place string) error {
	const fix = "write an expression of RE2, without lookahead and back references"
	re, err := regexp.Compile(text)
	if err != nil {
		return &Error{place, "is no regular expression: " + err.Error(), fix}
	}
	size := 0
	if tree, err := syntax.Parse(text, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(tree.Simplify()); err == nil {
			size = len(prog.Inst)
		}
	}
	if size > maxPattern {
		return &Error{place, "is a regular expression that is too large", "write smaller repetitions"}
	}
	s.patterns[text] = pattern{re, size}
	return nil
}

// IsObject reports whether the root has "type": "object", as parameters of tools must have.
func (s *Schema) IsObject() bool { return s.root["type"] == "object" }

// escape makes a step of a JSON pointer of a name, shortened.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(short(name))
}

// short returns the beginning of a name, in one line.
func short(name string) string {
	const most = 60
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, name)
}
