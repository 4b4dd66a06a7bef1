// Package schema compiles untrusted input schemas of tools, and validates the arguments
// of calls against them. Its run time is bounded for any schema and value. Its errors
// name the expectation, and never quote the value.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Schema is a tool's input schema, ready to validate with. Make it with
// [Compile]. It is safe for concurrent use.
type Schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// Compile compiles an untrusted schema. The schema must describe an object, and must
// validate any value in bounded time.
func Compile(text message.JSON) (*Schema, error) {
	var raw map[string]any
	if err := json.Unmarshal([]byte(text), &raw); err != nil || raw == nil {
		return nil, errors.New("it is no JSON object")
	}
	loosen(raw, true)
	out := &Schema{root: new(jsonschema.Schema)}
	if err := convert(raw, out.root); err != nil {
		return nil, err
	}
	if out.root.Type != "object" {
		return nil, errors.New(`it must have "type": "object" at its root`)
	}
	// Check the schema that the library understood, not the text: the library also
	// accepts keywords in another case.
	var understood map[string]any
	if err := convert(out.root, &understood); err != nil {
		return nil, err
	}
	if err := checkBounded(understood); err != nil {
		return nil, err
	}
	var err error
	out.resolved, err = out.root.Resolve(nil)
	return out, err
}

// convert makes one form of a schema from another.
func convert(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// loosen removes the parts of a schema that this process cannot check: regular expressions
// of another dialect, and unknown versions. The server still checks them. The model gets
// the original schema.
func loosen(node any, root bool) {
	switch n := node.(type) {
	case map[string]any:
		if version, ok := n["$schema"].(string); ok && (!root || !knownVersion(version)) {
			delete(n, "$schema")
		}
		if p, ok := n["pattern"].(string); ok && !compiles(p) {
			delete(n, "pattern")
		}
		if ps, ok := n["patternProperties"].(map[string]any); ok {
			for p := range ps {
				if !compiles(p) {
					delete(ps, p)
					delete(n, "additionalProperties") // without the pattern it would refuse too much
				}
			}
		}
		for _, child := range n {
			loosen(child, false)
		}
	case []any:
		for _, child := range n {
			loosen(child, false)
		}
	}
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

func knownVersion(v string) bool {
	switch v {
	case "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2020-12/schema":
		return true
	}
	return false
}

// appliedMost limits the schemas that apply to one value.
const appliedMost = 10_000

// bounds counts, for each schema, the schemas that it applies to its own value. A cycle of
// such schemas would never end, and one with many branches would take too long.
type bounds struct {
	root  map[string]any
	count map[uintptr]int // by schema; 0 while it is being counted
}

func checkBounded(root map[string]any) error {
	b := &bounds{root: root, count: map[uintptr]int{}}
	return b.all(root, true)
}

// all checks every schema of the tree. It takes every object for a schema; for others that
// is harmless.
func (b *bounds) all(node any, root bool) error {
	switch n := node.(type) {
	case map[string]any:
		if _, ok := n["$id"].(string); ok && !root {
			return errors.New("it has a $id inside")
		}
		if _, ok := n["$dynamicRef"].(string); ok {
			return errors.New("it has a $dynamicRef")
		}
		if _, err := b.applied(n); err != nil {
			return err
		}
		for _, child := range n {
			if err := b.all(child, false); err != nil {
				return err
			}
		}
	case []any:
		for _, child := range n {
			if err := b.all(child, false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bounds) applied(node any) (int, error) {
	n, ok := node.(map[string]any)
	if !ok {
		return 1, nil
	}
	id := reflect.ValueOf(n).Pointer()
	if count, seen := b.count[id]; seen {
		if count == 0 {
			return 0, errors.New("it refers to itself without end")
		}
		return count, nil
	}
	b.count[id] = 0
	total := 1
	here, err := b.inPlace(n)
	if err != nil {
		return 0, err
	}
	for _, child := range here {
		count, err := b.applied(child)
		if err != nil {
			return 0, err
		}
		if total += count; total > appliedMost {
			return 0, errors.New("it branches too often")
		}
	}
	b.count[id] = total
	return total, nil
}

// inPlace returns the schemas that n applies to its own value.
func (b *bounds) inPlace(n map[string]any) ([]any, error) {
	var out []any
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if list, ok := n[key].([]any); ok {
			out = append(out, list...)
		}
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		out = append(out, n[key])
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		if byName, ok := n[key].(map[string]any); ok {
			for _, s := range byName {
				out = append(out, s)
			}
		}
	}
	if ref, ok := n["$ref"].(string); ok {
		target, err := lookup(b.root, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, target)
	}
	return out, nil
}

// lookup resolves a reference within the schema. It never follows other references, and
// never uses the network.
func lookup(root any, ref string) (any, error) {
	path, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil || !strings.HasPrefix(ref, "#") || path != "" && path[0] != '/' {
		return nil, fmt.Errorf("it refers to %.100q; only references of the form #/… are followed", ref)
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	node := root
	for _, step := range strings.Split(path, "/")[1:] {
		switch n := node.(type) {
		case map[string]any:
			node = n[unescape.Replace(step)]
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n) {
				node = n[i]
				continue
			}
			node = nil
		default:
			node = nil
		}
	}
	if node == nil {
		return nil, fmt.Errorf("it refers to %.100q, which is not there", ref)
	}
	return node, nil
}
