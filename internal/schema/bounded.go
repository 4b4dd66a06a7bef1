package schema

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// appliedMost limits the schemas that apply to one value.
const appliedMost = 10_000

// bounds counts, for each schema, the schemas that it applies to its own value. A cycle of
// such schemas would never end, and one with many branches would take too long.
type bounds struct {
	root  map[string]any
	count map[uintptr]int // by schema; 0 while it is being counted
}

// CheckBounded returns an error if validating a value against the schema could take unbounded
// time. It follows references of the form #/… only, and refuses all others.
func CheckBounded(root map[string]any) error {
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
