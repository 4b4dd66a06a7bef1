package composite

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
)

func emitFailure(h hook.Host) func(context.Context, *fault) {
	return func(ctx context.Context, failure *fault) {
		if failure != nil {
			h.Emit(ctx, failure.Failure.Event())
		}
	}
}

// JobHost is a host that can call an observer from a stored job, which survives the process.
type JobHost interface {
	// TellLater queues a job that calls the observer at the path in the composite. view has the arguments. Its Key identifies their
	// subject; "" is this call. False means that no job could be queued: the composite then calls the observer in the background.
	TellLater(ctx context.Context, composite hook.Hook, path string, p hook.Point, view hook.Job) bool
}

// backgroundCall is a background call of an observer.
type backgroundCall struct {
	// composite and path identify the member for a job; job is zero if there must be none.
	composite hook.Hook
	path      string
	job       hook.Job

	call  func(context.Context)
	began func()
	ended func(context.Context, *fault)
}

// background starts the call by a job or in the background. It reports whether that succeeded.
func (f *fan) background(ctx context.Context, h hook.Host, s *backgroundCall) bool {
	m, p := f.current, f.point
	if jobs, ok := h.(JobHost); ok && s.job.Payload != "" && jobs.TellLater(ctx, s.composite, s.path, p, s.job) {
		return true
	}
	err := h.Go(ctx, s.path, func(ctx context.Context) { s.run(ctx, m, p) })
	if err != nil {
		f.fault(err, false)
	}
	return err == nil
}

func (s *backgroundCall) run(ctx context.Context, m *Member, p hook.Point) {
	var err error
	returned := false
	defer func() {
		if v := recover(); v != nil {
			err = panickedAt(p, v)
		} else if !returned {
			err = errors.New("it ended its goroutine")
		}
		var failure *fault
		if err != nil {
			_, inner := err.(*hook.Failure)
			failure = &fault{newFailure(p, m.Path, err, false), inner}
		}
		s.ended(ctx, failure)
	}()
	s.began()
	_, err = timed(ctx, m, p, func(ctx context.Context) (none, error) {
		s.call(ctx)
		return none{}, nil
	})
	returned = true
}
