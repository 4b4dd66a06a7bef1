package toolrun

import (
	"context"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
)

// queue is the state of an attempt that waits for its exclusive key and a slot.
type queue struct {
	// unlock frees the exclusive key of the attempt. The goroutine that runs the tool calls
	// it when the tool returns, never the goroutine that abandons the tool.
	unlock func()
	// waited is the time that all attempts together have waited.
	waited time.Duration
	// holder describes the call that holds the key; "" if the attempt does not wait for it.
	holder string
	// crowded: too many calls of the tool are abandoned.
	crowded bool
}

// admit waits for the exclusive key and a slot; release gives them back. It returns false
// if the attempt must not start: ctx has ended, the call is abandoned, or too many calls of
// the tool are.
func (r *Run) admit(ctx context.Context) bool {
	if !r.mayStart() {
		return false
	}
	began := time.Now()
	defer func() { r.queue.waited += time.Since(began) }()
	if !r.takeKey(ctx) {
		return false
	}
	if !r.takeSlot(ctx) || !r.mayStart() {
		r.release()
		return false
	}
	return true
}

func (r *Run) mayStart() bool {
	r.queue.crowded = r.runner.abandoned.Of(r.work()) >= r.runner.o.Abandoned
	return !r.queue.crowded && r.task.State() != abandoned.Abandoned
}

func (r *Run) takeKey(ctx context.Context) bool {
	key := r.Place.Tool().Exclusive
	if key == "" {
		r.queue.unlock = func() {}
		return true
	}
	holder := fmt.Sprintf("call %s of %s, which has the key %q", r.Place.ID(), r.Place.Name(), key)
	unlock, err := r.runner.keys.Lock(ctx, key, holder, r.waitsFor)
	if err != nil {
		return false
	}
	r.queue.unlock, r.queue.holder = unlock, ""
	return true
}

// waitsFor emits progress that names the holder of the exclusive key.
func (r *Run) waitsFor(holder string) {
	r.queue.holder = holder
	r.report("waits for " + holder)
}

// takeSlot waits for a slot, unless the tool needs none.
func (r *Run) takeSlot(ctx context.Context) bool {
	if r.Place.Tool().Waits {
		return true
	}
	select {
	case r.runner.slots <- struct{}{}: // even if ctx has ended
	default:
		select {
		case r.runner.slots <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	r.hasSlot.Store(true)
	return true
}

func (r *Run) freeSlot() {
	if r.hasSlot.Swap(false) {
		<-r.runner.slots
	}
}

func (r *Run) release() {
	r.freeSlot()
	r.queue.unlock()
}

// notAdmitted is the result of a call without an attempt that started.
func (r *Run) notAdmitted() message.ToolResult {
	switch {
	case r.queue.crowded:
		return message.FailedResult(message.FailOperation, fmt.Sprintf("%d calls of %s have not ended; it runs again when one of them has",
			r.runner.abandoned.Of(r.work()), r.Place.Name()))
	case r.queue.holder != "":
		return cancelled(": it waited for " + r.queue.holder)
	}
	return cancelled("")
}
