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
		size := eventSize(ev)
		e.queue = append(e.queue, queuedEvent{from, ctx, *ev, observer, size})
		e.queueBytes += size
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
	if len(e.queue) == 0 {
		e.releaseLocked()
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	e.drain(whole)
}

func (e *emitter) fullLocked() bool {
	return e.delivering && (len(e.queue) >= maxQueue || e.queueBytes >= maxQueueBytes)
}

// awaitRoomLocked waits until there is room in the queue, ctx ends or maxWait is
// over; true gives the caller the delivery.
func (e *emitter) awaitRoomLocked(ctx context.Context) (mine bool) {
	late := time.NewTimer(maxWait)
	defer late.Stop()
	for over := false; e.fullLocked() && !mine && !over; {
		w := make(chan bool, 1)
		e.waiters = append(e.waiters, w)
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
		if i := slices.Index(e.waiters, w); i >= 0 {
			e.waiters = slices.Delete(e.waiters, i, i+1)
		} else {
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
	switch {
	case len(e.queue) == 0 || n == whole && e.wanted != nil:
		e.releaseLocked()
		return false
	case n == whole && i >= maxQueue && len(e.waiters) > 0:
		e.waiters[0] <- true
		e.waiters = slices.Delete(e.waiters, 0, 1)
		return false
	}
	*q = e.queue[0]
	e.queueBytes -= q.size
	e.queue[0] = queuedEvent{}
	if e.queue = e.queue[1:]; len(e.queue) == 0 {
		e.queue = nil // and what was in it can go
	}
	if len(e.queue) <= maxQueue/2 && e.queueBytes <= maxQueueBytes/2 {
		e.wakeLocked()
	}
	e.aboutFailure = q.ev.Kind == hook.EventHookFailed
	return true
}

// wakeLocked tells those who wait that there is room.
func (e *emitter) wakeLocked() {
	for _, w := range e.waiters {
		w <- false
	}
	e.waiters = nil
}

// releaseLocked gives the delivery to the loop if it wants it, otherwise to nobody.
func (e *emitter) releaseLocked() {
	if e.wanted != nil {
		close(e.wanted)
		e.wanted = nil
		return
	}
	e.delivering = false
	e.wakeLocked()
}

func (e *emitter) abandon() {
	e.lock()
	e.queue, e.queueBytes = nil, 0
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
	e.wanted = wanted
	e.mu.Unlock()
	<-wanted
}

// release delivers what has come up since hold.
func (e *emitter) release() { e.drain(whole) }

// announce has the event written before anybody is told of it, with whatever else
// the store does not have yet. If that fails they are told so instead.
func (e *emitter) announce(ctx context.Context, ev hook.Event, write func([]store.Event) error) error {
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
	for i := range e.queue {
		e.queue[i].observer = nil
	}
}
