package composite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Member is one member as a point sees it: its path for answers and failures,
// its fail policy there, and how long it may take; 0 is no bound.
type Member struct {
	Path    string
	Policy  Policy
	Timeout time.Duration

	late *lateCount
}

// Policy is a fail policy; the zero Policy is the point's own.
type Policy uint8

// The fail policies.
const (
	PolicyDefault Policy = iota
	PolicyOpen
	PolicyClosed
)

// closed resolves the policy at a point. The rewriting methods of hook.Hook are
// closed.
func (p Policy) closed(at hook.Point) bool {
	if p != PolicyDefault {
		return p == PolicyClosed
	}
	info := point.InfoOf(at)
	return info.Closed || info.Kind == "facade"
}

// walk is what the walks over a point's members have in common: who was called last,
// and who has failed.
type walk struct {
	point hook.Point
	// who is the member that was called last, as the point sees it.
	who      *Member
	failures []fault
}

// fault is the failure of a member.
type fault struct {
	*hook.Failure
	// inner: a composite that is the member has noted it too.
	inner bool
}

// fault notes the failure of who was called last and reports whether its policy
// is closed.
func (w *walk) fault(err error, panicked bool) (*hook.Failure, bool) {
	_, inner := err.(*hook.Failure)
	f := newFailure(w.point, w.who.Path, err, panicked)
	w.failures = append(w.failures, fault{f, inner})
	return f, w.who.closed(w.point, err)
}

// closed reports whether the error of the member closes the point. The failure of somebody
// else is that of a composite's member which closes it there: a tag that says nothing of
// the composite does not open it.
func (m *Member) closed(p hook.Point, err error) bool {
	if f, ok := err.(*hook.Failure); ok && f.Subsystem != "" && m.Policy == PolicyDefault {
		return true
	}
	return m.Policy.closed(p)
}

// newFailure returns the failure of the member with this path. A composite
// reports a *hook.Failure of a member of its own, which only gets the path
// prolonged.
func newFailure(point hook.Point, path string, err error, panicked bool) *hook.Failure {
	if own, ok := err.(*hook.Failure); ok {
		return own.Under(path)
	}
	_, tooLate := err.(late)
	f := &hook.Failure{Subsystem: path, Point: point, Err: err, Panic: panicked, Late: tooLate}
	if panicked {
		f.Stack = debug.Stack()
	}
	return f
}

// panicError returns a recovered value as an error.
func panicError(value any) error {
	if f, ok := value.(*hook.Failure); ok {
		return f
	}
	if err, ok := value.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic: %v", value)
}

// report emits one hook_failed event for each failure that the caller does not
// learn of anyway, and for each hook that is late, because it still runs. A hook that
// gives up because ctx has ended has not failed.
func (w *walk) report(ctx context.Context, h hook.Host, known error) {
	for _, f := range w.failures {
		if ended := ctx.Err(); ended != nil && errors.Is(f.Err, ended) && !f.Late && !f.Panic {
			continue
		}
		if f.Failure != known || f.Late && !f.inner {
			h.Emit(ctx, f.Failure.Event())
		}
	}
}

// decision is any decision type of package hook.
type decision interface{ ~struct{ hook.Ruling } }

// ruled is the form of all decision types.
type ruled = struct{ hook.Ruling }

// gate merges the rulings of one point by the point's rule: gate, judge or first.
type gate struct {
	walk
	ruling hook.Ruling
	// final: nobody is asked any more.
	final bool
}

// answer takes the ruling of the member that was asked. A silent one costs one comparison.
func (g *gate) answer(r hook.Ruling, err error) {
	switch {
	case err != nil:
		g.fail(err, false)
	case r != hook.Ruling{}:
		g.merge(r.Under(g.who.Path))
	}
}

func (g *gate) merge(r hook.Ruling) {
	rule := point.InfoOf(g.point).Combine
	g.ruling = g.ruling.Merge(r, rule == "judge")
	g.final = rule == "first" && g.ruling != hook.Ruling{} || rule == "gate" && g.ruling.Blocks()
}

func (g *gate) fail(err error, panicked bool) {
	if f, closed := g.fault(err, panicked); closed {
		g.merge(f.Ruling(point.Failed(g.point)))
	}
}

// recover is deferred around a call: a panic becomes the failure of who was asked.
func (g *gate) recover() {
	if v := recover(); v != nil {
		g.fail(panicError(v), true)
	}
}

// fold passes a value through the rewriters of one point.
type fold[T any] struct {
	walk
	// value is what the next rewriter gets, and in the end the result.
	value T
	// err is the *hook.Failure that ended the fold.
	err error
}

// set takes what the rewriter returned.
func (f *fold[T]) set(v T, err error) {
	if err != nil {
		f.fail(err, false)
		return
	}
	f.value = v
}

func (f *fold[T]) fail(err error, panicked bool) {
	if failure, closed := f.fault(err, panicked); closed {
		f.err = failure
	}
}

func (f *fold[T]) recover() {
	if v := recover(); v != nil {
		f.fail(panicError(v), true)
	}
}

// fan tells the observers of one point; each is told whatever becomes of the others.
type fan struct{ walk }

func (f *fan) recover() {
	if v := recover(); v != nil {
		f.fault(panicError(v), true)
	}
}

// bracket opens members in order, or closes them in reverse order.
type bracket struct {
	walk
	// err is what failed: one *hook.Failure, or several joined.
	err error
}

// set takes the error of opening or closing a member.
func (b *bracket) set(err error) {
	if err != nil {
		b.fail(err, false)
	}
}

// fail notes the failure, or all of them if a composite had several: each keeps its own
// path.
func (b *bracket) fail(err error, panicked bool) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			b.fail(err, panicked)
		}
		return
	}
	f, _ := b.fault(err, panicked)
	b.err = joinErrors(b.err, f)
}

func (b *bracket) recover() {
	if v := recover(); v != nil {
		b.fail(panicError(v), true)
	}
}

// joinErrors joins two errors, keeping a single one as it is.
func joinErrors(first, more error) error {
	switch {
	case more == nil:
		return first
	case first == nil:
		return more
	}
	return errors.Join(first, more)
}
