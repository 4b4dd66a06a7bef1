package abandoned

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrStillRuns: the caller has stopped waiting for a call, which still runs.
	ErrStillRuns = errors.New("it did not return although the turn was cancelled, and still runs")
	// ErrGoexit: a call has ended its goroutine.
	ErrGoexit = errors.New("it ended its goroutine instead of returning")
)

// Call is a function that runs on a goroutine of its own.
type Call struct {
	task  Task
	ended chan error
}

// Go calls f on a new goroutine. It does not recover from a panic.
func Go(c *Counts, w Work, f func() error) *Call {
	call := &Call{ended: make(chan error, 1)}
	call.task.Begin(c, w)
	go call.run(f)
	return call
}

func (c *Call) run(f func() error) {
	err := ErrGoexit
	defer func() {
		c.task.End()
		c.ended <- err
	}()
	err = f()
}

// Wait returns the error of f, or [ErrGoexit]. When ctx ends before f does, it abandons
// the call and returns [ErrStillRuns]. Call it once.
func (c *Call) Wait(ctx context.Context) error {
	select {
	case err := <-c.ended:
		return err
	case <-ctx.Done():
	}
	if c.task.Abandon() == Ended {
		return <-c.ended
	}
	return ErrStillRuns
}

// Late returns a context with the values of ctx that ends d after ctx has ended. The caller
// calls stop when it no longer needs the context.
func Late(ctx context.Context, d time.Duration) (late context.Context, stop func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return late, func() {
		ended()
		cancel()
	}
}
