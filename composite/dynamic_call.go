package composite

import (
	"context"
	"iter"

	"github.com/grapnel-go/grapnel/hook"
)

// having yields the members that are called at the point H for what it is about,
// with their position in the plan, in the point's direction.
func having[H any](c *Composite, p hook.Point, about any) iter.Seq2[int, H] {
	reverse := p.Info().Reverse
	return func(yield func(int, H) bool) {
		for i := range c.members {
			if reverse {
				i = len(c.members) - 1 - i
			}
			m := &c.members[i]
			if h, ok := m.hook.(H); ok && !m.left.Has(p) && m.match.place(about) && !yield(i, h) {
				return
			}
		}
	}
}

// place is what Turn, Step and ToolCall have in common.
type place interface{ Host() hook.Host }

// decide asks the members that have the point H.
func decide[H any, D Decision[D]](ctx context.Context, c *Composite, p hook.Point, at place, call func(context.Context, H) (D, error)) D {
	g := NewGate[D](p, c.table(p))
	for i, h := range having[H](c, p, at) {
		if g.final {
			skip[H](ctx, c, i, p, at, at.Host(), within(c.path, g.decision.Verdict().By))
			continue
		}
		g.At = i + 1
		r := c.record(i, p, at).in(&g.walk)
		d := ask(ctx, &g, func(ctx context.Context) (D, error) { return call(ctx, h) })
		if r != nil {
			decided(ctx, r, &g, d, at.Host())
		} else if g.final {
			break
		}
	}
	if g.Failed() {
		g.Report(ctx, at.Host())
	}
	return g.Decision()
}

// ask asks one decider and returns what it has said itself.
func ask[D Decision[D]](ctx context.Context, g *Gate[D], call func(context.Context) (D, error)) (d D) {
	defer g.Recover()
	var err error
	if g.current().Timeout > 0 {
		d, err = g.Timed(ctx, call)
	} else {
		d, err = call(ctx)
	}
	g.Answer(d, err)
	return d
}

// rewrite passes v through the members that have the point H.
func rewrite[H, T any](ctx context.Context, c *Composite, p hook.Point, v T, at place, call func(context.Context, H, T) (T, error)) (T, error) {
	f := NewFold(p, c.table(p), v)
	for i, h := range having[H](c, p, at) {
		if f.err != nil {
			skip[H](ctx, c, i, p, at, at.Host(), c.culprit(f.err))
			continue
		}
		f.At = i + 1
		r := rewriting(c.record(i, p, at), &f)
		foldOne(ctx, &f, func(ctx context.Context, v T) (T, error) { return call(ctx, h, v) })
		if r != nil {
			rewritten(ctx, r, &f, at.Host())
		} else if f.err != nil {
			break
		}
	}
	if f.Failed() {
		f.Report(ctx, at.Host())
	}
	return f.Value, f.Err()
}

// contribute gathers what the members that have the point H add.
func contribute[H any, T Contribution[T]](ctx context.Context, c *Composite, p hook.Point, at place, call func(context.Context, H) ([]T, error)) ([]T, error) {
	all := NewCollect[T](p, c.table(p))
	var going []parallelRun[T]
	for i, h := range having[H](c, p, at) {
		if all.err != nil {
			skip[H](ctx, c, i, p, at, at.Host(), c.culprit(all.err))
			continue
		}
		all.At = i + 1
		r, parallel, before := c.record(i, p, at).in(&all.walk), c.members[i].parallel(p), len(all.parts)
		add(ctx, &all, parallel, clocked(r, func(ctx context.Context) ([]T, error) { return call(ctx, h) }))
		if r != nil && parallel {
			going = append(going, parallelRun[T]{r, all.parts[before]})
		} else if r != nil {
			contributed(ctx, r, &all, before, at.Host())
		} else if all.err != nil {
			break
		}
	}
	all.Wait()
	for _, g := range going {
		g.end(ctx, at.Host())
	}
	if all.Failed() {
		all.Report(ctx, at.Host())
	}
	return all.Contributed()
}

func add[T Contribution[T]](ctx context.Context, c *Collect[T], parallel bool, call func(context.Context) ([]T, error)) {
	defer c.Recover()
	switch {
	case parallel:
		c.Go(ctx, call)
	case c.current().Timeout > 0:
		c.Add(c.Timed(ctx, call))
	default:
		c.Add(call(ctx))
	}
}

// observe tells the members that have the point H; written is the view for those that
// are told in the background.
func observe[H any](ctx context.Context, c *Composite, p hook.Point, at place, written func() hook.Job, call func(context.Context, H)) {
	f := NewFan(p, c.table(p))
	for i, h := range having[H](c, p, at) {
		f.At = i + 1
		r := c.record(i, p, at).in(&f.walk)
		if mode := c.members[i].mode(p); mode != "" {
			s := &side{path: f.current().Path, call: func(ctx context.Context) { call(ctx, h) }}
			if mode == "background" {
				s.composite, s.job = c, written()
			}
			besideOne(ctx, &f, r, at.Host(), s)
			continue
		}
		tell(ctx, &f, func(ctx context.Context) { call(ctx, h) })
		if r != nil {
			r.end(ctx, &f.walk, at.Host())
		}
	}
	if f.Failed() {
		f.Report(ctx, at.Host())
	}
}

// besideOne has an observer run beside the turn, or by a job; a run beside the turn that
// is recorded is told when it is over.
func besideOne(ctx context.Context, f *Fan, r *run, host hook.Host, s *side) {
	s.began, s.ended = func() {}, failedBeside(host)
	if r != nil {
		r.Queued = r.Started
		s.began = func() { r.Started = r.rec.now() }
		s.ended = func(ctx context.Context, failure *fault) { r.besideEnd(ctx, host, failure) }
		if s.composite != nil {
			s.composite, s.path = nil, r.member.run // the twin is known to nobody
		}
	}
	if !f.beside(ctx, host, s) && r != nil {
		r.end(ctx, &f.walk, host)
	}
}
