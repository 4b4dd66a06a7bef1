package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Allowed judges calls by a list of allow rules alone: it allows what the rules allow without a doubt, and nothing else. A
// program uses it for lists that are no policy of an agent, such as the allowed tools of a skill. It is safe for concurrent use.
type Allowed struct {
	set      ruleset
	compiler compiler
}

// NewAllowed compiles the rules, in the syntax of [Rule]. The error has a [RuleError] for each wrong rule; the Allowed is usable
// all the same, and a wrong rule in it allows nothing. Of the options Root, Home and Subjects count; nil is the zero Options.
func NewAllowed(rules []string, o *Options) (*Allowed, error) {
	if o == nil {
		o = &Options{}
	}
	p, err := New(nil, &Options{Default: DefaultDeny, Root: o.Root, Home: o.Home, Subjects: o.Subjects})
	if err != nil {
		return nil, err
	}
	a := &Allowed{set: p.base, compiler: p.compiler}
	var errs []error
	for i, text := range rules {
		more, err := a.compiler.compile(Rules{Allow: []Rule{{Rule: text}}})
		if wrong, ok := errors.AsType[*RuleError](err); ok {
			wrong.At = fmt.Sprintf("[%d]", i)
		}
		errs = append(errs, err)
		a.set.rules = append(a.set.rules, more...)
	}
	return a, errors.Join(errs...)
}

// Names reports whether a rule is about the tool, so that some call of it may be allowed.
func (a *Allowed) Names(tool string) bool {
	tool = strings.ToLower(tool)
	for _, r := range a.set.rules {
		if r.names(tool, "") {
			return true
		}
	}
	return false
}

// Allows reports whether the rules allow the call. It does not if the arguments are no JSON object.
func (a *Allowed) Allows(tool message.Tool, args message.JSON) bool {
	j, err := a.set.judge(question{compiler: a.compiler, tool: tool, args: args})
	return err == nil && j.allowed && j.effect != Deny && j.effect != Ask
}
