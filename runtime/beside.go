package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/internal/queue"
)

var _ composite.JobHost = (*host)(nil)

// TellLater implements composite.JobHost.
func (h *host) TellLater(ctx context.Context, of hook.Hook, path string, p hook.Point, view hook.Job) bool {
	if loop.Abandoned(ctx) {
		return false
	}
	err := h.rt.later(ctx, h, of, path, p, view)
	if err != nil {
		h.Emit(ctx, hook.Diagnostic{Code: "background.not_queued", Text: fmt.Sprintf(
			"%s is told beside %s, and if the process dies never: no job could be queued: %s", path, p, loop.PublicText(err))}.Event())
	}
	return err == nil
}

// Go implements hook.Host.
func (h *host) Go(ctx context.Context, path string, run func(context.Context)) error {
	if loop.Abandoned(ctx) {
		return hook.ErrNoTurn
	}
	ctx = loop.BackgroundContext(ctx, h.turnOf(ctx))
	err := h.rt.beside.Go(ctx, queue.Name{Place: h.log.Conversation(), Path: path}, func(ctx context.Context) {
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

// turnOf is the id of the turn that what the context is of is about; "" for none.
func (h *host) turnOf(ctx context.Context) string {
	if turn, ok := loop.InBackground(ctx); ok {
		return turn
	}
	return h.log.Place().Turn
}

// inTurn is the turn that who asks the host is in; nil if there is none, or it runs
// beside one.
func (h *host) inTurn(ctx context.Context) *loop.Turn {
	if _, background := loop.InBackground(ctx); background || loop.Abandoned(ctx) {
		return nil
	}
	return h.current()
}

// closeBeside waits for what runs beside turns, as long as ctx and then for the grace
// period.
func (r *Runtime) closeBeside(ctx context.Context) {
	left, dropped := r.beside.Close(ctx, r.o.Calls.Grace)
	if left > 0 {
		r.emit(ctx, hook.Diagnostic{
			Code: "beside.left", Text: fmt.Sprintf("%d hooks beside turns did not end in time, and %d behind them were not begun", left, dropped),
		}.Event())
	}
}

func (r *Runtime) newLanes() *queue.Queues {
	return queue.New(&queue.Options{Left: func() (back func()) {
		r.lateBeside.Add(1)
		return func() { r.lateBeside.Add(-1) }
	}})
}
