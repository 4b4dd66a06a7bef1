package runtime

import (
	"context"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
)

// emitter delivers the events of one conversation, or those outside any. It is
// the [hook.Host] of its place.
type emitter struct {
	rt           *Runtime
	agent        string
	conversation string

	mu   sync.Mutex
	idle sync.Cond
	seq  uint64
	turn string
	step int
	// observer is the caller of Send, while its turn runs.
	observer func(hook.Event)
	// delivering: somebody is delivering and will take what is queued.
	delivering bool
	// waiting: end waits for the delivery.
	waiting bool
	// about is the kind that is being delivered.
	about hook.EventKind
	queue []queuedEvent
}

type queuedEvent struct {
	ctx      context.Context
	ev       hook.Event
	observer func(hook.Event)
}

var _ hook.Host = (*emitter)(nil)

func (e *emitter) init(rt *Runtime) {
	e.rt = rt
	e.idle.L = &e.mu
}

// Emit implements hook.Host. Called from within a delivery it queues.
func (e *emitter) Emit(ctx context.Context, ev hook.Event) {
	if ev.Kind == hook.EventHookFailed && ev.Detail().Point == hook.PointOnEvent && e.delivers(hook.EventHookFailed) {
		return // a hook that fails on the news of a failure would go on for ever
	}
	e.emit(ctx, ev)
}

func (e *emitter) delivers(kind hook.EventKind) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.delivering && e.about == kind
}

// emit numbers and delivers the event, and what is queued meanwhile.
func (e *emitter) emit(ctx context.Context, ev hook.Event) { e.post(ctx, ev, false) }

// emitLast is emit for the last event of a turn: what is emitted after it, or
// because of it, is outside the turn and not for its observer.
func (e *emitter) emitLast(ctx context.Context, ev hook.Event) { e.post(ctx, ev, true) }

func (e *emitter) post(ctx context.Context, ev hook.Event, last bool) {
	e.mu.Lock()
	e.seq++
	ev.Seq, ev.Time = e.seq, e.rt.o.Now()
	if e.conversation != "" {
		ev.Agent, ev.Conversation, ev.Turn, ev.Step = e.agent, e.conversation, e.turn, e.step
	} else {
		ev.Seq = 0
	}
	observer := e.observer
	if last {
		e.turn, e.step, e.observer = "", 0, nil
	}
	if e.delivering {
		e.queue = append(e.queue, queuedEvent{ctx, ev, observer})
		e.mu.Unlock()
		return
	}
	e.delivering, e.about = true, ev.Kind
	e.mu.Unlock()
	done := false
	defer func() {
		if !done { // an observer has ended the goroutine
			e.abandon()
		}
	}()
	e.deliver(ctx, ev, observer)
	for e.next(&ctx, &ev, &observer) {
		e.deliver(ctx, ev, observer)
	}
	done = true
}

// next takes the oldest queued event; without one delivery is over.
func (e *emitter) next(ctx *context.Context, ev *hook.Event, observer *func(hook.Event)) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		e.releaseLocked()
		return false
	}
	*ctx, *ev, *observer = e.queue[0].ctx, e.queue[0].ev, e.queue[0].observer
	e.queue = e.queue[1:]
	e.about = ev.Kind
	return true
}

func (e *emitter) releaseLocked() {
	e.queue, e.delivering, e.about = nil, false, ""
	if e.waiting {
		e.idle.Broadcast()
	}
}

func (e *emitter) abandon() {
	e.mu.Lock()
	e.releaseLocked()
	e.mu.Unlock()
}

func (e *emitter) deliver(ctx context.Context, ev hook.Event, observer func(hook.Event)) {
	ev = ev.WithHost(e)
	e.tellHook(ctx, ev)
	if observer != nil {
		e.tellObserver(ctx, ev, observer)
	}
}

func (e *emitter) tellHook(ctx context.Context, ev hook.Event) {
	defer func() {
		if v := recover(); v != nil {
			e.Emit(ctx, hook.FailureEvent(panicOf(hook.PointOnEvent, v)))
		}
	}()
	e.rt.hook.OnEvent(ctx, ev)
}

// tellObserver calls the caller's function; one that panics is not called again.
func (e *emitter) tellObserver(ctx context.Context, ev hook.Event, observer func(hook.Event)) {
	defer func() {
		if v := recover(); v != nil {
			e.dropObserver()
			e.emit(ctx, hook.Event{Kind: hook.EventDiagnostic, Text: "the observer of the turn panicked and is not called again"})
		}
	}()
	observer(ev)
}

func (e *emitter) dropObserver() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.observer = nil
	for i := range e.queue {
		e.queue[i].observer = nil
	}
}

// begin and end bracket a turn.
func (e *emitter) begin(turn string, observer func(hook.Event)) {
	e.mu.Lock()
	e.turn, e.observer = turn, observer
	e.mu.Unlock()
}

func (e *emitter) atStep(n int) {
	e.mu.Lock()
	e.step = n
	e.mu.Unlock()
}

// end waits until everything is delivered.
func (e *emitter) end() {
	e.mu.Lock()
	e.waiting = true
	for e.delivering {
		e.idle.Wait()
	}
	e.waiting = false
	e.turn, e.step, e.observer = "", 0, nil
	e.mu.Unlock()
}
