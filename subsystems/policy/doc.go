// Package policy decides about tool calls by rules: what is denied, what a person
// has to approve, what may run, and what it may do then.
//
//	p, err := policy.New([]policy.Rules{{
//		Deny:  []policy.Rule{{Rule: "Bash(rm *)"}, {Rule: "Read(.env)"}},
//		Ask:   []policy.Rule{{Rule: "Bash(git push *)"}},
//		Allow: []policy.Rule{{Rule: "Bash(git *)"}, {Rule: "Read"}},
//	}}, &policy.Options{Root: "/home/me/project"})
//
// Place it first in a composite, so that it sees every call. Deny beats ask beats
// allow, whatever the order; a call that no rule speaks of gets the default.
//
// What is allowed is answered with no opinion. It keeps the policy's own default
// from asking, and that is all: an ask or a deny of any other hook stands, because
// no hook can lift another one's.
//
// It is no sandbox: it knows what a command says, not what a program does.
// Package [shell] says how far a command line is understood.
//
// Rules are compiled once; one that is wrong is an error of [New]. The syntax is in
// the package's README.
package policy
