package composite

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
)

// failedBeside tells of a failure that no caller learns of.
func failedBeside(h hook.Host) func(context.Context, *fault) {
	return func(ctx context.Context, failure *fault) {
		if failure != nil {
			h.Emit(ctx, failure.Failure.Event())
		}
	}
}

// JobHost is a host that keeps jobs: it has an observer told by a job, which outlives the process.
type JobHost interface {
	// TellLater queues a job that tells the member of this path in the composite what the view says; Key of the view says what it is
	// about, "" is this call. False if no job could be queued; then the member is told beside the turn.
	TellLater(ctx context.Context, composite hook.Hook, path string, p hook.Point, view hook.Job) bool
}

// side is a call that nobody waits for, and who is told of it.
type side struct {
	// composite and path are who is called, and job what the host may do instead.
	composite hook.Hook
	path      string
	job       hook.Job

	call  func(context.Context)
	began func()
	ended func(context.Context, *fault)
}

// beside reports whether the call was handed over.
func (f *fan) beside(ctx context.Context, h hook.Host, s *side) bool {
	m, p := f.who, f.point
	if keeper, ok := h.(JobHost); ok && s.job.Payload != "" && keeper.TellLater(ctx, s.composite, s.path, p, s.job) {
		return true
	}
	err := h.Beside(ctx, s.path, func(ctx context.Context) { s.run(ctx, m, p) })
	if err != nil {
		f.fault(err, false)
	}
	return err == nil
}

// run calls an observer that has its goroutine to itself.
func (s *side) run(ctx context.Context, m *Member, p hook.Point) {
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
