package app

import (
	"github.com/grapnel-go/grapnel/subsystems/policy"
	"github.com/grapnel-go/grapnel/subsystems/secure"
)

// newSecure makes the guard. How far a command reaches is what the judge of commands says; without rules nobody knows.
func newSecure(rules func() *policy.Policy) *secure.Secure {
	return secure.New(&secure.Options{Command: func(line string) secure.Reach {
		p := rules()
		if p == nil {
			return secure.Beyond
		}
		switch reads, local := p.Reaches(line); {
		case reads:
			return secure.Reads
		case local:
			return secure.Local
		}
		return secure.Beyond
	}})
}
