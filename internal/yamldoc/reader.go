package yamldoc

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// Reader reads mappings strictly: unknown keys, repeated keys and values of the wrong kind are
// mistakes. It reports each of them and goes on, so that a person sees all at once. A value
// that is wrong reads as the zero value.
type Reader struct {
	// Wrong gets each mistake: its node, what is wrong and how to mend it.
	Wrong func(n *yaml.Node, what, fix string)
	// Foreign returns the fix for an unknown key that only other programs have, "" for
	// all other keys; nil knows none.
	Foreign func(key string) string
}

// Members calls the function of each key of the mapping m. An empty value is as good as none.
// kind names such a key in messages, for example "key of limits".
func (r *Reader) Members(m *yaml.Node, kind string, keys map[string]func(v *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		read, known := keys[k.Value]
		switch first, again := seen[k.Value]; {
		case again:
			r.Twice(k, kind, first)
		case !known:
			r.unknown(k, kind, slices.Sorted(maps.Keys(keys)))
		case Empty(v):
		default:
			read(v)
		}
		seen[k.Value] = k.Line
	}
}

// Named calls read with the name and the value of each member of the mapping m, whose names
// its author chooses.
func (r *Reader) Named(m *yaml.Node, key, fix string, read func(k, v *yaml.Node)) {
	if m.Kind != yaml.MappingNode {
		r.Wrong(m, key+" is no mapping", fix)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		first, again := seen[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode || k.Tag == "!!merge":
			r.Wrong(k, "a key is no plain text", "write `key: value`")
		case again:
			r.Twice(k, "key of "+key, first)
		default:
			read(k, v)
		}
		seen[k.Value] = k.Line
	}
}

// Empty reports whether the node has no value.
func Empty(v *yaml.Node) bool {
	return v.Kind == yaml.ScalarNode && (v.Tag == "!!null" || v.Value == "")
}

// Twice reports a key that is repeated; first is the line of the first one.
func (r *Reader) Twice(k *yaml.Node, kind string, first int) {
	r.Wrong(k, fmt.Sprintf("%s %q is given twice, first in line %d", kind, k.Value, first), "delete one of them")
}

func (r *Reader) unknown(k *yaml.Node, kind string, known []string) {
	fix := "known are " + strings.Join(known, ", ")
	foreign := ""
	if r.Foreign != nil {
		foreign = r.Foreign(k.Value)
	}
	if near := spell.Closest(k.Value, known); near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	} else if foreign != "" {
		fix = foreign
	}
	r.Wrong(k, fmt.Sprintf("unknown %s %q", kind, k.Value), fix)
}

// Mapping is Members for the value of a key, which may be no mapping; fix is what to write then.
func (r *Reader) Mapping(v *yaml.Node, key, fix string, keys map[string]func(*yaml.Node)) {
	if v.Kind != yaml.MappingNode {
		r.Wrong(v, key+" is no mapping", fix)
		return
	}
	r.Members(v, "key of "+key, keys)
}

// Text returns a text without blanks around it.
func (r *Reader) Text(v *yaml.Node, key string) string {
	if v.Kind != yaml.ScalarNode {
		r.Wrong(v, key+" is no text", fmt.Sprintf("write `%s: …` in one line", key))
		return ""
	}
	return strings.TrimSpace(v.Value)
}

// Texts returns a list of texts, as they are.
func (r *Reader) Texts(v *yaml.Node, key, fix string) []string {
	if v.Kind != yaml.SequenceNode {
		r.Wrong(v, key+" is no list", fix)
		return nil
	}
	out := make([]string, 0, len(v.Content))
	for _, n := range v.Content {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			r.Wrong(n, "an item of "+key+" is no text", fix)
			return nil
		}
		out = append(out, n.Value)
	}
	return out
}

// Number returns a whole number from 1 to 2147483647.
func (r *Reader) Number(v *yaml.Node, key string) int64 {
	n, err := strconv.ParseInt(v.Value, 10, 32)
	if v.Kind != yaml.ScalarNode || err != nil || n < 1 {
		r.Wrong(v, fmt.Sprintf("%s is %q", key, v.Value), "write a whole number from 1 to 2147483647, or leave it out for the default")
		return 0
	}
	return n
}

// Duration returns a duration above 0.
func (r *Reader) Duration(v *yaml.Node, key string) time.Duration {
	d, err := time.ParseDuration(v.Value)
	if v.Kind != yaml.ScalarNode || err != nil || d <= 0 {
		r.Wrong(v, fmt.Sprintf("%s is %q", key, v.Value), "write a time with its unit: 90s, 2m, 1h30m")
		return 0
	}
	return d
}
