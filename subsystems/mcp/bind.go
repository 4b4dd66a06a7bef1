package mcp

import (
	"errors"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
)

// bind checks the arguments of a call, and returns an invocation that can run.
func (t *tool) bind(call *hook.ToolCall) hook.Invocation {
	canonical, err := args.Canonical(string(call.Args()))
	if err == nil {
		canonical = t.schema.Given(canonical)
		err = t.schema.Validate(canonical)
	}
	if err == nil {
		return hook.Bound(canonical, &invocation{t: t, args: canonical})
	}
	bad := &hook.ArgError{Reason: err.Error()}
	var where *hook.ArgError
	if errors.As(err, &where) {
		*bad = *where
	}
	bad.Tool, bad.Schema = call.Name(), t.Input
	return hook.BadArgs(call.Args(), bad)
}
