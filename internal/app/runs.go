package app

import (
	"context"

	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Runs returns the records of hook runs and jobs that match, the newest first, without opening a
// program. Those of processes that have died are interrupted.
func Runs(ctx context.Context, p Paths, s store.Runs, f store.RunFilter) ([]store.Run, error) {
	return runtime.InterruptedRuns(ctx, s, f, (&presence{dir: p.locks()}).gone)
}
