package designs

import (
	"context"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Guarded is the first example of design 002 (a PHP framework): a CallableHook that watches, and a
// hook that blocks.
//
//	002                                   here
//	new CallableHook(fn)                  point.AfterToolFunc(fn), an adapter for each point
//	HookTriggers::beforeToolUse()         the point in the adapter's name
//	priority 200                          the order of the fields
//	HookContext::withToolExecutionBlocked hook.DenyTool
//
// What is behind a block is not asked: there is no approval of a call that cannot run.
//
//hook:composite
type Guarded struct {
	Watch    hook.Hook
	Block    hook.Hook
	Approval hook.Hook
	Shell    *Shell
}

// NewGuarded returns the composite. told gets a line for each call, asked for each that needs a person.
func NewGuarded(told, asked func(line string), forbidden ...string) *Guarded {
	return &Guarded{
		Watch: point.AfterToolFunc(func(_ context.Context, call *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
			told(fmt.Sprintf("%s %s: %s", call.Name(), call.Args(), o.Outcome))
			return hook.OutcomeDecision{}, nil
		}),
		Block: Blocking(forbidden...),
		Approval: point.BeforeToolFunc(func(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
			asked(string(call.Args()))
			return hook.ToolDecision{}, nil
		}),
		Shell: &Shell{},
	}
}

// Blocking returns a hook that blocks the calls with these arguments.
func Blocking(forbidden ...string) hook.Hook {
	return point.BeforeToolFunc(func(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
		if slices.Contains(forbidden, string(call.Args())) {
			return hook.DenyTool("this command is blocked"), nil
		}
		return hook.ToolDecision{}, nil
	})
}

// Shell has a tool that only says what it would do.
//
//hook:subsystem
type Shell struct{ hook.Nop }

// Command is the input of shell.
type Command struct {
	// Line to run.
	Line string `json:"line" hook:"minlen=1,maxlen=1000"`
}

// Run runs a command.
//
//hook:tool name=shell
func (*Shell) Run(_ context.Context, in Command) (string, error) {
	return "would run " + in.Line, nil
}
