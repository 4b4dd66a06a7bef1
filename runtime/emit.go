package runtime

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// emitter delivers the events of one conversation, or those outside any. It is
// the [hook.Host] of its place.
type emitter struct {
	rt *Runtime
	// conv is the conversation; nil outside any.
	conv *Conversation
	// up is the stream of the conversation that people see, if this is that of a
	// child: then it delivers, and this one only says whose events they are.
	up           *emitter
	agent        string
	conversation string
	// logs: events are kept by the store.
	logs bool

	mu  sync.Mutex
	seq uint64
	// clock is its last reading, sinceRead the number of events since then.
	clock     time.Time
	sinceRead int
	turn      string
	step      int
	depth     int
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
	// pending are the events that the store does not have yet.
	pending []hook.Event
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
	e = e.stream()
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

// stream is the emitter that delivers: this one, or that of the conversation of
// which this is a child's.
func (e *emitter) stream() *emitter {
	if e.up != nil {
		return e.up
	}
	return e
}

// post is emit; it changes the event and keeps a copy at most.
func (e *emitter) post(ctx context.Context, ev *hook.Event, as posting) {
	ev.SetHost(e)
	if e.up == nil {
		e.take(ctx, ev, as, true)
		return
	}
	e.mu.Lock()
	e.placeLocked(ev, as)
	e.mu.Unlock()
	e.up.take(ctx, ev, min(as, delta), false)
}

// placeLocked says where the event happens.
func (e *emitter) placeLocked(ev *hook.Event, as posting) {
	ev.Agent, ev.Turn, ev.Step, ev.Depth = e.agent, e.turn, e.step, e.depth
	if as == last {
		e.turn, e.step = "", 0
	}
}

// take numbers and delivers the event; own says that it happens here and not in a
// child.
func (e *emitter) take(ctx context.Context, ev *hook.Event, as posting, own bool) {
	e.mu.Lock()
	observer := e.stampLocked(ev, as, own)
	if e.delivering {
		e.queue = append(e.queue, queuedEvent{ctx, *ev, observer})
		e.mu.Unlock()
		return
	}
	e.delivering, e.aboutFailure = true, ev.Kind == hook.EventHookFailed
	e.mu.Unlock()
	e.drain(ctx, ev, observer)
}

// drain delivers the event and then what is queued; nil begins with the queue.
// The caller has the delivery.
func (e *emitter) drain(ctx context.Context, ev *hook.Event, observer func(hook.Event)) {
	done := false
	defer func() {
		if !done { // an observer has ended the goroutine
			e.abandon()
		}
	}()
	if ev == nil {
		ev = new(hook.Event)
	} else {
		e.deliver(ctx, ev, observer)
	}
	for e.next(&ctx, ev, &observer) {
		e.deliver(ctx, ev, observer)
	}
	done = true
}

// hold stops deliveries until release, so that what is emitted in between is
// written down before anybody is told. The loop calls it.
func (e *emitter) hold() {
	e.mu.Lock()
	e.awaitIdleLocked()
	e.delivering = true
	e.mu.Unlock()
}

// release delivers what has come up since hold.
func (e *emitter) release(ctx context.Context) { e.drain(ctx, nil, nil) }

// announce has the event written before anybody is told of it, with whatever else
// the store does not have yet. If that fails they are told so instead.
func (e *emitter) announce(ctx context.Context, ev hook.Event, write func([]store.Event) error) error {
	e.hold()
	defer e.release(ctx)
	e.post(ctx, &ev, usual)
	events := e.unkept()
	err := write(events)
	if err == nil {
		e.wrote(len(events))
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.pending {
		e.pending[i] = refuted(e.pending[i], ev.Seq)
	}
	for i := range e.queue {
		e.queue[i].ev = refuted(e.queue[i].ev, ev.Seq)
	}
	return err
}

// refuted is the event, unless it is the one of that sequence, which has not
// happened.
func refuted(ev hook.Event, seq uint64) hook.Event {
	if ev.Seq == seq {
		ev.Kind, ev.Text = hook.EventDiagnostic, "the conversation was not changed"
	}
	return ev
}

// follow says that the store has events up to seq: also those of a write that
// seemed to have failed.
func (e *emitter) follow(seq uint64) {
	e.mu.Lock()
	e.seq = max(e.seq, seq)
	for len(e.pending) > 0 && e.pending[0].Seq <= seq {
		e.pending = e.pending[1:]
	}
	e.mu.Unlock()
}

// unkept returns the events that the store does not have yet. Who has written them
// calls wrote; otherwise the next write has them again.
func (e *emitter) unkept() []store.Event {
	e.mu.Lock()
	pending := e.pending
	e.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	out := make([]store.Event, len(pending))
	for i, ev := range pending {
		text, err := json.Marshal(ev)
		if err != nil { // an event is made of what can be written
			text, _ = json.Marshal(hook.Event{Kind: ev.Kind, Seq: ev.Seq, Turn: ev.Turn})
		}
		out[i] = store.Event{Seq: ev.Seq, Data: hook.JSON(text)}
	}
	return out
}

// wrote says that the store has got the first n events that it had not.
func (e *emitter) wrote(n int) {
	e.mu.Lock()
	if e.pending = e.pending[n:]; len(e.pending) == 0 {
		e.pending = nil
	}
	e.mu.Unlock()
}

// drop gives up the events that the store does not have: somebody else has gone on
// with the conversation.
func (e *emitter) drop() {
	e.mu.Lock()
	e.pending = nil
	e.mu.Unlock()
}

// kept reports whether events of the kind are worth keeping: the text of deltas is
// in the history, and progress is over when somebody reads of it.
func kept(kind hook.EventKind) bool {
	switch kind {
	case hook.EventTextDelta, hook.EventReasoningDelta, hook.EventCallProgress:
		return false
	}
	return true
}

// stampLocked says when and where the event happens, and who observes it.
func (e *emitter) stampLocked(ev *hook.Event, as posting, own bool) (observer func(hook.Event)) {
	e.sinceRead++
	if as != delta || e.sinceRead >= clockEvery {
		e.clock, e.sinceRead = e.rt.o.Now(), 0
	}
	ev.Time = e.clock
	observer = e.observer
	if e.conversation == "" {
		return observer
	}
	e.seq++
	ev.Seq, ev.Conversation = e.seq, e.conversation
	if own {
		e.placeLocked(ev, as)
		if as == last {
			e.observer = nil
		}
	}
	if e.logs && kept(ev.Kind) {
		e.pending = append(e.pending, *ev)
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
func (e *emitter) begin(turn string, depth int, observer func(hook.Event)) {
	e.mu.Lock()
	e.turn, e.depth, e.observer = turn, depth, observer
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
	e.awaitIdleLocked()
	e.turn, e.step, e.observer = "", 0, nil
	e.mu.Unlock()
}

// awaitIdleLocked waits until nobody delivers.
func (e *emitter) awaitIdleLocked() {
	for e.delivering {
		idle := make(chan struct{})
		e.idle = idle
		e.mu.Unlock()
		<-idle
		e.mu.Lock()
	}
}
