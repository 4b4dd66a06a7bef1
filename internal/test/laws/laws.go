// Package laws holds the composition laws of DESIGN.md as properties: what a
// composite of any hooks has to do, written down once more and compared with the
// generated and the dynamic composite over random sets of hooks. There is a test file
// for each law, with composites beside it that break the law and have to be caught.
// Laws 12 and 13 are package runtime's.
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

// Keeper owns two tools that are known when the composite is generated.
//
//hook:subsystem
type Keeper struct {
	hook.Nop
	// Ran is told which tool has run.
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
