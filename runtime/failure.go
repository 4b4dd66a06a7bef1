package runtime

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/grapnel-go/grapnel/hook"
)

// A composite isolates its members, applies their fail policies and tells of failures
// that it has dealt with. What it leaves to the runtime is the failure that its answer
// carries, and panics of the methods of [hook.Hook] that have no error.

// decision is what the decision types have in common.
type decision interface{ Verdict() hook.Verdict }

// answered says that the loop is back with the answer of the deciders of a point, and
// tells of the failure that it carries.
func answered[D decision](ctx context.Context, t *turn, d D) D {
	t.returned()
	if f := d.Verdict().Failure; f != nil {
		t.hookFailed(ctx, f)
	}
	return d
}

// failureOf returns the error that a composite returned as a failure.
func failureOf(p hook.Point, err error) *hook.Failure {
	if f, ok := err.(*hook.Failure); ok {
		return f
	}
	return &hook.Failure{Point: p, Err: err}
}

// panicOf makes a failure of a recovered value; composites panic with theirs.
func panicOf(p hook.Point, value any) *hook.Failure {
	if f, ok := value.(*hook.Failure); ok {
		return f
	}
	err, ok := value.(error)
	if !ok {
		err = fmt.Errorf("%v", value)
	}
	return &hook.Failure{Point: p, Err: fmt.Errorf("panic: %w", err), Panic: true, Stack: debug.Stack()}
}

// caught is deferred around a call of a hook: a panic becomes *err.
func caught(p hook.Point, err *error) {
	if v := recover(); v != nil {
		*err = panicOf(p, v)
	} else if *err != nil {
		*err = failureOf(p, *err)
	}
}
