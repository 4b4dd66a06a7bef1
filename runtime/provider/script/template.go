package script

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// template is a text with references. One without references is plain and costs
// nothing to expand.
type template struct {
	plain string
	parts []part
	// escape: write inserted texts as the inside of a JSON string.
	escape bool
}

// part is a piece of plain text and the reference after it, which may be none.
type part struct {
	text string
	ref  string
	read func(*view) (string, bool)
}

// references has the valid references in the texts of one rule.
type references struct {
	results []resultTest
	exprs   []expression
}

func (r references) parse(text string, escape bool) (template, error) {
	if !strings.Contains(text, "${") {
		return template{plain: text}, nil
	}
	t := template{escape: escape}
	var sb strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		sb.WriteString(before)
		if !found {
			t.parts = append(t.parts, part{text: sb.String()})
			return t, nil
		}
		if strings.HasSuffix(before, "$") { // $${
			sb.WriteString("{")
			text = after
			continue
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			return t, fmt.Errorf("${ without }; write $${ for a plain ${")
		}
		read, err := r.reader(name)
		if err != nil {
			return t, err
		}
		t.parts = append(t.parts, part{text: sb.String(), ref: name, read: read})
		sb.Reset()
		text = rest
	}
}

// reader returns the function that reads the reference of that name.
func (r references) reader(name string) (func(*view) (string, bool), error) {
	switch tool, isTool := strings.CutPrefix(name, "result:"); {
	case name == "user":
		return func(v *view) (string, bool) { return v.user, true }, nil
	case name == "result":
		return newest(""), nil
	case isTool && tool != "":
		return newest(tool), nil
	}
	if n, err := strconv.Atoi(name); err == nil {
		return r.numbered(n)
	}
	for _, e := range r.exprs {
		if i := e.re.SubexpIndex(name); i > 0 {
			return e.group(i), nil
		}
	}
	return nil, fmt.Errorf("${%s} refers to nothing; known are ${user}, ${result}, ${result:TOOL} and the groups of the rule's expressions (%s)",
		name, r.groups())
}

func (r references) numbered(n int) (func(*view) (string, bool), error) {
	switch {
	case len(r.exprs) == 0:
		return nil, fmt.Errorf("${%d} needs a `matches` in the rule's when", n)
	case len(r.exprs) > 1:
		return nil, fmt.Errorf("${%d} could be of %d expressions; name the group, (?P<name>…), and write ${name}", n, len(r.exprs))
	case n < 0 || n > r.exprs[0].re.NumSubexp():
		return nil, fmt.Errorf("${%d}: %q has %d groups", n, r.exprs[0].re, r.exprs[0].re.NumSubexp())
	}
	return r.exprs[0].group(n), nil
}

func (r references) groups() string {
	var names []string
	for _, e := range r.exprs {
		for _, n := range e.re.SubexpNames() {
			if n != "" {
				names = append(names, n)
			}
		}
	}
	if len(names) == 0 {
		return "none has a name"
	}
	return strings.Join(names, ", ")
}

func newest(tool string) func(*view) (string, bool) {
	return func(v *view) (string, bool) {
		return v.result(func(m message.Message) bool { return tool == "" || m.Tool == tool })
	}
}

func (e expression) group(i int) func(*view) (string, bool) {
	return func(v *view) (string, bool) {
		m := e.re.FindStringSubmatch(e.text(v))
		if m == nil {
			return "", false
		}
		return m[i], true
	}
}

func (t *template) expand(v *view) (string, error) {
	if t.parts == nil {
		return t.plain, nil
	}
	var sb strings.Builder
	for _, p := range t.parts {
		sb.WriteString(p.text)
		if p.read == nil {
			continue
		}
		s, ok := p.read(v)
		if !ok {
			return "", fmt.Errorf("${%s}: there is no such result in this turn", p.ref)
		}
		if t.escape {
			s = escaped(s)
		}
		sb.WriteString(s)
	}
	return sb.String(), nil
}

func quoted(s string) string {
	var sb strings.Builder
	enc := json.NewEncoder(&sb)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // cannot happen: a string always has a JSON form
	}
	return strings.TrimSuffix(sb.String(), "\n")
}

func escaped(s string) string {
	q := quoted(s)
	return q[1 : len(q)-1]
}

func validJSON(s string) bool { return json.Valid([]byte(s)) }
