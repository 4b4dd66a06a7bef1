package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/tenant"
)

// Scope is one thing that a caller may do. No scope is part of another.
type Scope string

// The scopes.
const (
	// Read sees agents, conversations, events, and what waits for people.
	Read Scope = "read"
	// Converse begins, steers and cancels turns, answers questions of agents, and changes conversations.
	Converse Scope = "converse"
	// Approve answers what tools ask approval for.
	Approve Scope = "approve"
	// Administer changes agents and settings, makes links, and deletes.
	Administer Scope = "administer"
)

// All returns all scopes.
func All() []Scope { return []Scope{Read, Converse, Approve, Administer} }

// Parse reads scopes that are separated by commas. Each may be named once.
func Parse(text string) (out []Scope, err error) {
	for name := range strings.SplitSeq(text, ",") {
		s := Scope(strings.TrimSpace(name))
		if !slices.Contains(All(), s) {
			return nil, fmt.Errorf("there is no scope %.40q; write some of read, converse, approve, administer, separated by commas", s)
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out, nil
}

// Join writes scopes as [Parse] reads them.
func Join(scopes []Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ",")
}

// Caller is who sends a request. The zero value may do nothing.
type Caller struct {
	// Token is the id of the caller's token; "" is the user of the unix socket.
	Token string
	// Name is that of the token, for people; "" is the user of the unix socket.
	Name string
	// Owner is whose tenant the caller is in; "" is that of the daemon's own user.
	Owner  string
	Scopes []Scope
	// Projects are the directories of the projects that the caller may see. None is all.
	Projects []string

	session string // the hash of the secret of a page; "" is none
}

// Local returns the user of the unix socket.
func Local() Caller { return Caller{Scopes: All()} }

// May reports whether the caller has a scope.
func (c Caller) May(s Scope) bool { return slices.Contains(c.Scopes, s) }

// Sees reports whether the caller may see a project, whoever's tenant of it is named.
func (c Caller) Sees(project string) bool {
	return c.Everywhere() || slices.Contains(c.Projects, tenant.Parse(project).Root)
}

// Everywhere reports whether the caller may see all projects.
func (c Caller) Everywhere() bool { return len(c.Projects) == 0 }

// Says returns who has said something, for people and the audit. by is what the caller wrote of that; with a token its name is added.
// A dot of the name becomes a middle dot: dots separate the path of the hook that asked from who answered it.
func (c Caller) Says(by string) string {
	name := strings.ReplaceAll(c.Name, ".", "·")
	switch {
	case name == "":
		return by
	case by == "":
		return "the token " + name
	}
	return by + ", by the token " + name
}
