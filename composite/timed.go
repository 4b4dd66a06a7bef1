package composite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// abandoned counts the goroutines that nobody waits for any more.
var abandoned atomic.Int64

// Abandoned returns how many hooks have not come back although their deadline is
// over and their answer is dropped. Their goroutines end when the hooks return;
// a number that stays above zero is hooks that ignore their context. Safe for
// concurrent use.
func Abandoned() int { return int(abandoned.Load()) }

// late is the failure of a hook that has not answered in time.
type late struct{ after time.Duration }

func (l late) Error() string { return fmt.Sprintf("no answer within %s", l.after) }

// Is makes it a context.DeadlineExceeded for who asks.
func (late) Is(target error) bool { return target == context.DeadlineExceeded }

// within returns the context of a member that surrounds something.
func (m *Member) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if m.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, m.Timeout)
}

// stream calls a wrap whose context ends after its timeout, counted from now; the stream
// that the wrap surrounds ends with it.
func (m *Member) stream(ctx context.Context, call func(context.Context) message.ModelStream) message.ModelStream {
	if m.Timeout == 0 {
		return call(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	started := false
	defer func() {
		if !started {
			cancel() // the wrap panicked
		}
	}()
	stream := call(ctx)
	started = true
	return func(yield func(message.Chunk, error) bool) {
		defer cancel()
		stream(yield)
	}
}

// attempt is one timed call. Whoever comes second, the one who waits or the hook,
// finds that the other is gone.
type attempt[T any] struct {
	deadline time.Time
	point    hook.Point
	gone     atomic.Bool
	ended    chan outcome[T]
}

// outcome is how the hook ended.
type outcome[T any] struct {
	value T
	err   error
	late  bool
}

// timed asks a hook and gives it up when the timeout is over; 0 is no bound.
func timed[T any](ctx context.Context, timeout time.Duration, point hook.Point, call func(context.Context) (T, error)) (T, error) {
	if timeout == 0 {
		return call(ctx)
	}
	deadline := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	a := &attempt[T]{deadline: deadline, point: point, ended: make(chan outcome[T], 1)}
	timer := time.NewTimer(timeout)
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
	return none, late{timeout}
}

// abandon counts the hook as abandoned, unless it has come back just now.
func (a *attempt[T]) abandon() {
	abandoned.Add(1)
	if !a.gone.CompareAndSwap(false, true) {
		abandoned.Add(-1)
	}
}

// run calls the hook. What it answers at its deadline is late, so that it makes
// no difference who of both is woken first.
func (a *attempt[T]) run(ctx context.Context, call func(context.Context) (T, error)) {
	o, returned := outcome[T]{}, false
	defer func() {
		if v := recover(); v != nil {
			o.err = panickedAt(a.point, v)
		} else if !returned {
			o.err = errors.New("it ended its goroutine")
		}
		o.late = !time.Now().Before(a.deadline)
		if a.gone.CompareAndSwap(false, true) {
			a.ended <- o
			return
		}
		abandoned.Add(-1)
	}()
	o.value, o.err = call(ctx)
	returned = true
}

// panickedAt is the failure of a hook that panicked in a goroutine of its own.
func panickedAt(point hook.Point, v any) *hook.Failure {
	if f, ok := v.(*hook.Failure); ok {
		return f
	}
	return &hook.Failure{Point: point, Err: panicError(v), Panic: true, Stack: debug.Stack()}
}
