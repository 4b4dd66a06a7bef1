package composite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/grapnel-go/grapnel/hook"
)

// isolated is what Gate, Fold, Fan and Bracket have in common: who is being
// asked, under which fail policy, and which of them failed. One deferred
// Recover serves all members of a point, because a generated method can be
// entered again behind the member that panicked.
type isolated struct {
	owner    string
	index    int // of the member in a group, -1 outside one
	next     int // of the group's next member
	closed   bool
	failures []*hook.Failure
}

func (s *isolated) ask(owner string, index int, closed bool) {
	s.owner, s.index, s.closed = owner, index, closed
}

// path returns who is being asked. It allocates only within a group, and is
// needed only for an answer or a failure.
func (s *isolated) path() string {
	if s.index < 0 {
		return s.owner
	}
	return s.owner + "[" + strconv.Itoa(s.index) + "]"
}

// Member walks a group of n: it returns the next index, or false at its end.
// The state survives a panic, so that the walk goes on behind who panicked.
func (s *isolated) Member(n int) (int, bool) {
	if s.next >= n {
		s.next = 0
		return 0, false
	}
	s.next++
	return s.next - 1, true
}

// MemberReverse is Member from the last index to the first.
func (s *isolated) MemberReverse(n int) (int, bool) {
	i, ok := s.Member(n)
	return n - 1 - i, ok
}

// fault turns what the member that was asked returned or panicked with into its
// failure. A composite reports a *hook.Failure of a member of its own, which
// only gets the path prolonged.
func (s *isolated) fault(point hook.Point, err error, panicked bool) *hook.Failure {
	var f *hook.Failure
	if own, ok := err.(*hook.Failure); ok {
		f = own.Under(s.path())
	} else {
		f = &hook.Failure{Subsystem: s.path(), Point: point, Err: err, Panic: panicked}
		if panicked {
			f.Stack = debug.Stack()
		}
	}
	s.failures = append(s.failures, f)
	return f
}

// panicError returns the recovered value as an error.
func panicError(value any) error {
	if err, ok := value.(*hook.Failure); ok {
		return err
	}
	if err, ok := value.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic: %v", value)
}

// Failed reports whether a member has failed so far.
func (s *isolated) Failed() bool { return s.failures != nil }

// report emits one hook_failed event for each failure that the caller does not
// learn of anyway.
func (s *isolated) report(ctx context.Context, h hook.Host, known error) {
	for _, f := range s.failures {
		if f != known {
			h.Emit(ctx, hook.FailureEvent(f))
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
// type knows the rule of its point, gate, judge or first. It is ready with Point
// set, and one goroutine's at a time.
type Gate[D Decision[D]] struct {
	Point hook.Point
	isolated
	decision D
	final    bool
}

// Ask says who is asked next, under the point's own fail policy.
func (g *Gate[D]) Ask(owner string) { g.ask(owner, -1, g.Point.Info().Closed) }

// AskClosed says who is asked next; its failure blocks.
func (g *Gate[D]) AskClosed(owner string) { g.ask(owner, -1, true) }

// AskOpen says who is asked next; its failure counts as no opinion.
func (g *Gate[D]) AskOpen(owner string) { g.ask(owner, -1, false) }

// AskMember says which member of a group is asked next.
func (g *Gate[D]) AskMember(group string, i int) { g.ask(group, i, g.Point.Info().Closed) }

// Answer takes the answer of who was asked and reports whether nobody else is to
// be asked.
func (g *Gate[D]) Answer(d D, err error) bool {
	var silent D
	switch {
	case err != nil:
		g.fail(g.fault(g.Point, err, false))
	case d != silent:
		g.merge(d.From(g.path()))
	}
	return g.final
}

func (g *Gate[D]) merge(d D) {
	g.decision = g.decision.Merge(d)
	g.final = g.decision.Final()
}

func (g *Gate[D]) fail(f *hook.Failure) {
	if g.closed {
		g.merge(g.decision.Closed(f))
	}
}

// Recover is deferred around the members: a panic becomes the failure of who was
// asked, and the caller enters again at the position it has noted.
func (g *Gate[D]) Recover() {
	if v := recover(); v != nil {
		g.fail(g.fault(g.Point, panicError(v), true))
	}
}

// Report emits the failures that the decision does not carry.
func (g *Gate[D]) Report(ctx context.Context, h hook.Host) {
	g.report(ctx, h, g.decision.Verdict().Failure)
}

// Final reports whether nobody else is to be asked.
func (g *Gate[D]) Final() bool { return g.final }

// Decision returns the merged answer.
func (g *Gate[D]) Decision() D { return g.decision }

// Fold passes a value through the rewriters of one point. It is ready with Point
// and Value set, and one goroutine's at a time.
type Fold[T any] struct {
	Point hook.Point
	// Value is what the next rewriter gets, and in the end the result.
	Value T
	isolated
	err error
}

// Ask says who rewrites next, under the point's own fail policy; the rewriting
// methods of hook.Hook are closed.
func (f *Fold[T]) Ask(owner string) { f.ask(owner, -1, f.defaultClosed()) }

// AskClosed says who rewrites next; its failure ends the fold.
func (f *Fold[T]) AskClosed(owner string) { f.ask(owner, -1, true) }

// AskOpen says who rewrites next; its failure leaves the value as it is.
func (f *Fold[T]) AskOpen(owner string) { f.ask(owner, -1, false) }

// AskMember says which member of a group rewrites next.
func (f *Fold[T]) AskMember(group string, i int) { f.ask(group, i, f.defaultClosed()) }

func (f *Fold[T]) defaultClosed() bool {
	info := f.Point.Info()
	return info.Closed || info.Kind == "facade"
}

// Set takes what who was asked returned and reports whether to go on.
func (f *Fold[T]) Set(v T, err error) bool {
	if err != nil {
		f.fail(f.fault(f.Point, err, false))
		return f.err == nil
	}
	f.Value = v
	return true
}

func (f *Fold[T]) fail(failure *hook.Failure) {
	if f.closed {
		f.err = failure
	}
}

// Recover is deferred around the members.
func (f *Fold[T]) Recover() {
	if v := recover(); v != nil {
		f.fail(f.fault(f.Point, panicError(v), true))
	}
}

// Report emits the failures that Err does not carry.
func (f *Fold[T]) Report(ctx context.Context, h hook.Host) { f.report(ctx, h, f.err) }

// Final reports whether a failure has ended the fold.
func (f *Fold[T]) Final() bool { return f.err != nil }

// Err returns the *hook.Failure that ended the fold, or nil.
func (f *Fold[T]) Err() error { return f.err }

// Fan tells the observers of one point; each is told whatever becomes of the
// others. It is ready with Point set.
type Fan struct {
	Point hook.Point
	isolated
}

// Ask says who is told next.
func (f *Fan) Ask(owner string) { f.ask(owner, -1, false) }

// AskMember says which member of a group is told next.
func (f *Fan) AskMember(group string, i int) { f.ask(group, i, false) }

// Recover is deferred around the members.
func (f *Fan) Recover() {
	if v := recover(); v != nil {
		f.fault(f.Point, panicError(v), true)
	}
}

// Report emits all failures.
func (f *Fan) Report(ctx context.Context, h hook.Host) { f.report(ctx, h, nil) }

// Bracket opens the members of a composite in order and closes them in reverse
// order. Both sides run over the same n members, so position i of one is
// position n-1-i of the other; a group is one position. It is ready with Point
// set.
type Bracket struct {
	Point hook.Point
	isolated
	done int
	err  error
}

// Ask says who is next.
func (b *Bracket) Ask(owner string) { b.ask(owner, -1, true) }

// AskMember says which member of a group is next.
func (b *Bracket) AskMember(group string, i int) { b.ask(group, i, true) }

// Opened takes the result of opening a member and reports whether to go on.
func (b *Bracket) Opened(err error) bool {
	if err != nil {
		b.err = b.fault(b.Point, err, false)
		return false
	}
	b.done++
	return true
}

// Skip counts a member that has nothing to open.
func (b *Bracket) Skip() { b.done++ }

// Closed takes the result of closing a member. All are closed; the errors are
// joined.
func (b *Bracket) Closed(err error) {
	if err != nil {
		b.err = errors.Join(b.err, b.fault(b.Point, err, false))
	}
}

// Recover is deferred around the members.
func (b *Bracket) Recover() {
	if v := recover(); v != nil {
		f := b.fault(b.Point, panicError(v), true)
		if b.err == nil {
			b.err = f
			return
		}
		b.err = errors.Join(b.err, f)
	}
}

// Final reports whether a member has failed.
func (b *Bracket) Final() bool { return b.err != nil }

// Done returns how many members have been opened or skipped.
func (b *Bracket) Done() int { return b.done }

// Err returns what failed: one *hook.Failure, or several joined.
func (b *Bracket) Err() error { return b.err }
