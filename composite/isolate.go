package composite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Member is one member as a point sees it: its path for answers and failures,
// its fail policy there, and how long it may take; 0 is no bound.
type Member struct {
	Path    string
	Policy  Policy
	Timeout time.Duration
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
func (p Policy) closed(point hook.Point) bool {
	if p != PolicyDefault {
		return p == PolicyClosed
	}
	info := point.Info()
	return info.Closed || info.Kind == "facade"
}

// walk is what Gate, Fold, Fan and Bracket have in common: how far the walk over
// a point's members is, and who failed. A generated method switches on At and
// moves it on before it calls a member; after a panic it is entered again, behind
// the member that panicked. So one deferred Recover serves all members.
type walk struct {
	// At is the number of members that have been called.
	At       int
	point    hook.Point
	members  []Member
	walked   int // members of the group at At that have been called
	length   int // of that group
	index    int // of the one called last
	failures []fault
	// who is the member that was called last, if a Composite walks.
	who *Member
}

// fault is the failure of a member.
type fault struct {
	*hook.Failure
	// inner: a composite that is the member has noted it too.
	inner bool
}

// Next walks a group of n hooks, which is one member: it returns the index of the
// next, or moves At on and returns false at the end.
func (w *walk) Next(n int) (int, bool) {
	w.length = n
	if w.walked >= n {
		w.walked = 0
		w.At++
		return 0, false
	}
	w.index = w.walked
	w.walked++
	return w.index, true
}

// NextReverse is Next from the last index to the first.
func (w *walk) NextReverse(n int) (int, bool) {
	i, ok := w.Next(n)
	if ok {
		w.index = n - 1 - i
	}
	return w.index, ok
}

// Position is a place in a walk: at a member, or within a group. The zero
// Position is the start.
type Position struct{ at, walked int }

// Start puts the walk at a position, before its first call.
func (w *walk) Start(from Position) { w.At, w.walked = from.at, from.walked }

// current returns who was called last.
func (w *walk) current() Member {
	if w.who != nil {
		return *w.who
	}
	if w.walked == 0 {
		return w.members[w.At-1]
	}
	m := w.members[w.At]
	m.Path = indexed(m.Path, w.index)
	return m
}

func indexed(group string, i int) string { return group + "[" + strconv.Itoa(i) + "]" }

// fault notes the failure of who was called last and reports whether its policy
// is closed.
func (w *walk) fault(err error, panicked bool) (*hook.Failure, bool) {
	m := w.current()
	_, inner := err.(*hook.Failure)
	f := newFailure(w.point, m.Path, err, panicked)
	w.failures = append(w.failures, fault{f, inner})
	return f, m.Policy.closed(w.point)
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

// Failed reports whether a member has failed so far.
func (w *walk) Failed() bool { return w.failures != nil }

// report emits one hook_failed event for each failure that the caller does not
// learn of anyway, and for each hook that is late, because it still runs.
func (w *walk) report(ctx context.Context, h hook.Host, known error) {
	for _, f := range w.failures {
		if f.Failure != known || f.Late && !f.inner {
			h.Emit(ctx, hook.FailureEvent(f.Failure))
		}
	}
}

// Decision is what the decision types of package hook have in common.
type Decision[D any] interface {
	comparable
	Verdict() hook.Verdict
	Final() bool
	From(owner string) D
	Merge(later D) D
	Closed(f *hook.Failure) D
}

// Gate asks the deciders of one point and merges what they answer; the decision
// type knows the rule of its point, gate, judge or first. One goroutine at a
// time uses it.
type Gate[D Decision[D]] struct {
	walk
	decision D
	final    bool
}

// NewGate returns the gate of a point over its members, in the order in which
// they are asked.
func NewGate[D Decision[D]](point hook.Point, members []Member) Gate[D] {
	return Gate[D]{walk: walk{point: point, members: members}}
}

// Done reports whether nobody else is to be asked.
func (g *Gate[D]) Done() bool { return g.final || g.At >= len(g.members) }

// Answer takes the answer of who was asked and reports whether it ends the gate.
// A silent answer costs one comparison.
func (g *Gate[D]) Answer(d D, err error) bool {
	var silent D
	if err == nil && d == silent {
		return false
	}
	return g.answer(d, err)
}

func (g *Gate[D]) answer(d D, err error) bool {
	if err != nil {
		g.fail(err, false)
	} else {
		g.merge(d.From(g.current().Path))
	}
	return g.final
}

func (g *Gate[D]) merge(d D) {
	g.decision = g.decision.Merge(d)
	g.final = g.decision.Final() && g.point.Info().Combine != "judge"
}

func (g *Gate[D]) fail(err error, panicked bool) {
	if f, closed := g.fault(err, panicked); closed {
		g.merge(g.decision.Closed(f))
	}
}

// Recover is deferred around the members: a panic becomes the failure of who was
// asked.
func (g *Gate[D]) Recover() {
	if v := recover(); v != nil {
		g.fail(panicError(v), true)
	}
}

// Report emits the failures that the decision does not carry.
func (g *Gate[D]) Report(ctx context.Context, h hook.Host) {
	g.report(ctx, h, g.decision.Verdict().Failure)
}

// Decision returns the merged answer.
func (g *Gate[D]) Decision() D { return g.decision }

// Fold passes a value through the rewriters of one point. One goroutine at a time
// uses it.
type Fold[T any] struct {
	// Value is what the next rewriter gets, and in the end the result.
	Value T
	walk
	err error
}

// NewFold returns the fold of a value over the members of a point.
func NewFold[T any](point hook.Point, members []Member, value T) Fold[T] {
	return Fold[T]{walk: walk{point: point, members: members}, Value: value}
}

// Done reports whether nobody else is to be called.
func (f *Fold[T]) Done() bool { return f.err != nil || f.At >= len(f.members) }

// Set takes what the rewriter returned and reports whether it ends the fold.
func (f *Fold[T]) Set(v T, err error) bool {
	if err != nil {
		f.fail(err, false)
		return f.err != nil
	}
	f.Value = v
	return false
}

func (f *Fold[T]) fail(err error, panicked bool) {
	if failure, closed := f.fault(err, panicked); closed {
		f.err = failure
	}
}

// Recover is deferred around the members.
func (f *Fold[T]) Recover() {
	if v := recover(); v != nil {
		f.fail(panicError(v), true)
	}
}

// Report emits the failures that Err does not carry.
func (f *Fold[T]) Report(ctx context.Context, h hook.Host) { f.report(ctx, h, f.err) }

// Err returns the *hook.Failure that ended the fold, or nil.
func (f *Fold[T]) Err() error { return f.err }

// Fan tells the observers of one point; each is told whatever becomes of the
// others. One goroutine at a time uses it.
type Fan struct{ walk }

// NewFan returns the fan of a point over its members.
func NewFan(point hook.Point, members []Member) Fan {
	return Fan{walk{point: point, members: members}}
}

// Done reports whether all have been told.
func (f *Fan) Done() bool { return f.At >= len(f.members) }

// Recover is deferred around the members.
func (f *Fan) Recover() {
	if v := recover(); v != nil {
		f.fault(panicError(v), true)
	}
}

// Report emits all failures.
func (f *Fan) Report(ctx context.Context, h hook.Host) { f.report(ctx, h, nil) }

// Bracket opens the members of a composite in order, or closes them in reverse
// order. Both sides run over the same members, so that position i of one is
// position n-1-i of the other. One goroutine at a time uses it.
type Bracket struct {
	walk
	err error
}

// NewBracket returns one side of a bracket over its members.
func NewBracket(point hook.Point, members []Member) Bracket {
	return Bracket{walk: walk{point: point, members: members}}
}

// Opening reports whether there is somebody else to open: a failure ends it.
func (b *Bracket) Opening() bool { return b.err == nil && b.At < len(b.members) }

// Closing reports whether there is somebody else to close: failures end nothing.
func (b *Bracket) Closing() bool { return b.At < len(b.members) }

// Set takes the error of opening or closing a member and reports whether it was
// a failure.
func (b *Bracket) Set(err error) bool {
	if err != nil {
		b.fail(err, false)
	}
	return err != nil
}

// fail notes the failure, or all of them if a composite or a group had several:
// each keeps its own path.
func (b *Bracket) fail(err error, panicked bool) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			b.fail(err, panicked)
		}
		return
	}
	f, _ := b.fault(err, panicked)
	b.err = joinErrors(b.err, f)
}

// Recover is deferred around the members.
func (b *Bracket) Recover() {
	if v := recover(); v != nil {
		b.fail(panicError(v), true)
	}
}

// Undo returns the position at which closing starts after a failure: behind the
// member that failed, as seen from the other end.
func (b *Bracket) Undo() Position {
	n := len(b.members)
	if b.walked == 0 {
		return Position{at: n - (b.At - 1)}
	}
	return Position{at: n - 1 - b.At, walked: b.length - b.index}
}

// Err returns what failed: one *hook.Failure, or several joined.
func (b *Bracket) Err() error { return b.err }

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
