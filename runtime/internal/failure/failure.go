// Package failure makes a [hook.Failure] of what a composite returns or panics with.
//
// A composite isolates its members, applies their fail policies and reports the failures
// that it has handled. It leaves two things to its caller: the failure that an answer
// carries, and panics of the methods of [hook.Hook] that return no error.
package failure

import (
	"fmt"
	"runtime/debug"

	"github.com/grapnel-go/grapnel/hook"
)

// Of returns the error of a composite as a failure; p is the point if it is another error.
func Of(p hook.Point, err error) *hook.Failure {
	if f, ok := err.(*hook.Failure); ok {
		return f
	}
	return &hook.Failure{Point: p, Err: err}
}

// OfPanic makes a failure of a recovered value. Composites panic with a failure of theirs.
func OfPanic(p hook.Point, value any) *hook.Failure {
	if f, ok := value.(*hook.Failure); ok {
		return f
	}
	err, ok := value.(error)
	if !ok {
		err = fmt.Errorf("%v", value)
	}
	return &hook.Failure{Point: p, Err: fmt.Errorf("panic: %w", err), Panic: true, Stack: debug.Stack()}
}

// Catch is deferred around a call of a hook. It makes a failure of *err or of a panic.
func Catch(p hook.Point, err *error) {
	if v := recover(); v != nil {
		*err = OfPanic(p, v)
	} else if *err != nil {
		*err = Of(p, *err)
	}
}
