// Package good has nothing that hookvet would report.
package good

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Notes has one tool, which it dispatches by hand.
//
//hook:subsystem
//hook:tools note
type Notes struct {
	hook.Nop
	Text string
}

// Schema offers the tool.
func (*Notes) Schema() []message.Tool {
	return []message.Tool{{Name: "note", Input: `{"type":"object"}`}}
}

// Dispatch binds it to nothing.
func (*Notes) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound(call.Args(), nil), call.Name() == "note"
}

// OnEvent forgets the note.
func (n *Notes) OnEvent(context.Context, hook.Event) { n.Text = "" }

// Events is no point, and not meant to be one.
func (n *Notes) Events() []string { return nil }
