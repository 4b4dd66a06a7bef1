package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// emitter delivers the events of one conversation, or those outside any. It is
// the [hook.Host] of its place.
type emitter struct {
	hook.NoHost
	rt           *Runtime
	agent        string
	conversation string

	mu  sync.Mutex
	seq uint64
	// clock is its last reading, sinceRead the number of events since then.
	clock     time.Time
	sinceRead int
	turn      string
	step      int
	// observer is the caller of Send, while its turn runs.
	observer func(hook.Event)
	// delivering: somebody is delivering and will take what is queued.
	delivering bool
	// idle is closed when the delivery that end waits for is over; nil if it waits
	// for none.
	idle chan struct{}
	// aboutFailure: what is being delivered tells of a hook's failure.
	aboutFailure bool
	queue        []queuedEvent
}

type queuedEvent struct {
	ctx      context.Context
	ev       hook.Event
	observer func(hook.Event)
}

var _ hook.Host = (*emitter)(nil)

// Emit implements hook.Host. Called from within a delivery it queues.
func (e *emitter) Emit(ctx context.Context, ev hook.Event) {
	if ev.Kind == hook.EventHookFailed && ev.Detail().Point == hook.PointOnEvent && e.deliversFailure() {
		return // a hook that fails on the news of a failure would go on for ever
	}
	e.emit(ctx, ev)
}

func (e *emitter) deliversFailure() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.delivering && e.aboutFailure
}

// posting says what is special about an event that is posted.
type posting int

const (
	usual posting = iota
	// delta: the event is one of many and may carry the time of one before it.
	delta
	// last: it is the last event of a turn. What is emitted after it, or because
	// of it, is outside the turn and not for its observer.
	last
)

// clockEvery is how many deltas share a reading of the clock.
const clockEvery = 16

// emit numbers and delivers the event, and what is queued meanwhile.
func (e *emitter) emit(ctx context.Context, ev hook.Event) { e.post(ctx, &ev, usual) }

// post is emit; it changes the event and keeps a copy at most.
func (e *emitter) post(ctx context.Context, ev *hook.Event, as posting) {
	ev.SetHost(e)
	e.mu.Lock()
	observer := e.stampLocked(ev, as)
	if e.delivering {
		e.queue = append(e.queue, queuedEvent{ctx, *ev, observer})
		e.mu.Unlock()
		return
	}
	e.delivering, e.aboutFailure = true, ev.Kind == hook.EventHookFailed
	e.mu.Unlock()
	done := false
	defer func() {
		if !done { // an observer has ended the goroutine
			e.abandon()
		}
	}()
	e.deliver(ctx, ev, observer)
	for e.next(&ctx, ev, &observer) {
		e.deliver(ctx, ev, observer)
	}
	done = true
}

// stampLocked says when and where the event happens, and who observes it.
func (e *emitter) stampLocked(ev *hook.Event, as posting) (observer func(hook.Event)) {
	e.sinceRead++
	if as != delta || e.sinceRead >= clockEvery {
		e.clock, e.sinceRead = e.rt.o.Now(), 0
	}
	ev.Time = e.clock
	if e.conversation != "" {
		e.seq++
		ev.Seq, ev.Agent, ev.Conversation, ev.Turn, ev.Step = e.seq, e.agent, e.conversation, e.turn, e.step
	}
	observer = e.observer
	if as == last {
		e.turn, e.step, e.observer = "", 0, nil
	}
	return observer
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
	if e.queue = e.queue[1:]; len(e.queue) == 0 {
		e.queue = nil // and what was in it can go
	}
	e.aboutFailure = ev.Kind == hook.EventHookFailed
	return true
}

func (e *emitter) releaseLocked() {
	e.delivering = false
	if e.idle != nil {
		close(e.idle)
		e.idle = nil
	}
}

func (e *emitter) abandon() {
	e.mu.Lock()
	e.queue = nil
	e.releaseLocked()
	e.mu.Unlock()
}

// deliver tells the hook and then the observer. They get copies.
func (e *emitter) deliver(ctx context.Context, ev *hook.Event, observer func(hook.Event)) {
	e.tellHook(ctx, ev)
	if observer != nil {
		e.tellObserver(ctx, ev, observer)
	}
}

func (e *emitter) tellHook(ctx context.Context, ev *hook.Event) {
	defer func() {
		if v := recover(); v != nil {
			e.Emit(ctx, hook.FailureEvent(panicOf(hook.PointOnEvent, v)))
		}
	}()
	e.rt.hook.OnEvent(ctx, *ev)
}

// tellObserver calls the caller's function; one that panics is not called again.
func (e *emitter) tellObserver(ctx context.Context, ev *hook.Event, observer func(hook.Event)) {
	defer func() {
		if v := recover(); v != nil {
			e.dropObserver()
			e.emit(ctx, hook.Event{Kind: hook.EventDiagnostic, Text: "the observer of the turn panicked and is not called again"})
		}
	}()
	observer(*ev)
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
	for e.delivering {
		idle := make(chan struct{})
		e.idle = idle
		e.mu.Unlock()
		<-idle
		e.mu.Lock()
	}
	e.turn, e.step, e.observer = "", 0, nil
	e.mu.Unlock()
}
