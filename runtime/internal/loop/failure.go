package loop

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// A composite isolates its members, applies their fail policies and tells of failures
// that it has dealt with. What it leaves to the runtime is the failure that its answer
// carries, and panics of the methods of [hook.Hook] that have no error.

// decision is what the decision types have in common.
type decision interface{ Verdict() hook.Verdict }

// exitForeignDecided says that the loop is back with the answer of the deciders of a point, and
// tells of the failure that it carries.
func exitForeignDecided[D decision](ctx context.Context, t *Turn, d D) D {
	t.exitForeign()
	if f := d.Verdict().Failure; f != nil {
		t.emitHookFailed(ctx, f)
	}
	return d
}
