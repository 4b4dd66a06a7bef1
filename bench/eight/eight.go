// Package eight has eight hooks that do nothing, and the ways to call them around
// one model call and one tool call: the scenario HooksAlone. All ways call the same
// methods with the same values and look at every answer. Only the generated
// composite also isolates panics, knows who answered, and merges the answers of
// several; the chain of contexts gives every hook a value of its own that it finds
// again afterwards.
package eight

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

//go:generate go tool hookgen .

// Silent is a hook without an opinion. It counts its calls.
type Silent struct {
	hook.Nop
	Asked int
}

var (
	_ hook.BeforeModel = (*Silent)(nil)
	_ hook.AfterModel  = (*Silent)(nil)
	_ hook.BeforeTool  = (*Silent)(nil)
	_ hook.AfterTool   = (*Silent)(nil)
)

// BeforeModel implements hook.BeforeModel. A real hook is too large to be inlined.
//
//go:noinline
func (s *Silent) BeforeModel(context.Context, *hook.Step, message.ModelRequest) (hook.ModelDecision, error) {
	s.Asked++
	return hook.ModelDecision{}, nil
}

// AfterModel implements hook.AfterModel.
//
//go:noinline
func (s *Silent) AfterModel(context.Context, *hook.Step, message.ModelReply) (hook.ReplyDecision, error) {
	s.Asked++
	return hook.ReplyDecision{}, nil
}

// BeforeTool implements hook.BeforeTool.
//
//go:noinline
func (s *Silent) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	s.Asked++
	return hook.ToolDecision{}, nil
}

// AfterTool implements hook.AfterTool.
//
//go:noinline
func (s *Silent) AfterTool(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
	s.Asked++
	return hook.OutcomeDecision{}, nil
}

// Eight is the composite of all.
//
//hook:composite
type Eight struct{ A, B, C, D, E, F, G, H *Silent }

// Hooks are the eight.
type Hooks [8]Silent

// Composite returns the eight as members of the generated composite.
func (h *Hooks) Composite() *Eight {
	return &Eight{&h[0], &h[1], &h[2], &h[3], &h[4], &h[5], &h[6], &h[7]}
}

// Points is how often one hook is asked in a unit of work: before and after a model
// call, before and after a tool call.
const Points = 4

// Asked is how often the hooks were asked, together.
func (h *Hooks) Asked() (n int) {
	for i := range h {
		n += h[i].Asked
	}
	return n
}

// Work is what the hooks are told.
type Work struct {
	Step    *hook.Step
	Request message.ModelRequest
	Reply   message.ModelReply
	Call    *hook.ToolCall
	Outcome hook.ToolOutcome
}

// Way has the eight asked about all of it, once each and at each point. It returns
// false if one has answered.
type Way func(ctx context.Context, w *Work) bool
