// Package laws tests the composition laws of DESIGN.md as properties: it compares a model of
// each law with the generated and the dynamic composite, over random sets of hooks. There is
// a test file for each law, with composites that break the law and must be detected. Laws 12
// and 13 are tested in package runtime.
package laws

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

//go:generate go run ../../../gen/internal/pointgen laws ../../../hook
//go:generate go tool hookgen .

// Actor has every point, and tools that are known at run time: those of its part.
//
//hook:subsystem dynamic
type Actor struct{ Part }

// Fallback implements hook.Fallback: that of its part, if it has one.
func (a *Actor) Fallback(turn *hook.Turn) hook.Contributions {
	if f, ok := a.Part.(hook.Fallback); ok {
		return f.Fallback(turn)
	}
	return hook.Contributions{}
}

// Keeper owns two tools that are known when the composite is generated.
//
//hook:subsystem
type Keeper struct {
	hook.Nop
	// Ran gets the name of the tool that has run.
	Ran func(tool string)
}

// Read reads.
//
//hook:tool name=read
func (k *Keeper) Read(context.Context) error { k.Ran("read"); return nil }

// Write writes.
//
//hook:tool name=write
func (k *Keeper) Write(context.Context) error { k.Ran("write"); return nil }

// Owners has owners of every kind: of static tools, with and without a prefix, and of
// tools that are known at run time.
//
//hook:ignore HG047
//hook:composite
type Owners struct {
	D     *Actor
	K     *Keeper
	P     *Keeper `hook:"prefix=p_"`
	Q     *Actor  `hook:"prefix=q_"`
	Extra []hook.Hook
}
