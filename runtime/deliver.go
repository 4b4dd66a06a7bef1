package runtime

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Events are delivered by whoever emits one while nobody delivers; what others
// emit meanwhile is queued for it. The queue is bounded: who emits into a full one
// waits, and if it stays full takes over the delivery, so that nobody delivers for
// others for ever. The loop comes first: it gets the delivery after the event that
// is being delivered.

const (
	// maxQueue is how many events are queued, and maxQueueBytes how many bytes of
	// them, before who emits has to wait.
	maxQueue      = 1024
	maxQueueBytes = 1 << 20
	// maxWait is how long it waits at most: somebody who delivers may be waiting for
	// it.
	maxWait = time.Second
)

// queuedEvent is an event that waits to be delivered.
type queuedEvent struct {
	from     *emitter
	ctx      context.Context
	ev       hook.Event
	observer func(hook.Event)
	size     int
}

// line is what and who waits for the delivery.
type line struct {
	queue []queuedEvent
	// bytes is what the queued events take.
	bytes int
	// wanted is closed when the delivery is given to hold; nil if it does not wait.
	wanted chan struct{}
	// waiters emit and wait because the queue is full: true gives them the delivery.
	waiters []chan bool
}

// lineLocked returns the line, which is made if there is none.
func (e *emitter) lineLocked() *line {
	if e.line == nil {
		e.line = &line{}
	}
	return e.line
}

func (e *emitter) queuedLocked() []queuedEvent {
	if e.line == nil {
		return nil
	}
	return e.line.queue
}

// eventSize is about what an event takes in bytes.
func eventSize(ev *hook.Event) int {
	n := 512 + len(ev.Text)
	if ev.Kind == hook.EventCallResult || ev.Kind == hook.EventCallStart {
		d := ev.Detail()
		n += len(d.Args)
		for _, b := range d.Result.Content.All() {
			n += len(b.Text) + len(b.JSON)
		}
	}
	return n
}

// take numbers and delivers the event, which happens here or in a child.
func (e *emitter) take(ctx context.Context, from *emitter, ev *hook.Event, as posting) {
	e.lock()
	if e.pendingFullLocked() && kept(ev.Kind) {
		e.mu.Unlock()
		_ = e.flush(ctx) // what is not written is tried again with the next write
		e.lock()
	}
	mine := false
	if as != inside && e.fullLocked() {
		mine = e.awaitRoomLocked(ctx)
	}
	observer := e.stampLocked(ev, as, from == e)
	if e.delivering {
		l, size := e.lineLocked(), eventSize(ev)
		l.queue = append(l.queue, queuedEvent{from, ctx, *ev, observer, size})
		l.bytes += size
		e.mu.Unlock()
		if mine {
			e.drain(whole)
		}
		return
	}
	e.delivering, e.aboutFailure = true, ev.Kind == hook.EventHookFailed
	e.mu.Unlock()
	e.lead(ctx, from, ev, observer)
}

// lead delivers an event for which the caller has got the delivery, and then what has
// been queued.
func (e *emitter) lead(ctx context.Context, from *emitter, ev *hook.Event, observer func(hook.Event)) {
	e.deliver(ctx, from.heard(), ev, observer)
	e.handBack()
}

// handBack delivers what has been queued and gives the delivery away. Mostly nothing
// is queued: the way there touches no queued event.
func (e *emitter) handBack() {
	e.lock()
	if len(e.queuedLocked()) == 0 {
		e.releaseLocked()
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	e.drain(whole)
}

func (e *emitter) fullLocked() bool {
	return e.line != nil && e.delivering && (len(e.line.queue) >= maxQueue || e.line.bytes >= maxQueueBytes)
}

// awaitRoomLocked waits until there is room in the queue, ctx ends or maxWait is
// over; true gives the caller the delivery.
func (e *emitter) awaitRoomLocked(ctx context.Context) (mine bool) {
	late := time.NewTimer(maxWait)
	defer late.Stop()
	for over := false; e.fullLocked() && !mine && !over; {
		w := make(chan bool, 1)
		e.line.waiters = append(e.line.waiters, w)
		e.mu.Unlock()
		select {
		case mine = <-w:
		case <-late.C:
			over = true
		case <-ctx.Done():
			over = true
		}
		e.lock()
		if !over {
			continue
		}
		if !e.line.leave(w) {
			mine = <-w // it came in the same moment
		}
	}
	return mine
}

// whole drains the queue to its end.
const whole = math.MaxInt

// drain delivers up to n events that are queued. The caller has the delivery, and
// afterwards only if there were so many.
func (e *emitter) drain(n int) {
	var q queuedEvent
	for i := 0; i < n && e.next(&q, i, n); i++ {
		e.deliver(q.ctx, q.from.heard(), &q.ev, q.observer)
	}
}

// next takes the oldest queued event as the i-th of those that the caller
// delivers. False if the delivery is over or somebody else's now.
func (e *emitter) next(q *queuedEvent, i, n int) bool {
	e.lock()
	defer e.mu.Unlock()
	l := e.line
	switch {
	case l == nil || len(l.queue) == 0 || n == whole && l.wanted != nil:
		e.releaseLocked()
		return false
	case n == whole && i >= maxQueue && len(l.waiters) > 0:
		l.waiters[0] <- true
		l.waiters = slices.Delete(l.waiters, 0, 1)
		return false
	}
	*q = l.queue[0]
	l.bytes -= q.size
	l.queue[0] = queuedEvent{}
	if l.queue = l.queue[1:]; len(l.queue) == 0 {
		l.queue = nil // and what was in it can go
	}
	if len(l.queue) <= maxQueue/2 && l.bytes <= maxQueueBytes/2 {
		l.wake()
	}
	e.aboutFailure = q.ev.Kind == hook.EventHookFailed
	return true
}

// leave takes out one of those who wait; false if it has been told already.
func (l *line) leave(w chan bool) bool {
	if l == nil {
		return false
	}
	i := slices.Index(l.waiters, w)
	if i >= 0 {
		l.waiters = slices.Delete(l.waiters, i, i+1)
	}
	return i >= 0
}

// wake tells those who wait that there is room.
func (l *line) wake() {
	for _, w := range l.waiters {
		w <- false
	}
	l.waiters = nil
}

// releaseLocked gives the delivery to the loop if it wants it, otherwise to nobody:
// then nothing is queued, and those who wait for room have it.
func (e *emitter) releaseLocked() {
	l := e.line
	if l != nil && l.wanted != nil {
		close(l.wanted)
		l.wanted = nil
		return
	}
	e.delivering = false
	if l != nil {
		l.wake()
		e.line = nil
	}
}

func (e *emitter) abandon() {
	e.lock()
	if l := e.line; l != nil {
		l.queue, l.bytes = nil, 0
	}
	e.releaseLocked()
	e.mu.Unlock()
}

// hold stops deliveries until release, so that what is emitted in between is
// written down before anybody is told. The loop calls it.
func (e *emitter) hold() {
	e.lock()
	if !e.delivering {
		e.delivering = true
		e.mu.Unlock()
		return
	}
	wanted := make(chan struct{})
	e.lineLocked().wanted = wanted
	e.mu.Unlock()
	<-wanted
}

// release delivers what has come up since hold.
func (e *emitter) release() { e.drain(whole) }

// announce has the event written before anybody is told of it, with whatever else
// the store does not have yet. If that fails they are told instead what did not happen.
func (e *emitter) announce(ctx context.Context, ev hook.Event, instead string, write func([]store.Event) error) error {
	e.hold()
	defer e.release()
	e.post(ctx, &ev, usual)
	err := e.write(write)
	if err == nil {
		return nil
	}
	e.lock()
	defer e.mu.Unlock()
	for i := range e.pending {
		e.pending[i] = refuted(e.pending[i], ev.Seq, instead)
	}
	queue := e.queuedLocked()
	for i := range queue {
		queue[i].ev = refuted(queue[i].ev, ev.Seq, instead)
	}
	return err
}

// refuted is the event, unless it is the one of that sequence, which has not
// happened.
func refuted(ev hook.Event, seq uint64, instead string) hook.Event {
	if ev.Seq == seq {
		ev.Kind, ev.Text = hook.EventDiagnostic, instead
	}
	return ev
}

// recipient is who is being told of an event.
type recipient int

const (
	toHook recipient = iota
	toFollowers
	toObserver
	toldAll
)

// deliver tells the hook, then those who follow, and then the observer. They get
// copies. What is internal is for the hook only.
func (e *emitter) deliver(ctx context.Context, h hook.Hook, ev *hook.Event, observer func(hook.Event)) {
	for to := toHook; to != toldAll; {
		e.tell(ctx, h, ev, observer, &to)
	}
}

// tell goes on with who is next. If one of them panics it returns behind that one: so
// one deferred function serves all of them.
func (e *emitter) tell(ctx context.Context, h hook.Hook, ev *hook.Event, observer func(hook.Event), to *recipient) {
	defer e.told(ctx, to)
	if *to == toHook {
		h.OnEvent(ctx, *ev)
		*to = toFollowers
	}
	if !ev.Internal() {
		e.rt.streams.Put(ev)
		if observer != nil {
			*to = toObserver
			observer(*ev)
		}
	}
	*to = toldAll
}

// told is deferred by tell. An observer of the turn that panics is not called again;
// one that ends the goroutine gives the delivery away.
func (e *emitter) told(ctx context.Context, to *recipient) {
	if *to == toldAll {
		return
	}
	switch v := recover(); {
	case v == nil:
		e.abandon()
	case *to == toHook:
		*to = toFollowers
		within{e}.Emit(ctx, hook.FailureEvent(panicOf(hook.PointOnEvent, v)))
	case *to == toObserver:
		*to = toldAll
		e.dropObserver()
		within{e}.Emit(ctx, hook.Event{Kind: hook.EventDiagnostic, Text: "the observer of the turn panicked and is not called again"})
	default:
		e.abandon()
		panic(v)
	}
}

func (e *emitter) dropObserver() {
	e.lock()
	defer e.mu.Unlock()
	e.observer = nil
	e.unobserveLocked()
}

// unobserveLocked has no observer told of what is queued.
func (e *emitter) unobserveLocked() {
	queue := e.queuedLocked()
	for i := range queue {
		queue[i].observer = nil
	}
}
