package composite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// LateHooks returns the number of the composite's hooks that still run after their timeout, which has dropped their answers. Results
// of Layered and Recorded share the count. Their goroutines end when the hooks return; a number that stays above zero shows that hooks
// ignore their context. Safe for concurrent use.
func (c *Composite) LateHooks() int {
	n := int(c.late.n.Load())
	for i := range c.members {
		if inner, ok := c.members[i].hook.(*Composite); ok {
			n += inner.LateHooks()
		}
	}
	return n
}

// lateCount counts late hooks; nil counts nothing.
type lateCount struct{ n atomic.Int64 }

func (l *lateCount) add(n int64) {
	if l != nil {
		l.n.Add(n)
	}
}

// late is the error of a hook that has not answered in time.
type late struct {
	after time.Duration
	point hook.Point
}

func (l late) Error() string {
	return fmt.Sprintf("no answer within %s; a field's tag or a layer changes that:  %s: timeout=…", plan.Duration(l.after), l.point)
}

// Is makes errors.Is match context.DeadlineExceeded.
func (late) Is(target error) bool { return target == context.DeadlineExceeded }

func (m *Member) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if m.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, m.Timeout)
}

// stream calls a wrap with its timeout, which also bounds the stream that it returns.
func (m *Member) stream(ctx context.Context, call func(context.Context) message.ModelStream) message.ModelStream {
	if m.Timeout == 0 {
		return call(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	started := false
	defer func() {
		if !started {
			cancel() // the wrap has panicked
		}
	}()
	stream := call(ctx)
	started = true
	return func(yield func(message.Chunk, error) bool) {
		defer cancel()
		stream(yield)
	}
}

// attempt is one timed call. The first to set settled, the waiting caller or the hook, wins.
type attempt[T any] struct {
	deadline time.Time
	point    hook.Point
	late     *lateCount
	settled  atomic.Bool
	ended    chan outcome[T]
}

// outcome is how the hook ended.
type outcome[T any] struct {
	value T
	err   error
	late  bool
}

// timed calls a member and abandons it when its timeout is over.
func timed[T any](ctx context.Context, m *Member, point hook.Point, call func(context.Context) (T, error)) (T, error) {
	if m.Timeout == 0 {
		return call(ctx)
	}
	deadline := time.Now().Add(m.Timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	a := &attempt[T]{deadline: deadline, point: point, late: m.late, ended: make(chan outcome[T], 1)}
	timer := time.NewTimer(m.Timeout)
	defer timer.Stop()
	go a.run(ctx, call)
	select {
	case o := <-a.ended:
		if !o.late {
			return o.value, o.err
		}
	case <-timer.C:
		a.abandon()
	}
	var none T
	return none, late{m.Timeout, point}
}

// abandon counts the hook as late, unless it has just returned.
func (a *attempt[T]) abandon() {
	a.late.add(1)
	if !a.settled.CompareAndSwap(false, true) {
		a.late.add(-1)
	}
}

// run calls the hook. An answer at the deadline counts as late, so that the order in which the
// scheduler wakes both sides makes no difference.
func (a *attempt[T]) run(ctx context.Context, call func(context.Context) (T, error)) {
	o, returned := outcome[T]{}, false
	defer func() {
		if v := recover(); v != nil {
			o.err = panickedAt(a.point, v)
		} else if !returned {
			o.err = errors.New("it ended its goroutine")
		}
		o.late = !time.Now().Before(a.deadline)
		if a.settled.CompareAndSwap(false, true) {
			a.ended <- o
			return
		}
		a.late.add(-1)
	}()
	o.value, o.err = call(ctx)
	returned = true
}

// panickedAt returns the failure of a hook that panicked in a goroutine of its own.
func panickedAt(point hook.Point, v any) *hook.Failure {
	if f, ok := v.(*hook.Failure); ok {
		return f
	}
	return &hook.Failure{Point: point, Err: panicError(v), Panic: true, Stack: debug.Stack()}
}
