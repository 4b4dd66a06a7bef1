package yamldoc

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// JSON returns a node as canonical JSON: without blanks, members in the order of the file. A
// value without a JSON form is a mistake.
func (r *Reader) JSON(n *yaml.Node) string {
	var sb strings.Builder
	r.write(&sb, n)
	return sb.String()
}

func (r *Reader) write(sb *strings.Builder, n *yaml.Node) {
	switch {
	case n.Kind == yaml.MappingNode:
		r.writeMapping(sb, n)
	case n.Kind == yaml.SequenceNode:
		sb.WriteByte('[')
		for i, v := range n.Content {
			if i > 0 {
				sb.WriteByte(',')
			}
			r.write(sb, v)
		}
		sb.WriteByte(']')
	default:
		r.writeScalar(sb, n)
	}
}

func (r *Reader) writeMapping(sb *strings.Builder, n *yaml.Node) {
	seen := map[string]bool{}
	sb.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			r.Wrong(k, "a key is no plain text", "write `key: value`")
			continue
		}
		if seen[k.Value] {
			r.Wrong(k, fmt.Sprintf("key %q is given twice", k.Value), "delete one of them")
		}
		seen[k.Value] = true
		if i > 0 {
			sb.WriteByte(',')
		}
		writeString(sb, k.Value)
		sb.WriteByte(':')
		r.write(sb, v)
	}
	sb.WriteByte('}')
}

func (r *Reader) writeScalar(sb *strings.Builder, n *yaml.Node) {
	switch n.Tag {
	case "!!null":
		sb.WriteString("null")
	case "!!bool":
		sb.WriteString(strings.ToLower(n.Value))
	case "!!int", "!!float":
		r.writeNumber(sb, n)
	case "!!str", "!!timestamp":
		writeString(sb, n.Value)
	default:
		r.Wrong(n, fmt.Sprintf("a value of kind %s has no JSON", n.Tag), "write a text, a number, true, false, a list or a mapping")
	}
}

// writeNumber keeps the text of a number that is valid JSON, and converts YAML's other
// notations.
func (r *Reader) writeNumber(sb *strings.Builder, n *yaml.Node) {
	if json.Valid([]byte(n.Value)) {
		sb.WriteString(n.Value)
		return
	}
	if i, err := strconv.ParseInt(strings.TrimPrefix(n.Value, "+"), 0, 64); err == nil {
		sb.WriteString(strconv.FormatInt(i, 10))
		return
	}
	var f float64
	data, err := []byte(nil), n.Decode(&f)
	if err == nil {
		data, err = json.Marshal(f)
	}
	if err != nil {
		r.Wrong(n, fmt.Sprintf("the number %s has no JSON", n.Value), "write a decimal number")
		return
	}
	sb.Write(data)
}

func writeString(sb *strings.Builder, s string) {
	enc := json.NewEncoder(noNewline{sb})
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has a JSON form, and a builder never fails
}

// noNewline drops the line break that an encoder ends a value with.
type noNewline struct{ sb *strings.Builder }

func (w noNewline) Write(p []byte) (int, error) {
	w.sb.WriteString(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
