package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/internal/queue"
)

// Go implements hook.Host.
func (h *host) Go(ctx context.Context, path string, run func(context.Context)) error {
	if loop.Abandoned(ctx) {
		return hook.ErrNoTurn
	}
	ctx = loop.BackgroundContext(ctx, h.turnOf(ctx))
	err := h.rt.backgroundRuns.Go(ctx, queue.Name{Place: h.log.Conversation(), Path: path}, func(ctx context.Context) {
		defer func() {
			if v := recover(); v != nil {
				f := failure.OfPanic(0, v)
				f.Subsystem = path
				h.Emit(ctx, f.Event())
			}
		}()
		run(ctx)
	})
	switch {
	case errors.Is(err, queue.ErrFull):
		return fmt.Errorf("%w, of %s", hook.ErrCrowded, path)
	case err != nil:
		return ErrClosed
	}
	return nil
}

// closeBackgroundRuns waits for the background runs until ctx has ended, and then for the
// grace period.
func (r *Runtime) closeBackgroundRuns(ctx context.Context) {
	abandoned, dropped := r.backgroundRuns.Close(ctx, r.o.Calls.Grace)
	if abandoned > 0 {
		r.emit(ctx, hook.Diagnostic{
			Code: event.CodeBackgroundAbandoned, Text: fmt.Sprintf("background runs that did not end in time: %d; queued behind them and never started: %d", abandoned, dropped),
		}.Event())
	}
}

func (r *Runtime) newBackgroundRuns() *queue.Queues {
	return queue.New(&queue.Options{Left: func() (returned func()) {
		r.lateRuns.Add(1)
		return func() { r.lateRuns.Add(-1) }
	}})
}
