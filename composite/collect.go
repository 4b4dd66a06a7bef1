package composite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Contribution is implemented by the contribution types of package hook.
type Contribution[T any] interface {
	From(owner string) T
}

// collect gathers the contributions to one point in plan order. wait waits for the members
// that start has started.
type collect[T Contribution[T]] struct {
	walk
	turn *hook.Turn
	// ready reads the contributions to this point from those of a fallback.
	ready func(hook.Contributions) []T
	err   error
	// parts are in the order of the calls.
	parts []*part[T]
	crew  *crew // nil without parallel members
}

// part has the contributions of one member, or its error.
type part[T any] struct {
	by    *Member
	items []T
	err   error
}

// add adds the contributions of the current member.
func (c *collect[T]) add(items []T, err error) {
	switch {
	case err != nil:
		c.fail(err, false)
	case len(items) > 0:
		c.parts = append(c.parts, &part[T]{by: c.current, items: items})
	}
}

func (c *collect[T]) fail(err error, panicked bool) {
	f, closed := c.fault(err, panicked)
	switch {
	case !closed:
		c.add(c.fallback(c.current), nil)
	case c.err == nil:
		c.err = f
	}
}

// fallbackTimeout is how long a fallback may take. Its values are ready, so only one that waits
// for its own late hook needs longer.
const fallbackTimeout = time.Second

// fallback returns the contributions of the failed member's fallback; nil if it has none. A
// failure of the fallback is a failure of the member.
func (c *collect[T]) fallback(m *Member) []T {
	if m.fallback == nil {
		return nil
	}
	turn, ready := c.turn, c.ready
	items, err := timed(context.Background(), &Member{Timeout: fallbackTimeout, late: m.late}, c.point, func(context.Context) ([]T, error) {
		return ready(m.fallback.Fallback(turn)), nil
	})
	if err == nil {
		return items
	}
	f := newFailure(c.point, m.Path, err, false)
	if f.Late { // no tag changes this time
		f.Err = fmt.Errorf("no answer within %s", fallbackTimeout)
	}
	f.Err = fmt.Errorf("its fallback: %w", f.Err)
	c.failures = append(c.failures, fault{Failure: f})
	return nil
}

// start calls the current member concurrently with those after it, within the bounds. It
// calls began just before the member, when its timeout starts too.
func (c *collect[T]) start(ctx context.Context, b *bounds, began func(), call func(context.Context) ([]T, error)) {
	p := &part[T]{by: c.current}
	c.parts = append(c.parts, p)
	point := c.point
	if c.crew == nil {
		c.crew = newCrew(b)
	}
	c.crew.run(func() {
		returned := false
		defer func() {
			if v := recover(); v != nil {
				p.err = panickedAt(point, v)
			} else if !returned {
				p.err = errors.New("it ended its goroutine")
			}
		}()
		began()
		p.items, p.err = timed(ctx, p.by, point, call)
		returned = true
	})
}

func (c *collect[T]) recover() {
	if v := recover(); v != nil {
		c.fail(panicError(v), true)
	}
}

func (c *collect[T]) wait() {
	if c.crew == nil {
		return
	}
	c.crew.running.Wait()
	c.crew = nil
	for _, p := range c.parts {
		if p.err == nil {
			continue
		}
		c.current = p.by
		f, closed := c.fault(p.err, false)
		switch p.items = nil; {
		case !closed:
			p.items = c.fallback(p.by)
		case c.err == nil:
			c.err = f
		}
	}
}

// contributed returns all contributions, each with its member's path, or the *hook.Failure of
// a member that failed closed.
func (c *collect[T]) contributed() ([]T, error) {
	if c.err != nil || len(c.parts) == 0 {
		return nil, c.err
	}
	var out []T
	for _, p := range c.parts {
		for _, item := range p.items {
			out = append(out, item.From(p.by.Path))
		}
	}
	return out, nil
}
