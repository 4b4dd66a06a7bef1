package scaffold

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// maxTool is the maximum length of a tool's name that all providers accept.
const maxTool = 64

var toolName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]*$`)

// Tool is one tool of a subsystem.
type Tool struct {
	// Asked is the requested name.
	Asked string
	// Name is the tool's name as a model sees it.
	Name string
	// Method is the name of its method, Input that of the type of its arguments.
	Method, Input string
	// Test is the name of its test, without "Test".
	Test string
	// Const is the name of the generated constant.
	Const string
	// Option is what //hook:tool needs to give the method that name: " name=…", or "".
	Option string
}

// tool derives the names of a tool. A name with upper-case letters is a method's, and the tool's name follows from it as in the
// generator; any other name is the tool's own.
func (s *Subsystem) tool(asked string) (Tool, error) {
	switch {
	case asked == "":
		return Tool{}, fmt.Errorf("a name in -tools is empty: names are separated by one comma each, -tools add,list")
	case len(asked) > maxTool || !toolName.MatchString(asked):
		return Tool{}, fmt.Errorf("%s is not the name of a tool: a letter, then up to 63 letters, digits, _ or -", Quote(asked))
	}
	t := Tool{Asked: asked, Method: methodName(asked)}
	if t.Method == "" {
		return Tool{}, fmt.Errorf("%s cannot be made the name of a method: a part of it begins with a digit or is empty", Quote(asked))
	}
	local := asked
	if asked != strings.ToLower(asked) {
		local = snake(asked)
	}
	local = strings.TrimPrefix(local, s.Prefix)
	if short := methodName(local); short != "" {
		t.Method = short
	}
	t.Name, t.Input, t.Test = s.Prefix+local, t.Method+"Input", t.Method
	if t.Method == "Conformance" || t.Method == "Main" {
		t.Test += "Tool" // the test file has a TestConformance, and TestMain is no test
	}
	if local == s.Name {
		t.Name = local
	}
	if t.Name != s.Prefix+snake(t.Method) {
		t.Option = " name=" + t.Name
	}
	if len(t.Name) > maxTool {
		return Tool{}, fmt.Errorf("the tool %s would be called %s, which has %d characters; providers allow %d",
			Quote(asked), t.Name, len(t.Name), maxTool)
	}
	t.Const = "Tool"
	for part := range strings.FieldsFuncSeq(t.Name, separates) {
		t.Const += upper(part)
	}
	return t, nil
}

func separates(r rune) bool { return r == '_' || r == '-' }

var initialisms = strings.Fields("api db html http https id ip json mcp sql uri url uuid xml")

// methodName returns the Go name for http-get, list_all or listAll, or "" if there is none.
func methodName(name string) string {
	var sb strings.Builder
	for i, part := range strings.FieldsFunc(name, separates) {
		if i == 0 && !unicode.IsLetter(rune(part[0])) {
			return ""
		}
		if known(part) {
			sb.WriteString(strings.ToUpper(part))
			continue
		}
		sb.WriteString(upper(part))
	}
	return sb.String()
}

func known(part string) bool {
	for _, word := range initialisms {
		if word == part {
			return true
		}
	}
	return false
}

// snake converts the name of a method to that of a tool, as the generator does: ListAll is list_all.
func snake(name string) string {
	var sb strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			after := i+1 < len(name) && unicode.IsLower(rune(name[i+1]))
			if !unicode.IsUpper(rune(name[i-1])) || after {
				sb.WriteByte('_')
			}
		}
		sb.WriteRune(unicode.ToLower(r))
	}
	return sb.String()
}
