package policy

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Kind says what an argument is and so how a pattern is compared with it.
type Kind int

// The kinds.
const (
	// Text is compared as it stands: * stops at a slash, ** does not.
	Text Kind = iota
	// Command is a command line of bash, or a list of such lines, and not of the words
	// of one: each simple command of each line is compared by itself.
	Command
	// Path is a path of a file, relative to the root or absolute.
	Path
)

// Subject is what the patterns of a tool's rules are compared with.
type Subject struct {
	Kind Kind
	// Arg is the name of the argument; "a.b" is the member b of a, and where a is a
	// list, of each of its elements.
	Arg string
	// Otherwise is what holds if the argument is left out.
	Otherwise string
	// Named are other arguments, texts that a rule may name: "Grep(pattern=TODO)". Of a
	// tool whose subject is a text, every argument may be named.
	Named []string
	// Env is the argument that sets variables for a command: a call that has it is
	// never allowed by a pattern. "" is none.
	Env string
	// Below is an argument with a glob below the path, or a list of them; "" is none.
	Below string
	// Searches: the tool reads what is below a directory. A rule that asks or denies
	// for something there asks.
	Searches bool
	// As is another tool whose rules that ask and deny hold for this one too, because
	// it does the same to files; "" is none.
	As string
}

// subjects are those of the tools that this module knows.
func subjects() map[string]Subject {
	return map[string]Subject{
		"bash":     {Kind: Command, Arg: "command", Env: "env"},
		"read":     {Kind: Path, Arg: "file_path"},
		"write":    {Kind: Path, Arg: "file_path", As: "edit"},
		"edit":     {Kind: Path, Arg: "file_path", As: "write"},
		"glob":     {Kind: Path, Arg: "path", Otherwise: ".", Below: "pattern", Named: []string{"pattern"}},
		"grep":     {Kind: Path, Arg: "path", Otherwise: ".", Named: []string{"pattern", "glob"}, Searches: true, As: "read"},
		"skill":    {Arg: "name"},
		"delegate": {Arg: "tasks.agent"},
		"remember": {Arg: "name"},
		"forget":   {Arg: "name"},
	}
}

// alias returns the name that a tool has here of the name that a rule has for it.
// Names are compared without regard to case.
func alias(name string) string {
	switch name = strings.ToLower(name); name {
	case "agent", "task":
		return "delegate"
	case "askuserquestion":
		return "ask_user"
	case "multiedit":
		return "edit"
	}
	// mcp__server alone is all tools of the server.
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok && rest != "" && !strings.Contains(rest, "__") && !strings.HasSuffix(rest, "*") {
		return name + "__*"
	}
	return name
}

// arguments are those of a call, decoded as far as they are asked for.
type arguments struct{ top map[string]json.RawMessage }

func newArguments(args message.JSON) (arguments, error) {
	var a arguments
	if args == "" {
		return a, nil
	}
	return a, json.Unmarshal([]byte(args), &a.top)
}

// texts returns the values of an argument: a text as it is, anything else as JSON,
// each element of a list by itself.
func (a arguments) texts(name string) []string {
	first, rest, _ := strings.Cut(name, ".")
	return texts(nil, a.top[first], rest)
}

func texts(out []string, raw json.RawMessage, name string) []string {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return out
	case raw[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil {
			for _, v := range list {
				out = texts(out, v, name)
			}
		}
		return out
	case name != "":
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return out
		}
		first, rest, _ := strings.Cut(name, ".")
		return texts(out, object[first], rest)
	case raw[0] == '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			out = append(out, s)
		}
		return out
	}
	return append(out, string(raw))
}

// empty reports whether an argument is left out or has nothing in it.
func (a arguments) empty(name string) bool {
	raw := string(bytes.TrimSpace(a.top[name]))
	return raw == "" || raw == "null" || raw == "{}" || raw == "[]"
}

// locations are the paths that a call means.
func (s Subject) locations(a arguments, p places) []location {
	args := a.texts(s.Arg)
	if len(args) == 0 && s.Otherwise != "" {
		args = []string{s.Otherwise}
	}
	var out []location
	for _, arg := range args {
		if arg == "" {
			arg = s.Otherwise
		}
		var patterns []string
		if s.Below != "" {
			patterns = a.texts(s.Below)
		}
		if len(patterns) == 0 {
			out = append(out, p.locate(arg))
		}
		for _, pattern := range patterns {
			out = append(out, p.below(arg, pattern)...)
		}
	}
	return out
}

// below are the places where a glob below dir begins: also behind a wildcard, if it
// climbs there.
func (p places) below(dir, pattern string) []location {
	fixed, _ := doublestar.SplitPattern(pattern)
	if path.IsAbs(fixed) {
		dir = ""
	}
	out := []location{p.locate(dir + "/" + fixed)}
	if climbs(pattern) {
		out = append(out, p.locate(dir+"/"+pattern))
	}
	return out
}

// climbs reports whether a text has .. as a part of a path, written out or
// escaped as in URLs.
func climbs(text string) bool {
	if !strings.Contains(text, "..") && !strings.Contains(text, "%") {
		return false
	}
	text = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", `\`, "/").Replace(text)
	for part := range strings.SplitSeq(text, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}
