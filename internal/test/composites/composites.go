// Package composites has generated composites for benchmarks.
package composites

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
)

// Whole has the daemon's composite nested, one wrap around its tools, and a tool that costs
// nothing.
//
//hook:composite
type Whole struct {
	Daemon *app.Hooks
	Around *Around
	Free   *Free
}

// Four are four consumers of events.
//
//hook:composite
type Four struct{ A, B, C, D *Consumer }

// Eight are eight deciders of one point.
//
//hook:composite
type Eight struct{ A, B, C, D, E, F, G, H *Silent }

// Three are three wraps of one point.
//
//hook:composite
type Three struct{ A, B, C *Around }

// Silent is a decider without an opinion.
type Silent struct {
	hook.Nop
	Asked int
}

var _ hook.BeforeTool = (*Silent)(nil)

// BeforeTool implements hook.BeforeTool. A real decider is too large to be inlined.
//
//go:noinline
func (s *Silent) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	s.Asked++
	return hook.ToolDecision{}, nil
}

// Around wraps every tool call and does nothing.
type Around struct{ hook.Nop }

var _ hook.WrapTool = (*Around)(nil)

// WrapTool implements hook.WrapTool.
func (*Around) WrapTool(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	return next.Run(ctx)
}

// Free has a tool.
//
//hook:subsystem
type Free struct {
	hook.Nop
	// Answer is what the tool answers.
	Answer message.ToolResult
}

// FreeInput is the input of free.
type FreeInput struct {
	// S is not looked at.
	S string `json:"s"`
}

// Free costs nothing.
//
//hook:tool name=free readonly
func (f *Free) Free(_ context.Context, _ FreeInput) (message.ToolResult, error) { return f.Answer, nil }

// Consumer counts events.
type Consumer struct {
	hook.Nop
	Events int
}

// OnEvent implements hook.Hook.
func (c *Consumer) OnEvent(context.Context, hook.Event) { c.Events++ }
