package hook

import (
	"context"
	"fmt"
)

// Host is what the runtime offers back to a hook, within the turn's budget,
// depth and cancellation.
type Host interface {
	// Emit adds an event to the stream of the place it was got from. The runtime
	// fills in sequence, time and place. It never blocks; an event emitted from
	// OnEvent is delivered after the one being delivered.
	Emit(ctx context.Context, ev Event)
}

// noHost is the host of a place that has none.
type noHost struct{}

func (noHost) Emit(context.Context, Event) {}

func hostOr(h Host) Host {
	if h == nil {
		return noHost{}
	}
	return h
}

// Failure is a hook's own failure: the error it returned or the panic that was
// recovered from it. It is what the fail policy acts on, never an answer.
type Failure struct {
	// Subsystem is the path of the field, "Core.Guard".
	Subsystem string
	Point     Point
	// Err is the returned error; for a panic, an error that holds its value.
	Err error
	// Panic says that the hook panicked; Stack is where.
	Panic bool
	Stack []byte
	// Late says that it did not answer within its timeout; it may still run.
	Late bool
}

// Error names the place and the cause. It is for operators: causes may quote
// what the hook was working on, so a model is told Public instead.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %s: %v", f.Subsystem, f.Point, f.Err) }

// Public names the place without the cause.
func (f *Failure) Public() string {
	who, what := f.Subsystem, "failed"
	if who == "" {
		who = "a hook"
	}
	if f.Late {
		what = "did not answer in time"
	}
	return fmt.Sprintf("%s %s at %s", who, what, f.Point)
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Under returns the failure as seen from outside the field named owner.
func (f *Failure) Under(owner string) *Failure {
	out := *f
	out.Subsystem = under(owner, f.Subsystem)
	return &out
}

// under joins the path of a field and a path inside it, which may be an index.
func under(owner, inner string) string {
	switch {
	case inner == "":
		return owner
	case owner == "":
		return inner
	}
	if inner[0] == '[' {
		return owner + inner
	}
	return owner + "." + inner
}
