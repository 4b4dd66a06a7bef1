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

// recorder is shared by the composites of one [Recorded].
type recorder struct {
	now func() time.Time
	// log gets the runs too; nil is none.
	log RunLog
	// host is the argument of OnOpen, because OnClose has none.
	host atomic.Pointer[hook.Host]
}

func (r *recorder) opener() hook.Host {
	if h := r.host.Load(); h != nil {
		return *h
	}
	return hook.NoHost{}
}

// run records one execution of a member.
type run struct {
	rec    *recorder
	member *member
	// as has the member's options at the point.
	as Member
	// nested: the member is a composite, which emits the runs of its own members instead.
	nested bool
	// failures is the number of failures in the walk before the run.
	failures int
	// took is the duration of a parallel contributor in nanoseconds.
	took atomic.Int64
	hook.Run
}

// record begins the run of the i-th member; about is the point's place. It returns nil if
// the composite does not record.
func (c *Composite) record(i int, p hook.Point, about any) *run {
	if c.rec == nil || p == point.OnEvent { // runs are events themselves
		return nil
	}
	m := &member{run: cmp.Or(c.path, c.name), known: c.own} // the author's method, as one run of the whole
	if i != atSelf {
		m = &c.members[i]
	}
	r := &run{rec: c.rec, member: m, as: m.as(p), nested: m.nested && !m.overrides(p)}
	r.Run = hook.Run{Subsystem: m.run, Point: p, Started: c.rec.now(), Status: event.RunSucceeded, Visibility: c.visibility(m, p)}
	if c.rec.log != nil {
		r.ID = c.rec.log.NewID()
	}
	if call, ok := about.(*hook.ToolCall); ok {
		r.CallID, r.Tool = call.ID(), c.toolPrefix+call.Name()
		if point.InfoOf(p).Kind != "rewrite" {
			r.Input = event.Digest(call.Args())
		}
	}
	return r
}

// visibility returns the visibility of the member's runs at the point: that of its own tag,
// or else that of the tag of its composite.
func (c *Composite) visibility(m *member, p hook.Point) hook.Visibility {
	return cmp.Or(hook.Visibility(m.tag.At(p.String()).Visibility), c.inherited[p])
}

func (r *run) in(w *walk) *run {
	if r != nil {
		r.failures = len(w.failures)
	}
	return r
}

// end emits the run. The first new failure in w is the member's; another is its fallback's.
func (r *run) end(ctx context.Context, w *walk, host hook.Host) {
	late := false
	if len(w.failures) > r.failures {
		f := w.failures[r.failures]
		r.failed(ctx, f.Failure)
		late = f.Late && !f.inner
	}
	r.finish(ctx, host, late)
}

func (r *run) finish(ctx context.Context, host hook.Host, late bool) {
	r.Duration = r.rec.now().Sub(r.Started)
	if r.Status == event.RunSucceeded && r.as.Timeout > 0 && r.Duration >= r.as.Timeout {
		r.Status = event.RunTimedOut // a wrap or an observer: the walk waits for them
	}
	r.emit(ctx, host, late)
}

// emit emits the run. A nested composite emits the runs of its members; its own run is
// emitted only if it was late.
func (r *run) emit(ctx context.Context, host hook.Host, late bool) {
	if late || !r.nested && !r.idle() {
		r.tell(ctx, host)
	}
}

// idle reports whether the called method may be that of hook.Nop.
func (r *run) idle() bool {
	quiet := r.Status == event.RunSucceeded && !r.Changed || r.Status == event.RunSkipped
	return quiet && r.Point != point.Dispatch && r.maybeNop()
}

// maybeNop reports whether nobody can know that the hook has a method of its own at the point.
func (r *run) maybeNop() bool {
	return ofFacade(r.Point, point.InfoOf(r.Point)) && !r.member.known.Has(r.Point) && !r.member.overrides(r.Point)
}

// endInBackground emits a background run. A run whose context ended because the runtime closes
// was interrupted.
func (r *run) endInBackground(ctx context.Context, host hook.Host, failure *fault) {
	late := false
	if failure != nil {
		r.failed(ctx, failure.Failure)
		late = failure.Late && !failure.inner
	} else if ctx.Err() != nil {
		r.Status = event.RunInterrupted
	}
	r.finish(ctx, host, late)
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

// decided ends the run of a decider with its answer.
func decided(ctx context.Context, r *run, g *gate, answer hook.Ruling, host hook.Host) {
	if len(g.failures) > r.failures { // the fail policy answers for a failed decider
		last := g.failures[len(g.failures)-1].Failure
		if answer = (hook.Ruling{}); r.as.closed(g.point, last.Err) {
			answer = last.Ruling(point.Failed(g.point))
		}
	}
	v := answer.Verdict()
	r.Answer, r.Reason = v.Kind, v.Reason
	if v.Kind.Denies() {
		r.Status = event.RunDenied
	}
	r.end(ctx, &g.walk, host)
}

func rewriting[T any](r *run, f *fold[T]) *run {
	if r != nil && !r.nested {
		r.Input = event.Digest(f.value)
	}
	return r.in(&f.walk)
}

func rewritten[T any](ctx context.Context, r *run, f *fold[T], host hook.Host) {
	if len(f.failures) == r.failures && !r.nested {
		r.Output = event.Digest(f.value)
		r.Changed = r.Input != r.Output
	}
	r.end(ctx, &f.walk, host)
}

// contributed ends the run of a contributor. Its contributions, or those of its fallback, are
// at index before of all.parts, if it added any.
func contributed[T Contribution[T]](ctx context.Context, r *run, all *collect[T], before int, host hook.Host) {
	if len(all.parts) > before {
		r.added(event.Digest(all.parts[before].items))
	}
	r.end(ctx, &all.walk, host)
}

func (r *run) added(digest string) { r.Changed, r.Output = true, digest }

// clocked returns the call, extended to measure its duration for r.
func clocked[T any](r *run, call func(context.Context) (T, error)) func(context.Context) (T, error) {
	if r == nil {
		return call
	}
	return func(ctx context.Context) (T, error) {
		defer func() { r.took.Store(int64(r.rec.now().Sub(r.Started))) }()
		return call(ctx)
	}
}

// begins puts the run into the log with the status, unless its end may be left out.
func (r *run) begins(ctx context.Context, host hook.Host, status hook.RunStatus) *run {
	if r != nil && r.rec.log != nil && !r.nested && !r.maybeNop() {
		began := r.Run
		began.Status = status
		r.rec.log.Put(ctx, host, began)
	}
	return r
}

// begin sets the start of a parallel contributor, which may have waited for its turn.
func (r *run) begin(ctx context.Context, host hook.Host) {
	if r != nil {
		r.Started = r.rec.now()
		r.begins(ctx, host, event.RunRunning)
	}
}

// tell emits the run and puts it into the log.
func (r *run) tell(ctx context.Context, host hook.Host) {
	if r.rec.log != nil {
		r.rec.log.Put(ctx, host, r.Run)
	}
	host.Emit(ctx, r.Run.Event())
}

// parallelRun is the run of a parallel contributor.
type parallelRun[T any] struct {
	*run
	part *part[T]
}

// end emits the run. The part is complete.
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
	}
	if len(r.part.items) > 0 {
		r.added(event.Digest(r.part.items))
	}
	r.emit(ctx, host, late)
}

// culprit returns the path of the member whose failure has ended a walk.
func (c *Composite) culprit(err error) string {
	failure, _ := err.(*hook.Failure)
	return within(c.path, failure.Subsystem)
}

// skip emits a skipped run of the i-th member, because by had ended the point; of a nested
// composite it emits those of its members. Without recording it does nothing.
func (c *Composite) skip(ctx context.Context, i int, p hook.Point, about any, host hook.Host, by string) {
	if c.rec == nil || i == atSelf {
		return
	}
	m := &c.members[i]
	if m.nested && !m.overrides(p) {
		inner := m.hook.(*Composite)
		for j := range inner.having(p, about) {
			inner.skip(ctx, j, p, about, host, by)
		}
		return
	}
	r := c.record(i, p, about)
	r.Status, r.Input, r.By = event.RunSkipped, "", by
	if !r.idle() {
		r.tell(ctx, host)
	}
}

// having yields the indexes of the members that the point would call.
func (c *Composite) having(p hook.Point, about any) iter.Seq[int] {
	info := point.InfoOf(p)
	return func(yield func(int) bool) {
		for i := range c.members {
			if info.Reverse {
				i = len(c.members) - 1 - i
			}
			if c.members[i].points.Has(p) && c.matches(i, about) && !yield(i) {
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

// endDispatch ends the run of the owner of a tool. Invalid arguments are the model's mistake, so the
// run has succeeded.
func (r *run) endDispatch(ctx context.Context, host hook.Host, inv hook.Invocation) {
	if inv.Err() != nil {
		r.Reason = "the arguments do not fit"
	}
	r.finish(ctx, host, false)
}

// endWrap ends the run of a wrap, which has returned or panicked.
func (r *run) endWrap(ctx context.Context, host hook.Host, returned bool) {
	if !returned {
		r.failed(ctx, &hook.Failure{Subsystem: r.Subsystem, Point: r.Point, Panic: true})
	}
	r.finish(ctx, host, false)
}

// stream returns the stream of a wrap, extended to emit the run at its end.
func (r *run) stream(ctx context.Context, host hook.Host, stream message.ModelStream) message.ModelStream {
	if r == nil {
		return stream
	}
	return func(yield func(message.Chunk, error) bool) {
		returned, consumer := false, false
		defer func() { r.endWrap(ctx, host, returned || consumer) }()
		stream(func(c message.Chunk, err error) bool {
			consumer = true
			more := yield(c, err)
			consumer = false
			return more
		})
		returned = true
	}
}
