package script

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// fields are the members of a mapping.
type fields map[string]*yaml.Node

func (f fields) node(key string) *yaml.Node { return f[key] }

// mapping reads a mapping that may have only the known keys.
func (p *parser) mapping(n *yaml.Node, what string, known ...string) fields {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "%s must be a mapping with the keys %s", what, strings.Join(known, ", "))
		return nil
	}
	out := fields{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !slices.Contains(known, key.Value):
			p.fail(key, "%s has no key %q; known are %s", what, key.Value, strings.Join(known, ", "))
		case out[key.Value] != nil:
			p.fail(key, "%s is given twice; take one out", key.Value)
		default:
			out[key.Value] = value
		}
	}
	return out
}

// items returns the elements of a list, or the one value in its place.
func items(n *yaml.Node) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	}
	return []*yaml.Node{n}
}

// text returns the text of a scalar; nil is "".
func (p *parser) text(n *yaml.Node, what string) string {
	switch {
	case n == nil:
		return ""
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
		p.fail(n, "%s must be a text", what)
		return ""
	}
	return n.Value
}

// word reads a text that must not be empty.
func (p *parser) word(n *yaml.Node, what string) string {
	s := p.text(n, what)
	if n != nil && n.Kind == yaml.ScalarNode && n.Tag != "!!null" && s == "" {
		p.fail(n, "%s is empty; leave it out", what)
	}
	return s
}

func (p *parser) names(n *yaml.Node, what string) []string {
	var out []string
	for _, item := range items(n) {
		out = append(out, p.word(item, what))
	}
	return out
}

func (p *parser) count(n *yaml.Node, what string) int64 {
	if n == nil {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || err != nil || v < 0 || v > math.MaxInt32 {
		p.fail(n, "%s must be a whole number, 0 or more", what)
		return 0
	}
	return v
}

func (p *parser) ordinal(n *yaml.Node, what string) int {
	v := p.count(n, what)
	if n != nil && n.Value == "0" {
		p.fail(n, "%s counts from 1", what)
	}
	return int(v)
}

func (p *parser) duration(n *yaml.Node, what string) time.Duration {
	if n == nil {
		return 0
	}
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d < 0 {
		p.fail(n, "%s must be a duration such as 20ms or 1s", what)
		return 0
	}
	return d
}

// json writes a value as JSON, the keys of a mapping in the order of the file.
func (p *parser) json(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return p.object(n)
	case yaml.SequenceNode:
		parts := make([]string, len(n.Content))
		for i, item := range n.Content {
			parts[i] = p.json(item)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return p.scalar(n)
}

func (p *parser) object(n *yaml.Node) string {
	seen := map[string]bool{}
	parts := make([]string, 0, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			p.fail(key, "a key of arguments must be a text")
			continue
		}
		if seen[key.Value] {
			p.fail(key, "%s is given twice; arguments that shall be malformed go into raw", key.Value)
		}
		seen[key.Value] = true
		parts = append(parts, quoted(key.Value)+":"+p.json(value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (p *parser) scalar(n *yaml.Node) string {
	switch n.ShortTag() {
	case "!!null":
		return "null"
	case "!!bool":
		return strings.ToLower(n.Value)
	case "!!int", "!!float":
		return p.number(n)
	}
	return quoted(n.Value)
}

var numberText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// number keeps the text of a number if it is valid JSON.
func (p *parser) number(n *yaml.Node) string {
	if numberText.MatchString(n.Value) {
		return n.Value
	}
	var i int64
	if n.ShortTag() == "!!int" && n.Decode(&i) == nil {
		return strconv.FormatInt(i, 10)
	}
	var f float64
	if n.Decode(&f) != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		p.fail(n, "%s is no number that JSON can write; quote it if it is a text", n.Value)
		return "0"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
