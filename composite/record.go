package composite

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// recorder is what the composites of one [Recorded] have in common.
type recorder struct {
	now func() time.Time
	// host is the one that OnOpen was given: OnClose has no other.
	host atomic.Pointer[hook.Host]
}

// opener is the host that OnOpen was given.
func (r *recorder) opener() hook.Host {
	if h := r.host.Load(); h != nil {
		return *h
	}
	return hook.NoHost{}
}

// run is an execution of a member that is being recorded.
type run struct {
	rec    *recorder
	member *member
	// as is the member as its point sees it.
	as Member
	// nested: the member is a composite, which tells of its members' runs instead.
	nested bool
	// failures is how many its walk knew of before.
	failures int
	// took is how long a contributor has taken that nobody waited for.
	took atomic.Int64
	hook.Run
}

// record begins the execution of the i-th member; about is the point's place. Nil
// if the composite does not record, which is all that this then costs.
func (c *Composite) record(i int, p hook.Point, about any) *run {
	if c.rec == nil || p == point.OnEvent { // which is told of the runs itself
		return nil
	}
	m := &member{run: cmp.Or(c.path, c.name), known: c.own} // the author's method, as one run of the whole
	if i != atSelf {
		m = &c.members[i]
	}
	r := &run{rec: c.rec, member: m, as: m.as(p), nested: m.nested && !m.writes(p)}
	r.Run = hook.Run{Subsystem: m.run, Point: p, Started: c.rec.now(), Status: event.RunSucceeded, Visibility: c.visibility(m, p)}
	if call, ok := about.(*hook.ToolCall); ok {
		r.CallID, r.Tool = call.ID(), c.public+call.Name()
		if point.InfoOf(p).Kind != "rewrite" {
			r.Input = event.Digest(call.Args())
		}
	}
	return r
}

// visibility is who may see the runs of the member at the point: what its own tag
// says, else that of the composite that it is in.
func (c *Composite) visibility(m *member, p hook.Point) hook.Visibility {
	return cmp.Or(hook.Visibility(m.tag.At(p.String()).Visibility), c.around[p])
}

// in says in which walk the run is.
func (r *run) in(w *walk) *run {
	if r != nil {
		r.failures = len(w.failures)
	}
	return r
}

// end tells of the run. w knows whether the member has failed.
func (r *run) end(ctx context.Context, w *walk, host hook.Host) {
	late := false
	if len(w.failures) > r.failures {
		f := w.failures[len(w.failures)-1]
		r.failed(ctx, f.Failure)
		late = f.Late && !f.inner
	}
	r.tell(ctx, host, late)
}

// tell ends the run now.
func (r *run) tell(ctx context.Context, host hook.Host, late bool) {
	r.Duration = r.rec.now().Sub(r.Started)
	if r.Status == event.RunSucceeded && r.as.Timeout > 0 && r.Duration >= r.as.Timeout {
		r.Status = event.RunTimedOut // a wrap or an observer, which are waited for all the same
	}
	r.emit(ctx, host, late)
}

// emit tells of the run. That of a composite is not told, because its members' are,
// unless it was the composite itself that was late.
func (r *run) emit(ctx context.Context, host hook.Host, late bool) {
	if late || !r.nested && !r.idle() {
		host.Emit(ctx, r.Run.Event())
	}
}

// idle reports whether the run may be that of hook.Nop.
func (r *run) idle() bool {
	quiet := r.Status == event.RunSucceeded && !r.Changed || r.Status == event.RunSkipped
	return quiet && r.Point != point.Dispatch && ofFacade(r.Point, point.InfoOf(r.Point)) && !r.member.known.Has(r.Point) && !r.member.writes(r.Point)
}

// besideEnd tells of a run that nobody has waited for. One that the runtime broke off
// because it closes was interrupted.
func (r *run) besideEnd(ctx context.Context, host hook.Host, failure *fault) {
	late := false
	if failure != nil {
		r.failed(ctx, failure.Failure)
		late = failure.Late && !failure.inner
	} else if ctx.Err() != nil {
		r.Status = event.RunInterrupted
	}
	r.tell(ctx, host, late)
	if failure != nil {
		host.Emit(ctx, failure.Failure.Event())
	}
}

func (r *run) failed(ctx context.Context, f *hook.Failure) {
	r.Reason = (&hook.Failure{Subsystem: r.Subsystem, Point: r.Point, Late: f.Late}).Public()
	switch {
	case f.Late:
		r.Status = event.RunTimedOut
	case f.Panic:
		r.Status = event.RunPanicked
	case ctx.Err() != nil && errors.Is(f.Err, ctx.Err()):
		r.Status = event.RunInterrupted
	default:
		r.Status = event.RunFailed
	}
}

// decided ends the run of a decider that has answered, unless it has failed.
func decided(ctx context.Context, r *run, g *gate, said hook.Ruling, host hook.Host) {
	if len(g.failures) > r.failures { // an answer beside a failure does not count
		if said = (hook.Ruling{}); r.as.Policy.closed(g.point) {
			said = g.failures[len(g.failures)-1].Failure.Ruling(point.Failed(g.point))
		}
	}
	v := said.Verdict()
	r.Answer, r.Reason = v.Kind, v.Reason
	if v.Kind.Denies() {
		r.Status = event.RunDenied
	}
	r.end(ctx, &g.walk, host)
}

// rewriting begins the run of a rewriter that is about to get v.
func rewriting[T any](r *run, f *fold[T]) *run {
	if r != nil && !r.nested {
		r.Input = event.Digest(f.value)
	}
	return r.in(&f.walk)
}

// rewritten ends it.
func rewritten[T any](ctx context.Context, r *run, f *fold[T], host hook.Host) {
	if len(f.failures) == r.failures && !r.nested {
		r.Output = event.Digest(f.value)
		r.Changed = r.Input != r.Output
	}
	r.end(ctx, &f.walk, host)
}

// contributed ends the run of a contributor; what it added is all.parts behind
// before.
func contributed[T Contribution[T]](ctx context.Context, r *run, all *collect[T], before int, host hook.Host) {
	if len(all.parts) > before {
		r.added(event.Digest(all.parts[before].items))
	}
	r.end(ctx, &all.walk, host)
}

func (r *run) added(digest string) { r.Changed, r.Output = true, digest }

// clocked returns the call with its time taken, because nobody waits for it.
func clocked[T any](r *run, call func(context.Context) (T, error)) func(context.Context) (T, error) {
	if r == nil {
		return call
	}
	return func(ctx context.Context) (T, error) {
		defer func() { r.took.Store(int64(r.rec.now().Sub(r.Started))) }()
		return call(ctx)
	}
}

// parallelRun is the run of a contributor that was started beside others.
type parallelRun[T any] struct {
	*run
	part *part[T]
}

// end tells of the run when all have been waited for.
func (r parallelRun[T]) end(ctx context.Context, host hook.Host) {
	r.Duration = time.Duration(r.took.Load())
	late := false
	if err := r.part.err; err != nil {
		_, inner := err.(*hook.Failure)
		f := newFailure(r.Point, r.Subsystem, err, false)
		if f.Late {
			r.Duration, late = r.as.Timeout, !inner
		}
		r.failed(ctx, f)
	} else if len(r.part.items) > 0 {
		r.added(event.Digest(r.part.items))
	}
	r.emit(ctx, host, late)
}

// culprit is the path of who has ended a walk with this failure.
func (c *Composite) culprit(err error) string {
	failure, _ := err.(*hook.Failure)
	return within(c.path, failure.Subsystem)
}

// skip tells that the i-th member was not asked, because by had ended the point;
// of a composite it tells so of its members. A composite that does not record tells nothing.
func (c *Composite) skip(ctx context.Context, i int, p hook.Point, about any, host hook.Host, by string) {
	if c.rec == nil || i == atSelf {
		return
	}
	m := &c.members[i]
	if m.nested && !m.writes(p) {
		inner := m.hook.(*Composite)
		for j := range inner.having(p, about) {
			inner.skip(ctx, j, p, about, host, by)
		}
		return
	}
	r := c.record(i, p, about)
	r.Status, r.Input, r.By = event.RunSkipped, "", by
	if !r.idle() {
		host.Emit(ctx, r.Run.Event())
	}
}

// having yields the places of the members that would be called.
func (c *Composite) having(p hook.Point, about any) iter.Seq[int] {
	info := point.InfoOf(p)
	return func(yield func(int) bool) {
		for i := range c.members {
			if info.Reverse {
				i = len(c.members) - 1 - i
			}
			if c.members[i].points.Has(p) && c.meant(i, about) && !yield(i) {
				return
			}
		}
	}
}

// within joins the path of a composite and one inside it.
func within(outer, inner string) string {
	if outer == "" || inner == "" {
		return outer + inner
	}
	return outer + "." + inner
}

// bound ends the run of the owner of a tool. Arguments that it cannot read are the
// model's mistake: it has answered.
func (r *run) bound(ctx context.Context, host hook.Host, inv hook.Invocation) {
	if inv.Err() != nil {
		r.Reason = "the arguments do not fit"
	}
	r.tell(ctx, host, false)
}

// wrapped ends the run of a wrap; without returned it has panicked.
func (r *run) wrapped(ctx context.Context, host hook.Host, returned bool) {
	if !returned {
		r.failed(ctx, &hook.Failure{Subsystem: r.Subsystem, Point: r.Point, Panic: true})
	}
	r.tell(ctx, host, false)
}

// stream returns the stream of a wrap, which tells of the run at its end.
func (r *run) stream(ctx context.Context, host hook.Host, stream message.ModelStream) message.ModelStream {
	if r == nil {
		return stream
	}
	return func(yield func(message.Chunk, error) bool) {
		returned, consumer := false, false
		defer func() { r.wrapped(ctx, host, returned || consumer) }()
		stream(func(c message.Chunk, err error) bool {
			consumer = true
			more := yield(c, err)
			consumer = false
			return more
		})
		returned = true
	}
}
