// Package bad has what hookvet reports.
package bad

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"

	"example.com/golangci/good"
)

// Diary writes down what happens.
//
//hook:subsystem
type Diary struct{ hook.Nop }

// OnEvents is never called.
func (*Diary) OnEvents(context.Context, hook.Event) {}

// Note is no tool.
type Note struct{}

// Add is not one either.
//
// hook:tool
func (Note) Add(context.Context) error { return nil }

// Twice has two owners of one tool. What good declares is known here by a fact alone.
//
//hook:composite
type Twice struct {
	Diary *Diary
	// One and Two have the same tool.
	One, Two *good.Notes
}
