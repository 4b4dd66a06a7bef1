package policy

import (
	"fmt"
	"path"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy/internal/files"
)

// A file from which programs run code later, such as a hook of git, is written only with a person's consent to this file: rules with a
// wildcard and defaults that allow do not cover it.

// changesFiles reports whether the call may change the files that its arguments name.
func (c *call) changesFiles(tool message.Tool) bool {
	if c.subject.Kind != Path || tool.Annotations.ReadOnly {
		return false
	}
	for _, name := range []string{"read", "glob", "grep"} {
		if c.name == name || c.subject.As == name {
			return false
		}
	}
	return true
}

// protect turns the answer to a call that changes such a file into a question, unless a rule allows the file by its name.
func (c *call) protect(rules []*rule, j *judgement) {
	if j.effect == Deny {
		return
	}
	for _, l := range c.subject.locations(c.args, c.places) {
		why := c.places.runsCode(l)
		if why == "" || c.places.allowedByName(rules, l) {
			continue
		}
		why = fmt.Sprintf("it runs code outside the sandbox later: %s (%q)", why, l.named)
		if j.effect == Ask && j.decided != nil {
			j.reason += "; " + why
		} else {
			j.decided, j.effect, j.reason, j.def = nil, Ask, why, ""
		}
		j.doubt, j.allowed = why, false
		return
	}
}

// runsCode says why programs run code from a file later; "" if they do not.
func (p places) runsCode(l location) string {
	why := files.RunsCode(p.root, l.named)
	if why == "" && l.real != l.named {
		why = files.RunsCode(p.root, l.real)
	}
	return why
}

// allowedByName reports whether a rule without a wildcard allows a file and names what runs code in its path: Write(.vscode)
// and Write(/.git/hooks/pre-commit) do, Write(/src) does not for src/.git/config.
func (p places) allowedByName(rules []*rule, l location) bool {
	for _, r := range rules {
		if r.effect != Allow || r.form != aPath || !r.path.exact || !r.path.covers(l.named, false) || !r.path.covers(l.real, false) {
			continue
		}
		name := strings.TrimSuffix(r.path.glob, "/**")
		if _, ok := files.Named(name); r.path.anywhere && ok || !r.path.anywhere && files.RunsCode(p.root, path.Join(r.path.base, name)) != "" {
			return true
		}
	}
	return false
}
