package policy

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Kind is the kind of an argument; it decides how patterns match.
type Kind int

// The kinds.
const (
	// Text is plain text: * stops at a slash, ** does not.
	Text Kind = iota
	// Command is a command line of bash, or a list of such lines (not of words). Patterns
	// match each simple command of each line.
	Command
	// Path is a path of a file, relative to the root or absolute.
	Path
)

// Subject describes the argument of a tool that patterns match.
type Subject struct {
	Kind Kind
	// Arg is the name of the argument; "a.b" is the member b of a, or if a is a list, of
	// each element of a.
	Arg string
	// Otherwise is the value for a missing argument.
	Otherwise string
	// Named has further arguments that a rule may name, as text: "Grep(pattern=TODO)". If
	// Kind is Text, a rule may name every argument.
	Named []string
	// Env is the argument that sets environment variables for a command. No pattern
	// allows a call with it. "" is none.
	Env string
	// Needs is the argument with what a command requests beyond its sandbox; a person is always asked about it. "" is none.
	Needs string
	// Below is an argument with a glob below the path, or a list of globs; "" is none.
	Below string
	// Searches: the tool reads below a directory. A call above a path of an ask or deny
	// rule asks.
	Searches bool
	// As is another tool that does the same to files. Its ask and deny rules apply to
	// this tool too; "" is none.
	As string
}

func subjects() map[string]Subject {
	return map[string]Subject{
		"bash":     {Kind: Command, Arg: "command", Env: "env", Needs: "needs"},
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

// alias translates a tool's name in a rule to its name in this module. It ignores case.
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

// arguments are the arguments of a call. Each is decoded when it is used.
type arguments struct{ top map[string]json.RawMessage }

func newArguments(args message.JSON) (arguments, error) {
	var a arguments
	if args == "" {
		return a, nil
	}
	return a, json.Unmarshal([]byte(args), &a.top)
}

// texts returns the values of an argument, each element of a list as one. A text stays as
// it is; any other value is JSON.
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

// below returns the location where a glob below dir begins. If the glob climbs with .., it
// also returns the location of the whole glob.
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

// climbs reports whether a text has .. as a part of a path, also URL-escaped.
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
