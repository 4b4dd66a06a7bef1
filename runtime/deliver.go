package runtime

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Events are delivered by whoever emits one while nobody delivers; what others
// emit meanwhile is queued for it. The queue is bounded: who emits into a full one
// waits until there is room or its context ends, and may then be given the delivery,
// so that nobody delivers for others for ever. The loop comes first: it gets the
// delivery after the event that is being delivered.
//
// The delivery is taken away from who does not come back from a hook or an observer
// although the turn is over. Every delivery has a generation: who finds another one
// when it comes back touches nothing any more. A child shares the delivery with the
// turn that runs it, and takes it away from nobody but its own loop.
//
// Who has the delivery never waits for room in the queue, which nobody else empties.

const (
	// maxQueue is how many events are queued, and maxQueueBytes how many bytes of
	// them, before who emits has to wait.
	maxQueue      = 1024
	maxQueueBytes = 1 << 20
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
	// wanted are those who want to hold the delivery, the first one first.
	wanted []*claim
	// waiters emit and wait because the queue is full.
	waiters []*claim
}

// claim is somebody who waits for the delivery, or for room in the queue.
type claim struct {
	// turn is the one whose loop waits; nil for anybody else.
	turn *turn
	// answer comes once, and is sent while the emitter is locked: true gives the delivery,
	// of the generation gen.
	answer chan bool
	gen    uint32
}

func newClaim(t *turn) *claim { return &claim{turn: t, answer: make(chan bool, 1)} }

// giveLocked gives the delivery to the claim.
func (e *emitter) giveLocked(c *claim) {
	e.by, c.gen = c.turn, e.gen.Load()
	c.answer <- true
}

// without takes the claim out of the list; false if it was not there, because it has its
// answer.
func without(list []*claim, c *claim) ([]*claim, bool) {
	i := slices.Index(list, c)
	if i < 0 {
		return list, false
	}
	return slices.Delete(list, i, i+1), true
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
	if ev.Kind == event.CallResult || ev.Kind == event.CallStart {
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
	e.mu.Lock()
	if e.pendingFullLocked() && kept(ev.Kind) {
		e.mu.Unlock()
		_ = e.flush(ctx) // what is not written is tried again with the next write
		e.mu.Lock()
	}
	var mine *claim // gives the delivery to this goroutine
	waits := as&inside == 0 && e.fullLocked()
	if waits {
		mine = e.awaitRoomLocked(ctx, as.loop(ctx))
	}
	if (waits || as&own != 0) && leftBehind(ctx) { // meanwhile
		e.mu.Unlock()
		e.drainAs(mine)
		return
	}
	observer := e.stampLocked(ev, as, from == e)
	if e.delivering {
		l, size := e.lineLocked(), eventSize(ev)
		l.queue = append(l.queue, queuedEvent{from, ctx, *ev, observer, size})
		l.bytes += size
		e.mu.Unlock()
		e.drainAs(mine)
		return
	}
	e.delivering, e.aboutFailure = true, ev.Kind == event.HookFailed
	e.by = as.loop(ctx)
	gen := e.gen.Load()
	e.mu.Unlock()
	e.deliver(ctx, from.heard(), ev, observer, gen)
	e.handBack(gen)
}

// handBack delivers what has been queued and gives the delivery away. Mostly nothing
// is queued: the way there touches no queued event.
func (e *emitter) handBack(gen uint32) {
	e.mu.Lock()
	if e.gen.Load() != gen {
		e.mu.Unlock()
		return
	}
	if len(e.queuedLocked()) == 0 {
		e.releaseLocked()
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	e.drain(whole, gen)
}

func (e *emitter) fullLocked() bool {
	return e.line != nil && e.delivering && (len(e.line.queue) >= maxQueue || e.line.bytes >= maxQueueBytes)
}

// awaitRoomLocked waits until there is room in the queue or ctx ends. A claim gives the
// caller, which is the loop of t if there is one, the delivery.
func (e *emitter) awaitRoomLocked(ctx context.Context, t *turn) *claim {
	for e.fullLocked() {
		w := newClaim(t)
		e.line.waiters = append(e.line.waiters, w)
		e.mu.Unlock()
		mine, over := false, false
		select {
		case mine = <-w.answer:
		case <-ctx.Done():
			over = true
		}
		e.mu.Lock()
		if over && !e.line.leave(w) {
			mine = <-w.answer // it came in the same moment
		}
		if mine {
			return w
		}
		if over {
			break
		}
	}
	return nil
}

// drainAs delivers what is queued if the claim gives the delivery; nil gives none.
func (e *emitter) drainAs(c *claim) {
	if c != nil {
		e.drain(whole, c.gen)
	}
}

// whole drains the queue to its end.
const whole = math.MaxInt

// drain delivers up to n events that are queued. The caller has the delivery, and
// afterwards only if there were so many.
func (e *emitter) drain(n int, gen uint32) {
	var q queuedEvent
	for i := 0; i < n && e.next(&q, i, n, gen); i++ {
		e.deliver(q.ctx, q.from.heard(), &q.ev, q.observer, gen)
	}
}

// next takes the oldest queued event as the i-th of those that the caller
// delivers. False if the delivery is over or somebody else's now.
func (e *emitter) next(q *queuedEvent, i, n int, gen uint32) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.line
	switch {
	case e.gen.Load() != gen:
		return false
	case l == nil || len(l.queue) == 0 || n == whole && len(l.wanted) > 0:
		e.releaseLocked()
		return false
	case n == whole && i >= maxQueue && len(l.waiters) > 0:
		e.giveLocked(l.waiters[0])
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
	e.aboutFailure = q.ev.Kind == event.HookFailed
	return true
}

// leave takes out one of those who wait; false if it has been told already.
func (l *line) leave(w *claim) (left bool) {
	if l != nil {
		l.waiters, left = without(l.waiters, w)
	}
	return left
}

// wake tells those who wait that there is room.
func (l *line) wake() {
	for _, w := range l.waiters {
		w.answer <- false
	}
	l.waiters = nil
}

// releaseLocked gives the delivery to who wants to hold it, otherwise to nobody: then
// nothing is queued, and those who wait for room have it.
func (e *emitter) releaseLocked() {
	l := e.line
	if l != nil && len(l.wanted) > 0 {
		e.giveLocked(l.wanted[0])
		l.wanted = slices.Delete(l.wanted, 0, 1)
		return
	}
	e.delivering, e.by = false, nil
	if l != nil {
		l.wake()
		e.line = nil
	}
}

// drop gives the delivery away and drops what is queued.
func (e *emitter) drop(gen uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gen.Load() != gen {
		return
	}
	if l := e.line; l != nil {
		l.queue, l.bytes = nil, 0
	}
	e.releaseLocked()
}

// hold stops deliveries until release, so that what is emitted in between is
// written down before anybody is told. It waits for who delivers until ctx ends, or
// until the loop of t, which calls it, is left behind; t is nil for anybody else. False
// says that it has not got the delivery then.
func (e *emitter) hold(ctx context.Context, t *turn) (gen uint32, ok bool) {
	e.mu.Lock()
	if !e.delivering {
		e.delivering, e.by = true, t
		gen = e.gen.Load()
		e.mu.Unlock()
		return gen, true
	}
	c := e.wantLocked(t)
	e.mu.Unlock()
	select {
	case ok = <-c.answer:
	case <-ctx.Done():
		ok = e.withdraw(c)
	}
	return c.gen, ok
}

// want is hold for the owner of the child t, whose loop was left behind. It does not wait,
// and asks withdraw later whether it has the delivery. It takes the delivery away from that
// loop, but from nobody else.
func (e *emitter) want(t *turn) *claim {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.delivering && e.by != t:
		return e.wantLocked(nil)
	case e.delivering:
		e.gen.Add(1)
	}
	e.delivering = true
	c := newClaim(nil)
	e.giveLocked(c)
	return c
}

func (e *emitter) wantLocked(t *turn) *claim {
	c, l := newClaim(t), e.lineLocked()
	l.wanted = append(l.wanted, c)
	return c
}

// withdraw takes the claim back. True if it had the delivery before: then the caller has.
func (e *emitter) withdraw(c *claim) (mine bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l := e.line; l != nil {
		waits := false
		if l.wanted, waits = without(l.wanted, c); waits {
			return false
		}
	}
	return <-c.answer // it came before: nothing is waited for
}

// seize is hold for the owner of the turn t, whose loop was left behind and wants nothing
// any more. When the wait is over, it takes the delivery away from who has it.
func (e *emitter) seize(t *turn, wait time.Duration) *claim {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	e.mu.Lock()
	if l := e.line; l != nil {
		l.wanted = slices.DeleteFunc(l.wanted, func(c *claim) bool {
			if c.turn == t {
				c.answer <- false
			}
			return c.turn == t
		})
	}
	e.mu.Unlock()
	if gen, ok := e.hold(ctx, nil); ok {
		return &claim{gen: gen}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.delivering, e.by = true, nil
	return &claim{gen: e.gen.Add(1)}
}

// queued is how many events wait.
func (e *emitter) queued() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queuedLocked())
}

// waits reports whether the event with that sequence is queued.
func (e *emitter) waits(seq uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.queuedLocked(), func(q queuedEvent) bool { return q.ev.Seq == seq })
}

// drainToFollowers gives the delivery away and tells only those who follow of what is
// queued.
func (e *emitter) drainToFollowers(gen uint32) {
	var q queuedEvent
	for i := 0; e.next(&q, i, whole, gen); i++ {
		if !q.ev.Internal() {
			e.rt.streams.Put(&q.ev)
		}
	}
}

// putOnce tells those who follow of an event of this conversation unless they know it.
func (e *emitter) putOnce(ev *hook.Event) {
	if at, told := e.rt.streams.End(ev.Conversation); !told || at.Seq < ev.Seq {
		e.rt.streams.Put(ev)
	}
}

// release delivers what has come up since hold.
func (e *emitter) release(gen uint32) { e.drain(whole, gen) }

// announce has the event written before anybody is told of it, with whatever else
// the store does not have yet. If that fails they are told instead what did not happen.
func (e *emitter) announce(ctx context.Context, ev hook.Event, instead string, write func([]store.Event) error) error {
	gen, ok := e.hold(ctx, nil)
	if !ok {
		return context.Cause(ctx)
	}
	defer e.release(gen)
	return e.record(context.WithoutCancel(ctx), ev, instead, write)
}

// record is announce for who holds the delivery.
func (e *emitter) record(ctx context.Context, ev hook.Event, instead string, write func([]store.Event) error) error {
	e.post(ctx, &ev, inside)
	err := e.write(write)
	if err == nil {
		return nil
	}
	e.mu.Lock()
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
		ev.Kind, ev.Text = event.Diagnostic, instead
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
func (e *emitter) deliver(ctx context.Context, h hook.Hook, ev *hook.Event, observer func(hook.Event), gen uint32) {
	for to := toHook; to != toldAll; {
		e.tell(ctx, h, ev, observer, &to, gen)
	}
}

// tell goes on with who is next. If one of them panics it returns behind that one: so
// one deferred function serves all of them.
func (e *emitter) tell(ctx context.Context, h hook.Hook, ev *hook.Event, observer func(hook.Event), to *recipient, gen uint32) {
	defer e.told(ctx, to, gen)
	if *to == toHook {
		h.OnEvent(ctx, *ev)
		*to = toFollowers
	}
	if !ev.Internal() && e.gen.Load() == gen {
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
func (e *emitter) told(ctx context.Context, to *recipient, gen uint32) {
	if *to == toldAll {
		return
	}
	v := recover()
	switch {
	case v == nil:
		e.drop(gen)
	case e.gen.Load() != gen: // who has taken the delivery has told of it
		*to = toldAll
	case *to == toHook:
		*to = toFollowers
		within{e}.Emit(ctx, hook.FailureEvent(panicOf(point.OnEvent, v)))
	case *to == toObserver:
		*to = toldAll
		e.dropObserver()
		within{e}.Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "the observer of the turn panicked and is not called again"})
	default:
		e.drop(gen)
		panic(v)
	}
}

func (e *emitter) dropObserver() {
	e.mu.Lock()
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
