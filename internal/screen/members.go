package screen

import (
	"encoding/json"
	"strings"
)

// Members returns an object of JSON as lines for a person's decision, whole: "key: value" for
// each member in the order of the text, strings without their quotes, each line in the form of
// [Exact], and further lines of a value with a mark in front. Any other text is returned in the
// form of [Rows].
func Members(s string) Text {
	dec := json.NewDecoder(strings.NewReader(s))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return Rows(s)
	}
	var out []string
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return Rows(s)
		}
		text, name := string(value), ""
		name, _ = key.(string)
		if strings.HasPrefix(text, `"`) && json.Unmarshal(value, &text) != nil {
			return Rows(s)
		}
		out = append(out, Exact(name).s+": "+allRows(text))
	}
	return Text{strings.Join(out, "\n")}
}

// allRows is [Rows] with the empty lines at both ends.
func allRows(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Exact(l).s
	}
	return strings.Join(lines, "\n  │ ")
}
