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

// Collect gathers what the contributors of one point add, in plan order. Nobody
// waits for a contributor that is started with Go before Wait is called.
// One goroutine at a time uses it.
type Collect[T Contribution[T]] struct {
	walk
	err error
	// parts are what members have added, in the order in which they were called.
	parts []*part[T]
	going *conc.WaitGroup
}

// part is what one member has added, or how it failed.
type part[T any] struct {
	by    Member
	items []T
	err   error
}

// NewCollect returns the gathering of a point over its members.
func NewCollect[T Contribution[T]](point hook.Point, members []Member) Collect[T] {
	return Collect[T]{walk: walk{point: point, members: members}}
}

// Done reports whether nobody else is to be called.
func (c *Collect[T]) Done() bool { return c.err != nil || c.At >= len(c.members) }

// Add takes what the member contributed and reports whether its failure ends the
// gathering. One that adds nothing costs one comparison.
func (c *Collect[T]) Add(items []T, err error) bool {
	if err == nil && len(items) == 0 {
		return false
	}
	if err != nil {
		c.fail(err, false)
		return c.err != nil
	}
	c.parts = append(c.parts, &part[T]{by: c.current(), items: items})
	return false
}

func (c *Collect[T]) fail(err error, panicked bool) {
	if f, closed := c.fault(err, panicked); closed && c.err == nil {
		c.err = f
	}
}

// Timed is Add's argument for a member with a timeout: it is asked in a goroutine
// of its own, with a context that ends with the timeout. What it adds from then on
// is dropped.
func (c *Collect[T]) Timed(ctx context.Context, call func(context.Context) ([]T, error)) ([]T, error) {
	return timed(ctx, c.current().Timeout, c.point, call)
}

// Go starts the member that was called last beside those behind it.
func (c *Collect[T]) Go(ctx context.Context, call func(context.Context) ([]T, error)) {
	p := &part[T]{by: c.current()}
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
		p.items, p.err = timed(ctx, p.by.Timeout, point, call)
		returned = true
	})
}

// Recover is deferred around the members.
func (c *Collect[T]) Recover() {
	if v := recover(); v != nil {
		c.fail(panicError(v), true)
	}
}

// Wait waits for the members that were started with Go.
func (c *Collect[T]) Wait() {
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
		if p.by.Policy.closed(c.point) && c.err == nil {
			c.err = f
		}
	}
}

// Report emits the failures that the result does not carry.
func (c *Collect[T]) Report(ctx context.Context, h hook.Host) { c.report(ctx, h, c.err) }

// Contributed returns everything, each with the path of who added it, or the
// *hook.Failure of a member that fails closed.
func (c *Collect[T]) Contributed() ([]T, error) {
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
