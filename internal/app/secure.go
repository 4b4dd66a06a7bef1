package app

import (
	"github.com/grapnel-go/grapnel/subsystems/policy"
	"github.com/grapnel-go/grapnel/subsystems/secure"
)

// newSecure makes the guard. How far a command reaches is what the judge of commands says; without rules nobody knows.
func newSecure(rules func() *policy.Policy) *secure.Secure {
	return secure.New(&secure.Options{Command: func(tool, line string) (secure.Reach, bool) {
		p := rules()
		if p == nil {
			return secure.Beyond, tool == "bash"
		}
		if !p.RunsCommands(tool) {
			return secure.Beyond, false
		}
		switch reads, local := p.Reaches(line); {
		case reads:
			return secure.Reads, true
		case local:
			return secure.Local, true
		}
		return secure.Beyond, true
	}})
}
