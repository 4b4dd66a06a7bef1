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
// A command line is parsed and judged: a rule with a wildcard covers no dangerous form of a
// program, and some commands are denied whatever the rules say. The policy is not a sandbox:
// it reads the line, and not the scripts and files that programs run. docs/commands.md says
// what it cannot see.
//
// Rules are compiled once; a wrong rule is an error of [New]. The README of the package
// has the syntax.
package policy
