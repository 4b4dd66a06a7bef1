package composite

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// This file has the walk over the members of a point, one function for each kind of
// point. The generated methods of [Composite] call it with the method expression of the
// point, which needs no closure. What a member's tag adds to the call (match, timeout,
// mode) and the recording of hook runs is in a function of its own, so that a plain
// call allocates nothing.

// place is what Turn, Step and ToolCall have in common.
type place interface{ Host() hook.Host }

// decide asks the deciders of a point until one of them ends it.
func decide[H any, P place, V any, D decision](ctx context.Context, c *Composite, p hook.Point, entries []entry[H], at P, v V,
	call func(H, context.Context, P, V) (D, error)) (D, error) {
	g := gate{walk: walk{point: p}}
	for next := 0; next < len(entries); {
		switch e := &entries[next]; {
		case !e.plain:
			decideWith(ctx, c, &g, e, at, v, call)
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

// askFrom asks the plain deciders from one on, until one of them ends the point, is not plain or panics, and returns where to go
// on. One deferred function for all of them is a third of the price of one for each.
func askFrom[H, P, V any, D decision](ctx context.Context, g *gate, entries []entry[H], from int, at P, v V,
	call func(H, context.Context, P, V) (D, error)) (next int) {
	next = from
	defer g.recover()
	for next < len(entries) && entries[next].plain && !g.final {
		e := &entries[next]
		next++
		g.who = &e.as
		d, err := call(e.hook, ctx, at, v)
		g.answer(ruled(d).Ruling, err)
	}
	return next
}

// ask asks one decider.
func ask[H, P, V any, D decision](ctx context.Context, g *gate, h H, at P, v V, call func(H, context.Context, P, V) (D, error)) {
	defer g.recover()
	d, err := call(h, ctx, at, v)
	g.answer(ruled(d).Ruling, err)
}

// decideWith is decide for one member that is not plain.
func decideWith[H any, P place, V any, D decision](ctx context.Context, c *Composite, g *gate, e *entry[H], at P, v V,
	call func(H, context.Context, P, V) (D, error)) {
	if !c.meant(e.at, at) {
		return
	}
	if g.final {
		c.skip(ctx, e.at, g.point, at, at.Host(), within(c.path, g.ruling.Verdict().By))
		return
	}
	g.who = &e.as
	r := c.record(e.at, g.point, at).in(&g.walk)
	p := g.point // a closure over g would move it to the heap, also where nothing is timed
	var said D
	ask(ctx, g, e.hook, at, v, func(h H, ctx context.Context, at P, v V) (d D, err error) {
		said, err = timed(ctx, &e.as, p, func(ctx context.Context) (D, error) { return call(h, ctx, at, v) })
		return said, err
	})
	if r != nil {
		decided(ctx, r, g, ruled(said).Ruling, at.Host())
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
		f.who = &e.as
		pass(ctx, &f, e.hook, at, call)
	}
	if f.failures != nil {
		f.report(ctx, at.Host(), f.err)
	}
	return f.value, f.err
}

// pass passes the value through one rewriter.
func pass[H, P, V any](ctx context.Context, f *fold[V], h H, at P, call func(H, context.Context, P, V) (V, error)) {
	defer f.recover()
	f.set(call(h, ctx, at, f.value))
}

// rewriteWith is rewrite for one member that is not plain.
func rewriteWith[H any, P place, V any](ctx context.Context, c *Composite, f *fold[V], e *entry[H], at P,
	call func(H, context.Context, P, V) (V, error)) {
	if !c.meant(e.at, at) {
		return
	}
	if f.err != nil {
		c.skip(ctx, e.at, f.point, at, at.Host(), c.culprit(f.err))
		return
	}
	f.who = &e.as
	r := rewriting(c.record(e.at, f.point, at), f)
	p := f.point
	pass(ctx, f, e.hook, at, func(h H, ctx context.Context, at P, v V) (V, error) {
		return timed(ctx, &e.as, p, func(ctx context.Context) (V, error) { return call(h, ctx, at, v) })
	})
	if r != nil {
		rewritten(ctx, r, f, at.Host())
	}
}

// contribute gathers what the contributors of a point add.
func contribute[H any, P place, T Contribution[T]](ctx context.Context, c *Composite, p hook.Point, entries []entry[H], at P,
	call func(H, context.Context, P) ([]T, error)) ([]T, error) {
	all := collect[T]{walk: walk{point: p}}
	var going []parallelRun[T]
	for i := range entries {
		e := &entries[i]
		if !e.plain {
			if r := contributeWith(ctx, c, &all, e, at, call); r != nil {
				going = append(going, *r)
			}
			continue
		}
		if all.err != nil {
			break
		}
		all.who = &e.as
		add(ctx, &all, e.hook, at, call)
	}
	all.wait()
	for _, g := range going {
		g.end(ctx, at.Host())
	}
	if all.failures != nil {
		all.report(ctx, at.Host(), all.err)
	}
	return all.contributed()
}

// add adds what one contributor says.
func add[H, P any, T Contribution[T]](ctx context.Context, all *collect[T], h H, at P, call func(H, context.Context, P) ([]T, error)) {
	defer all.recover()
	all.add(call(h, ctx, at))
}

// contributeWith is contribute for one member that is not plain. It returns the run of
// one that was started beside those behind it, if runs are recorded.
func contributeWith[H any, P place, T Contribution[T]](ctx context.Context, c *Composite, all *collect[T], e *entry[H], at P,
	call func(H, context.Context, P) ([]T, error)) *parallelRun[T] {
	if !c.meant(e.at, at) {
		return nil
	}
	if all.err != nil {
		c.skip(ctx, e.at, all.point, at, at.Host(), c.culprit(all.err))
		return nil
	}
	all.who = &e.as
	r, before := c.record(e.at, all.point, at).in(&all.walk), len(all.parts)
	asked := clocked(r, func(ctx context.Context) ([]T, error) { return call(e.hook, ctx, at) })
	if c.modeOf(e.at, all.point) == "parallel" {
		all.start(ctx, asked)
		if r == nil {
			return nil
		}
		return &parallelRun[T]{r, all.parts[before]}
	}
	p := all.point
	add(ctx, all, e.hook, at, func(H, context.Context, P) ([]T, error) { return timed(ctx, &e.as, p, asked) })
	if r != nil {
		contributed(ctx, r, all, before, at.Host())
	}
	return nil
}

// observe tells the observers of a point. view makes what a job hands to one that is told
// in the background.
func observe[H any, P place, V any](ctx context.Context, c *Composite, p hook.Point, entries []entry[H], at P, v V,
	call func(H, context.Context, P, V), view func(P, V) hook.Job) {
	f := fan{walk{point: p}}
	for i := range entries {
		e := &entries[i]
		f.who = &e.as
		if e.plain {
			tell(ctx, &f, e.hook, at, v, call)
		} else {
			observeWith(ctx, c, &f, e, at, v, call, view)
		}
	}
	if f.failures != nil {
		f.report(ctx, at.Host(), nil)
	}
}

// tell tells one observer.
func tell[H, P, V any](ctx context.Context, f *fan, h H, at P, v V, call func(H, context.Context, P, V)) {
	defer f.recover()
	call(h, ctx, at, v)
}

// observeWith is observe for one member that is not plain.
func observeWith[H any, P place, V any](ctx context.Context, c *Composite, f *fan, e *entry[H], at P, v V,
	call func(H, context.Context, P, V), view func(P, V) hook.Job) {
	if !c.meant(e.at, at) {
		return
	}
	r := c.record(e.at, f.point, at).in(&f.walk)
	if mode := c.modeOf(e.at, f.point); mode != "" {
		s := &side{path: e.as.Path, call: func(ctx context.Context) { call(e.hook, ctx, at, v) }}
		if mode == "background" {
			s.composite, s.job = c.origin, view(at, v)
		}
		besideOne(ctx, f, r, at.Host(), s)
		return
	}
	bounded, cancel := e.as.within(ctx)
	defer cancel()
	tell(bounded, f, e.hook, at, v, call)
	if r != nil {
		r.end(ctx, &f.walk, at.Host())
	}
}

// meant reports whether the member is called for what happens at this place.
func (c *Composite) meant(member int, at any) bool {
	return member == atSelf || c.members[member].match.place(at)
}

// modeOf is how the member is called at the point; "" is that it is waited for.
func (c *Composite) modeOf(member int, p hook.Point) string {
	if member == atSelf {
		return ""
	}
	return c.members[member].mode(p)
}

// besideOne has an observer run beside the turn, or by a job; a run beside the turn that
// is recorded is told when it is over.
func besideOne(ctx context.Context, f *fan, r *run, host hook.Host, s *side) {
	s.began, s.ended = func() {}, failedBeside(host)
	if r != nil {
		r.Queued = r.Started
		s.began = func() { r.Started = r.rec.now() }
		s.ended = func(ctx context.Context, failure *fault) { r.besideEnd(ctx, host, failure) }
	}
	if !f.beside(ctx, host, s) && r != nil {
		r.end(ctx, &f.walk, host)
	}
}
