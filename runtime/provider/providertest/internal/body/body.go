// Package body reads and compares the bodies of requests, for the kit providertest.
package body

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Texts returns all strings in the body of a request, joined, as a reader of it sees them:
// with the escapes of JSON resolved, also those of JSON within a string.
func Texts(body string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return body
	}
	var sb strings.Builder
	gather(&sb, v)
	return sb.String()
}

func gather(sb *strings.Builder, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			gather(sb, e)
		}
	case map[string]any:
		for name, e := range v {
			sb.WriteString(name + "\n")
			gather(sb, e)
		}
	default:
		fmt.Fprintf(sb, "%v\n", v)
	}
}

// Plain returns the body without the members that mark what may be cached, and without
// spaces. The order of members is kept: a server sees it.
func Plain(body string, marks []string) (string, error) {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var sb strings.Builder
	err := copyJSON(&sb, d, marks)
	return sb.String(), err
}

// copyJSON copies one value.
func copyJSON(sb *strings.Builder, d *json.Decoder, marks []string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		text, err := json.Marshal(token)
		sb.Write(text)
		return err
	}
	sb.WriteString(open.String())
	for first := true; d.More(); {
		name := ""
		if open == '{' {
			token, err := d.Token()
			if err != nil {
				return err
			}
			if name = token.(string); slices.Contains(marks, name) {
				if err := copyJSON(new(strings.Builder), d, nil); err != nil {
					return err
				}
				continue
			}
		}
		if !first {
			sb.WriteString(",")
		}
		first = false
		if open == '{' {
			fmt.Fprintf(sb, "%q:", name)
		}
		if err := copyJSON(sb, d, marks); err != nil {
			return err
		}
	}
	end, err := d.Token()
	if err == nil {
		sb.WriteString(end.(json.Delim).String())
	}
	return err
}

// Grows says how the body of a request changes what the one before has said; "" if it only
// says more at the end of the conversation. The conversation is the one member at the top
// that is a list and has grown.
func Grows(before, after string) string {
	was, is := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if json.Unmarshal([]byte(before), &was) != nil || json.Unmarshal([]byte(after), &is) != nil {
		if strings.HasPrefix(after, strings.TrimRight(before, "\n")) {
			return ""
		}
		return fmt.Sprintf("it does not begin with the request before: after %d bytes it differs", common(before, after))
	}
	for name, value := range was {
		var some, more []json.RawMessage
		switch {
		case string(value) == string(is[name]):
		case json.Unmarshal(value, &some) != nil || json.Unmarshal(is[name], &more) != nil || len(more) < len(some):
			return fmt.Sprintf("the member %q is another one: %s", name, Apart(string(value), string(is[name])))
		default:
			for i := range some {
				if string(some[i]) != string(more[i]) {
					return fmt.Sprintf("element %d of %q is another one: %s", i, name, Apart(string(some[i]), string(more[i])))
				}
			}
		}
	}
	for name := range is {
		if _, there := was[name]; !there {
			return fmt.Sprintf("it has the new member %q", name)
		}
	}
	return ""
}

// common is the length of what both begin with.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Apart shows where two texts begin to differ.
func Apart(a, b string) string {
	n := common(a, b)
	from := max(0, n-20)
	return fmt.Sprintf("%.60q, before %.60q", b[from:], a[from:])
}
