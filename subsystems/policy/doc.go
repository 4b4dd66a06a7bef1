// Package policy decides about tool calls by rules: which calls are denied, which need
// approval, which may run, and with which limits.
//
//	p, err := policy.New([]policy.Rules{{
//		Deny:  []policy.Rule{{Rule: "Bash(rm *)"}, {Rule: "Read(.env)"}},
//		Ask:   []policy.Rule{{Rule: "Bash(git push *)"}},
//		Allow: []policy.Rule{{Rule: "Bash(git *)"}, {Rule: "Read"}},
//	}}, &policy.Options{Root: "/home/me/project"})
//
// Place it first in a composite, so that it sees every call. Deny beats ask beats
// allow, in any order of the rules. A call without a matching rule gets the default.
//
// For an allowed call the policy has no opinion: only its own default does not apply.
// An ask or a deny of another hook stays in force, because no hook can lift another
// hook's answer.
//
// The policy is not a sandbox: it reads commands, and does not know what programs do.
// Package [shell] describes how it reads a command line.
//
// Rules are compiled once; a wrong rule is an error of [New]. The README of the package
// has the syntax.
package policy
