package policy

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Reaches says of a command line what the judge of commands knows: reads reports whether it only reads what the project has, local
// whether it reaches no other machine by itself. Both are false for a line that is not understood.
func (p *Policy) Reaches(line string) (reads, local bool) {
	s := p.compiler.places.reader().Read(line)
	return s.Verdict() == "safe", s.Local()
}

// RewriteResult gives the output of a command its label: a line that reaches nothing but the project prints what the project has.
// The tool itself does not know, and says external.
func (p *Policy) RewriteResult(_ context.Context, call *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
	if r.Trust != message.TrustExternal || p.compiler.subjects[strings.ToLower(call.Name())].Kind != Command {
		return r, nil
	}
	var args struct {
		Command string            `json:"command"`
		Env     map[string]string `json:"env"`
	}
	if json.Unmarshal([]byte(call.Args()), &args) == nil && len(args.Env) == 0 {
		if reads, local := p.Reaches(args.Command); reads || local {
			r.Trust = message.TrustWorkspace
		}
	}
	return r, nil
}
