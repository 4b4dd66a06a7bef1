package schemas

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// Measured is a subsystem for benchmarks.
//
//hook:subsystem
type Measured struct{ hook.Nop }

// Small is a usual input.
type Small struct {
	// Title of the note.
	Title string `json:"title" hook:"maxlen=80"`
	// Body in Markdown.
	Body string `json:"body,omitzero"`
	// Limit of lines.
	Limit int `json:"limit,omitzero" hook:"min=0,max=100"`
}

// Step is a part of Large.
type Step struct {
	// ID of the step.
	ID int `json:"id" hook:"min=1"`
	// Text of the step.
	Text string `json:"text" hook:"minlen=1,maxlen=200"`
	// Priority of the step.
	Priority Priority `json:"priority,omitzero"`
	// Done or not.
	Done bool `json:"done,omitzero"`
	// Weight of the step.
	Weight float64 `json:"weight,omitzero"`
	// Tags of the step.
	Tags []string `json:"tags,omitzero" hook:"maxitems=8"`
	// Parent of the step.
	Parent *int `json:"parent"`
}

// Large is a plan.
type Large struct {
	// Name of the plan.
	Name string `json:"name"`
	// Steps in order.
	Steps []Step `json:"steps" hook:"minitems=1"`
	// Labels by name.
	Labels map[string]string `json:"labels,omitzero"`
}

// Small takes little.
//
//hook:tool
func (*Measured) Small(context.Context, Small) error { return nil }

// Large takes much.
//
//hook:tool
func (*Measured) Large(context.Context, Large) error { return nil }
