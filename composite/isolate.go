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

// Member has the options of one member at one point: its path for answers and failures,
// its fail policy, and its timeout; 0 is none.
type Member struct {
	Path    string
	Policy  Policy
	Timeout time.Duration

	late *lateCount
	// fallback is the member itself if it has one; nil if not.
	fallback hook.Fallback
}

// Policy is a fail policy; the zero Policy is the point's default.
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

// walk is the common state of all walks over a point's members.
type walk struct {
	point hook.Point
	// current is the member called last.
	current  *Member
	failures []fault
}

// fault is the failure of a member.
type fault struct {
	*hook.Failure
	// inner: the member is a composite, and one of its own members failed.
	inner bool
}

// fault records the failure of the current member and reports whether it closes the point.
func (w *walk) fault(err error, panicked bool) (*hook.Failure, bool) {
	_, inner := err.(*hook.Failure)
	f, closed := newFailure(w.point, w.current.Path, err, panicked), w.current.closed(w.point, err)
	if !closed && hook.SeverityOf(err) == hook.SeveritySilent {
		f = f.Silently()
	}
	w.failures = append(w.failures, fault{f, inner})
	return f, closed
}

// closed reports whether the error of the member closes the point: if its policy does, or the
// severity of the error, which opens nothing. A failure inside a nested composite that closed the
// point there closes it here too, unless the composite's tag has a policy.
func (m *Member) closed(p hook.Point, err error) bool {
	if hook.SeverityOf(err).Closes() {
		return true
	}
	if f, ok := err.(*hook.Failure); ok && f.Subsystem != "" && m.Policy == PolicyDefault {
		return true
	}
	return m.Policy.closed(p)
}

// newFailure returns the failure of the member with this path. To a *hook.Failure of a
// nested composite's member it only prepends the path.
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

func panicError(value any) error {
	if f, ok := value.(*hook.Failure); ok {
		return f
	}
	if err, ok := value.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic: %v", value)
}

// report emits one hook_failed event for each failure but known, which the caller gets, and
// for each late hook, because it still runs. A hook that returns because ctx has ended has
// not failed.
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

// ruled is the underlying type of all decision types.
type ruled = struct{ hook.Ruling }

// gate merges the rulings of one point by the point's rule: gate, judge or first.
type gate struct {
	walk
	ruling hook.Ruling
	// final: no further member is asked.
	final bool
}

// answer merges the ruling of the current member.
func (g *gate) answer(r hook.Ruling, err error) {
	switch {
	case err != nil:
		g.fail(err, false)
	case r != hook.Ruling{}:
		g.merge(r.Under(g.current.Path))
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

// recover is deferred around a call: a panic becomes the failure of the current member.
func (g *gate) recover() {
	if v := recover(); v != nil {
		g.fail(panicError(v), true)
	}
}

// fold passes a value through the rewriters of one point.
type fold[T any] struct {
	walk
	// value is the input of the next rewriter, and in the end the result.
	value T
	// err is the *hook.Failure that ended the fold.
	err error
}

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

// fan calls the observers of one point; the failure of one does not affect the others.
type fan struct{ walk }

func (f *fan) recover() {
	if v := recover(); v != nil {
		f.fault(panicError(v), true)
	}
}

// bracket opens members in order, or closes them in reverse order.
type bracket struct {
	walk
	// err is one *hook.Failure, or several joined.
	err error
}

func (b *bracket) set(err error) {
	if err != nil {
		b.fail(err, false)
	}
}

// fail records the failure. Of a nested composite with several it records each, with its own
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

// joinErrors joins two errors. It returns a single one unwrapped.
func joinErrors(first, more error) error {
	switch {
	case more == nil:
		return first
	case first == nil:
		return more
	}
	return errors.Join(first, more)
}
