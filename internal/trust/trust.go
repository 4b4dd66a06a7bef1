// Package trust asks a person for what a project wants and may not just take: to start MCP servers,
// to have calls run unasked, to turn guards off, to reach memories of other projects. What was
// allowed for good it remembers in a file, and asks again when any of it changes.
package trust

import (
	"context"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/screen"
)

// Kind is a kind of thing that a project wants.
type Kind int

// The kinds, in the order in which they are shown.
const (
	// Commands are MCP servers that are started as processes, and what has an effect on them.
	Commands Kind = iota
	// URLs are MCP servers that requests are sent to.
	URLs
	// Rules are calls that run without being asked about.
	Rules
	// Exceptions are rules that ask about or deny some of the calls of Rules.
	Exceptions
	// Guards are settings of subsystems that guard: off, or less strict.
	Guards
	// Memories are the agents that want the memories of the user.
	Memories
	// Skills are the skills that choose which model or which agent works.
	Skills
	kinds
)

// Request is what a project wants.
type Request struct {
	// From is the file, or names the agent, that wants it.
	From string
	// Dir is where commands are run.
	Dir string
	// Wants has one line for each thing.
	Wants map[Kind][]string
	// Changes are the difference from what was allowed before: what is gone behind "- ", what is
	// new behind "+ ". Empty if nothing was allowed. Confirm sets it.
	Changes []string
}

// Lines returns the lines of the kinds in their order, of all kinds if none is named.
func (r *Request) Lines(of ...Kind) []string {
	var out []string
	for k := range kinds {
		if len(of) == 0 || slices.Contains(of, k) {
			out = append(out, r.Wants[k]...)
		}
	}
	return out
}

// Only reports whether the request is about these kinds and nothing else.
func (r *Request) Only(of ...Kind) bool { return len(r.Lines()) == len(r.Lines(of...)) }

// Question returns what is wanted, in sentences for the terminal.
func (r *Request) Question() string {
	var parts []string
	for k := range kinds {
		if len(r.Wants[k]) == 0 {
			continue
		}
		part := r.heading(k) + ":\n  " + exactly(r.Wants[k])
		if k == Exceptions && len(parts) > 0 {
			parts[len(parts)-1] += "\n  " + part
			continue
		}
		parts = append(parts, part)
	}
	text := screen.Exact(r.From).String() + " wants " + strings.Join(parts, "\nand ")
	if len(r.Changes) > 0 {
		text += "\nYou have allowed something else before. What has changed since:\n  " + exactly(r.Changes)
	}
	return text
}

func (r *Request) heading(k Kind) string {
	switch k {
	case Commands:
		return "to start in " + screen.Exact(r.Dir).String()
	case URLs:
		return "to send requests to"
	case Rules:
		return "these calls to run without being asked about"
	case Exceptions:
		return "except where these rules are stricter"
	case Guards:
		return "subsystems that guard to be off, or to guard less"
	case Skills:
		return "these skills to choose which model or which agent works on them"
	}
	return "to remember and to recall in all of your projects, not in this one alone"
}

// exactly joins lines, each shown as exactly the text that it is.
func exactly(texts []string) string {
	lines := make([]string, len(texts))
	for i, t := range texts {
		lines[i] = screen.Exact(t).String()
	}
	return strings.Join(lines, "\n  ")
}

// Answer is the answer to a request.
type Answer int

// The answers.
const (
	No      Answer = iota // nobody could be asked
	Once                  // this time
	Always                // until something that has an effect changes
	Refused               // somebody has said no
)

// Allows reports whether the project gets what it wants.
func (a Answer) Allows() bool { return a == Once || a == Always }

// Ask asks a person. It is called for one request at a time.
type Ask func(ctx context.Context, r Request) (Answer, error)
