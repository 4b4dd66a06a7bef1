package composite

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// This file has the walk over the members of a point, one function for each kind of
// point. The generated methods of [Composite] pass the method expression of the point,
// which needs no closure. The options of a member's tag (match, timeout, mode) and the
// recording of hook runs are in functions of their own (…With), so that a plain call
// allocates nothing.

// place is implemented by Turn, Step, ToolCall and the other places.
type place interface{ Host() hook.Host }

// decide asks the deciders of a point until one of them ends it.
func decide[H any, P place, V any, D decision](ctx context.Context, c *Composite, p hook.Point, entries []entry[H], at P, v V,
	call func(H, context.Context, P, V) (D, error)) (D, error) {
	g := gate{walk: walk{point: p}}
	for next := 0; next < len(entries); {
		switch e := &entries[next]; {
		case !e.plain:
			decideWith(ctx, c, &g, e, narrowed(at, &g), v, call)
			next++
		case g.final:
			next++
		default:
			next = askFrom(ctx, &g, entries, next, at, v, call)
		}
	}
	if g.failures != nil {
		g.report(ctx, at.Host(), g.ruling.Verdict().Failure)
	}
	return D(ruled{g.ruling}), nil
}

// askFrom asks the plain deciders from an index on, until one ends the point, is not plain or panics. It returns the next index. One
// deferred function for all costs a third of one for each.
func askFrom[H, P, V any, D decision](ctx context.Context, g *gate, entries []entry[H], from int, at P, v V,
	call func(H, context.Context, P, V) (D, error)) (next int) {
	next = from
	defer g.recover()
	for next < len(entries) && entries[next].plain && !g.final {
		e := &entries[next]
		next++
		g.current = &e.as
		d, err := call(e.hook, ctx, narrowed(at, g), v)
		g.answer(ruled(d).Ruling, err)
	}
	return next
}

// narrowed returns the place that the next decider sees: a tool call has the grant that is left by the deciders before it.
func narrowed[P any](at P, g *gate) P {
	granted := hook.ToolDecision{Ruling: g.ruling}.Grant()
	if granted == (hook.Grant{}) {
		return at
	}
	if call, ok := any(at).(*hook.ToolCall); ok {
		return any(call.Narrowed(granted)).(P)
	}
	return at
}

func ask[H, P, V any, D decision](ctx context.Context, g *gate, h H, at P, v V, call func(H, context.Context, P, V) (D, error)) {
	defer g.recover()
	d, err := call(h, ctx, at, v)
	g.answer(ruled(d).Ruling, err)
}

// decideWith is decide for one member that is not plain.
func decideWith[H any, P place, V any, D decision](ctx context.Context, c *Composite, g *gate, e *entry[H], at P, v V,
	call func(H, context.Context, P, V) (D, error)) {
	if !c.matches(e.index, at) {
		return
	}
	if g.final {
		c.skip(ctx, e.index, g.point, at, at.Host(), within(c.path, g.ruling.Verdict().By))
		return
	}
	g.current = &e.as
	r := c.record(e.index, g.point, at).in(&g.walk).begins(ctx, at.Host(), event.RunRunning)
	p := g.point // a closure over g would move it to the heap
	var answer D
	ask(ctx, g, e.hook, at, v, func(h H, ctx context.Context, at P, v V) (d D, err error) {
		answer, err = timed(ctx, &e.as, p, func(ctx context.Context) (D, error) { return call(h, ctx, at, v) })
		return answer, err
	})
	if r != nil {
		decided(ctx, r, g, ruled(answer).Ruling, at.Host())
	}
}

// rewrite passes a value through the rewriters of a point until one of them fails closed.
func rewrite[H any, P place, V any](ctx context.Context, c *Composite, p hook.Point, entries []entry[H], at P, v V,
	call func(H, context.Context, P, V) (V, error)) (V, error) {
	f := fold[V]{walk: walk{point: p}, value: v}
	for i := range entries {
		e := &entries[i]
		if !e.plain {
			rewriteWith(ctx, c, &f, e, at, call)
			continue
		}
		if f.err != nil {
			break
		}
		f.current = &e.as
		pass(ctx, &f, e.hook, at, call)
	}
	if f.failures != nil {
		f.report(ctx, at.Host(), f.err)
	}
	return f.value, f.err
}

func pass[H, P, V any](ctx context.Context, f *fold[V], h H, at P, call func(H, context.Context, P, V) (V, error)) {
	defer f.recover()
	f.set(call(h, ctx, at, f.value))
}

// rewriteWith is rewrite for one member that is not plain.
func rewriteWith[H any, P place, V any](ctx context.Context, c *Composite, f *fold[V], e *entry[H], at P,
	call func(H, context.Context, P, V) (V, error)) {
	if !c.matches(e.index, at) {
		return
	}
	if f.err != nil {
		c.skip(ctx, e.index, f.point, at, at.Host(), c.culprit(f.err))
		return
	}
	f.current = &e.as
	r := rewriting(c.record(e.index, f.point, at), f).begins(ctx, at.Host(), event.RunRunning)
	p := f.point
	pass(ctx, f, e.hook, at, func(h H, ctx context.Context, at P, v V) (V, error) {
		return timed(ctx, &e.as, p, func(ctx context.Context) (V, error) { return call(h, ctx, at, v) })
	})
	if r != nil {
		rewritten(ctx, r, f, at.Host())
	}
}

// contribute gathers the contributions to a point. ready reads those of a fallback.
func contribute[H any, T Contribution[T]](ctx context.Context, c *Composite, p hook.Point, entries []entry[H], at *hook.Turn,
	call func(H, context.Context, *hook.Turn) ([]T, error), ready func(hook.Contributions) []T) ([]T, error) {
	all := collect[T]{walk: walk{point: p}, turn: at, ready: ready}
	var parallel []parallelRun[T]
	for i := range entries {
		e := &entries[i]
		if !e.plain {
			if r := contributeWith(ctx, c, &all, e, at, call); r != nil {
				parallel = append(parallel, *r)
			}
			continue
		}
		if all.err != nil {
			break
		}
		all.current = &e.as
		add(ctx, &all, e.hook, at, call)
	}
	all.wait()
	for _, r := range parallel {
		r.end(ctx, at.Host())
	}
	if all.failures != nil {
		all.report(ctx, at.Host(), all.err)
	}
	return all.contributed()
}

func add[H any, T Contribution[T]](ctx context.Context, all *collect[T], h H, at *hook.Turn, call func(H, context.Context, *hook.Turn) ([]T, error)) {
	defer all.recover()
	all.add(call(h, ctx, at))
}

// contributeWith is contribute for one member that is not plain. It returns the run of a
// parallel member, if runs are recorded.
func contributeWith[H any, T Contribution[T]](ctx context.Context, c *Composite, all *collect[T], e *entry[H], at *hook.Turn,
	call func(H, context.Context, *hook.Turn) ([]T, error)) *parallelRun[T] {
	if !c.matches(e.index, at) {
		return nil
	}
	if all.err != nil {
		c.skip(ctx, e.index, all.point, at, at.Host(), c.culprit(all.err))
		return nil
	}
	all.current = &e.as
	r, before := c.record(e.index, all.point, at).in(&all.walk), len(all.parts)
	callMember := clocked(r, func(ctx context.Context) ([]T, error) { return call(e.hook, ctx, at) })
	if c.modeOf(e.index, all.point) == "parallel" {
		all.start(ctx, c.parallel, func() { r.begin(ctx, at.Host()) }, callMember)
		if r == nil {
			return nil
		}
		return &parallelRun[T]{r, all.parts[before]}
	}
	r.begins(ctx, at.Host(), event.RunRunning)
	p := all.point
	add(ctx, all, e.hook, at, func(H, context.Context, *hook.Turn) ([]T, error) { return timed(ctx, &e.as, p, callMember) })
	if r != nil {
		contributed(ctx, r, all, before, at.Host())
	}
	return nil
}

// observe calls the observers of a point. view serialises the arguments for a job, if a member
// has the mode background.
func observe[H any, P place, V any](ctx context.Context, c *Composite, p hook.Point, entries []entry[H], at P, v V,
	call func(H, context.Context, P, V), view func(P, V) hook.Job) {
	f := fan{walk{point: p}}
	for i := range entries {
		e := &entries[i]
		f.current = &e.as
		if e.plain {
			notify(ctx, &f, e.hook, at, v, call)
		} else {
			observeWith(ctx, c, &f, e, at, v, call, view)
		}
	}
	if f.failures != nil {
		f.report(ctx, at.Host(), nil)
	}
}

func notify[H, P, V any](ctx context.Context, f *fan, h H, at P, v V, call func(H, context.Context, P, V)) {
	defer f.recover()
	call(h, ctx, at, v)
}

// observeWith is observe for one member that is not plain.
func observeWith[H any, P place, V any](ctx context.Context, c *Composite, f *fan, e *entry[H], at P, v V,
	call func(H, context.Context, P, V), view func(P, V) hook.Job) {
	if !c.matches(e.index, at) {
		return
	}
	r := c.record(e.index, f.point, at).in(&f.walk)
	if mode := c.modeOf(e.index, f.point); mode != "" {
		s := &backgroundCall{path: e.as.Path, call: func(ctx context.Context) { call(e.hook, ctx, at, v) }}
		if mode == "background" {
			s.composite, s.job = c.origin, view(at, v)
		}
		startInBackground(ctx, f, r, at.Host(), s)
		return
	}
	r.begins(ctx, at.Host(), event.RunRunning)
	bounded, cancel := e.as.within(ctx)
	defer cancel()
	notify(bounded, f, e.hook, at, v, call)
	if r != nil {
		r.end(ctx, &f.walk, at.Host())
	}
}

func (c *Composite) matches(member int, at any) bool {
	return member == atSelf || c.members[member].match.place(at)
}

// modeOf returns the member's mode at the point; "" calls it and waits for it.
func (c *Composite) modeOf(member int, p hook.Point) string {
	if member == atSelf {
		return ""
	}
	return c.members[member].mode(p)
}

// startInBackground starts an observer in the background or by a job. A recorded background run is
// emitted when it ends.
func startInBackground(ctx context.Context, f *fan, r *run, host hook.Host, s *backgroundCall) {
	s.began, s.ended = func() {}, emitFailure(host)
	if r != nil {
		r.Queued = r.Started
		s.began = func() {
			r.Started = r.rec.now()
			r.begins(ctx, host, event.RunRunning)
		}
		if s.job.Payload == "" { // a job has a record of its own
			r.begins(ctx, host, event.RunQueued)
		}
		s.ended = func(ctx context.Context, failure *fault) { r.endInBackground(ctx, host, failure) }
	}
	if !f.background(ctx, host, s) && r != nil {
		r.end(ctx, &f.walk, host)
	}
}
