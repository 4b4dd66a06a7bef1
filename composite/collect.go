package composite

import (
	"context"
	"errors"

	"github.com/sourcegraph/conc"

	"github.com/grapnel-go/grapnel/hook"
)

// Contribution is what the contribution types of package hook have in common.
type Contribution[T any] interface {
	From(owner string) T
}

// collect gathers what the contributors of one point add, in plan order. Nobody waits
// for a contributor that is started with start before wait is called.
type collect[T Contribution[T]] struct {
	walk
	err error
	// parts are what members have added, in the order in which they were called.
	parts []*part[T]
	going *conc.WaitGroup
}

// part is what one member has added, or how it failed.
type part[T any] struct {
	by    *Member
	items []T
	err   error
}

// add takes what the member contributed.
func (c *collect[T]) add(items []T, err error) {
	switch {
	case err != nil:
		c.fail(err, false)
	case len(items) > 0:
		c.parts = append(c.parts, &part[T]{by: c.who, items: items})
	}
}

func (c *collect[T]) fail(err error, panicked bool) {
	if f, closed := c.fault(err, panicked); closed && c.err == nil {
		c.err = f
	}
}

// start starts the member that was called last beside those behind it.
func (c *collect[T]) start(ctx context.Context, call func(context.Context) ([]T, error)) {
	p := &part[T]{by: c.who}
	c.parts = append(c.parts, p)
	if c.going == nil {
		c.going = conc.NewWaitGroup()
	}
	point := c.point
	c.going.Go(func() {
		returned := false
		defer func() {
			if v := recover(); v != nil {
				p.err = panickedAt(point, v)
			} else if !returned {
				p.err = errors.New("it ended its goroutine")
			}
		}()
		p.items, p.err = timed(ctx, p.by, point, call)
		returned = true
	})
}

func (c *collect[T]) recover() {
	if v := recover(); v != nil {
		c.fail(panicError(v), true)
	}
}

// wait waits for the members that were started with start.
func (c *collect[T]) wait() {
	if c.going == nil {
		return
	}
	c.going.Wait()
	c.going = nil
	for _, p := range c.parts {
		if p.err == nil {
			continue
		}
		f := newFailure(c.point, p.by.Path, p.err, false)
		_, inner := p.err.(*hook.Failure)
		c.failures = append(c.failures, fault{f, inner})
		if p.by.closed(c.point, p.err) && c.err == nil {
			c.err = f
		}
	}
}

// contributed returns everything, each with the path of who added it, or the
// *hook.Failure of a member that fails closed.
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
