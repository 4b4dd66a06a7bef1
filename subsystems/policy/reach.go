package policy

import (
	"context"
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

// RunsCommands reports whether the tool is one whose calls are judged as command lines.
func (p *Policy) RunsCommands(tool string) bool {
	return p.compiler.subjects[strings.ToLower(tool)].Kind == Command
}

// RewriteResult gives the output of a command its label: a line that reaches nothing but the project prints what the project has.
// The tool itself does not know, and says external.
func (p *Policy) RewriteResult(_ context.Context, call *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
	if r.Trust != message.TrustExternal || !p.RunsCommands(call.Name()) {
		return r, nil
	}
	args, err := newArguments(call.Args())
	if err != nil || len(args.texts("env")) > 0 {
		return r, nil
	}
	if lines := args.texts("command"); len(lines) == 1 {
		if reads, local := p.Reaches(lines[0]); reads || local {
			r.Trust = message.TrustWorkspace
		}
	}
	return r, nil
}
