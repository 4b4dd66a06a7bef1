package stream

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// One goroutine at a time holds the delivery. An emitter that finds it free takes it, and
// delivers its own event and then the events that others queue meanwhile. The queue is
// bounded: an emitter that finds it full waits for room. It may then be given the delivery,
// so that no goroutine delivers the events of others for ever. A loop that asks for the
// delivery comes first: it gets it after the current event.
//
// The holder of the delivery never waits for room in the queue, because only the holder
// makes room.
//
// An abandoned loop loses the delivery. Each delivery has a generation: a holder that
// returns from foreign code and finds another generation changes nothing any more. A child
// shares the delivery with the turn that runs it, and takes it away only from its own loop.

const (
	// maxQueue and maxQueueBytes bound the queue. Emitters wait while it has more.
	maxQueue      = 1024
	maxQueueBytes = 1 << 20
)

// delivery is guarded by Log.mu.
type delivery struct {
	// busy: the delivery has a holder.
	busy bool
	// by is the loop that holds the delivery; nil for any other holder.
	by Loop
	// gen counts how often the delivery was taken away.
	gen uint32
	// aboutFailure: the current event reports a hook's failure.
	aboutFailure bool
	queue        []queued
	// bytes is the size of the queue.
	bytes int
	// holders wait for the delivery, emitters for room in the queue; both in order.
	holders, emitters []*Claim
}

// queued is an event that waits to be delivered.
type queued struct {
	from     *Log
	ctx      context.Context
	ev       hook.Event
	observer func(hook.Event)
}

// Claim is a goroutine's wait for the delivery, or for room in the queue.
type Claim struct {
	log  *Log
	loop Loop
	// answer gets one value, sent under the log's lock: true gives the delivery with the
	// generation gen.
	answer chan bool
	gen    uint32
}

func newClaim(l *Log, loop Loop) *Claim {
	return &Claim{log: l, loop: loop, answer: make(chan bool, 1)}
}

// Delivery is the right to deliver. Another goroutine may have taken it away.
type Delivery struct {
	log *Log
	gen uint32
}

// without returns the list without the claim. False: the claim was not in the list and has
// its answer.
func without(list []*Claim, c *Claim) ([]*Claim, bool) {
	i := slices.Index(list, c)
	if i < 0 {
		return list, false
	}
	return slices.Delete(list, i, i+1), true
}

func (d *delivery) giveTo(c *Claim) {
	d.busy, d.by, c.gen = true, c.loop, d.gen
	c.answer <- true
}

func (d *delivery) full() bool {
	return d.busy && (len(d.queue) >= maxQueue || d.bytes >= maxQueueBytes)
}

func (d *delivery) push(q queued) {
	d.queue = append(d.queue, q)
	d.bytes += eventSize(&q.ev)
}

func (d *delivery) pop() queued {
	q := d.queue[0]
	d.queue[0] = queued{} // lets the event be freed
	d.bytes -= eventSize(&q.ev)
	if d.queue = d.queue[1:]; len(d.queue) == 0 {
		d.queue = nil
	}
	if len(d.queue) <= maxQueue/2 && d.bytes <= maxQueueBytes/2 {
		d.wakeEmitters()
	}
	return q
}

func (d *delivery) wakeEmitters() {
	for _, c := range d.emitters {
		c.answer <- false
	}
	d.emitters = nil
}

// release gives the delivery to the first waiting holder, or makes it free.
func (d *delivery) release() {
	if len(d.holders) > 0 {
		d.giveTo(d.holders[0])
		d.holders = slices.Delete(d.holders, 0, 1)
		return
	}
	d.busy, d.by = false, nil
	d.wakeEmitters()
}

// take numbers the event of the log from, and delivers or queues it.
func (l *Log) take(ctx context.Context, from *Log, ev *hook.Event, how How) {
	l.mu.Lock()
	if l.unkept.due() && kept(ev.Kind) {
		l.mu.Unlock()
		if err := l.writeAlone(ctx); err != nil { // the next write tries again
			l.o.Owner.WriteFailed(err)
		}
		l.mu.Lock()
	}
	var mine *Claim // not nil: this goroutine holds the delivery
	waits := !how.Inside && l.delivery.full()
	if waits {
		mine = l.awaitRoomLocked(ctx, how.owner())
	}
	if (waits || how.Own) && how.abandoned() { // during the wait
		l.mu.Unlock()
		mine.release()
		return
	}
	observer := l.stampLocked(from, ev, how)
	d := &l.delivery
	if d.busy {
		d.push(queued{from, ctx, *ev, observer})
		l.mu.Unlock()
		mine.release()
		return
	}
	d.busy, d.by, d.aboutFailure = true, how.owner(), ev.Kind == event.HookFailed
	holder := Delivery{l, d.gen}
	l.mu.Unlock()
	holder.deliverFrom(ctx, from, ev, observer)
	holder.Release()
}

// awaitRoomLocked waits until there is room in the queue or ctx ends. If it returns a
// claim, the caller holds the delivery. loop is the caller's loop, or nil.
func (l *Log) awaitRoomLocked(ctx context.Context, loop Loop) *Claim {
	d := &l.delivery
	for d.full() {
		c := newClaim(l, loop)
		d.emitters = append(d.emitters, c)
		l.mu.Unlock()
		mine, over := false, false
		select {
		case mine = <-c.answer:
		case <-ctx.Done():
			over = true
		}
		l.mu.Lock()
		if over {
			waited := false
			if d.emitters, waited = without(d.emitters, c); !waited {
				mine = <-c.answer // sent at the same moment
			}
		}
		switch {
		case mine:
			return c
		case over:
			return nil
		}
	}
	return nil
}

// release releases the delivery that the claim got; a nil claim got none.
func (c *Claim) release() {
	if c != nil {
		Delivery{c.log, c.gen}.Release()
	}
}

// Hold waits for the delivery. The holder can store events before Release delivers them.
// Hold returns false without the delivery when ctx ends, or when the calling loop is
// abandoned. loop is nil for callers that are no loop.
func (l *Log) Hold(ctx context.Context, loop Loop) (Delivery, bool) {
	top := l.Top()
	top.mu.Lock()
	if d := &top.delivery; !d.busy {
		d.busy, d.by = true, loop
		held := Delivery{top, d.gen}
		top.mu.Unlock()
		return held, true
	}
	c := top.claimLocked(loop)
	top.mu.Unlock()
	ok := false
	select {
	case ok = <-c.answer:
	case <-ctx.Done():
		return c.Withdraw()
	}
	return Delivery{top, c.gen}, ok
}

// claimLocked takes the delivery if it is free, and else queues for it.
func (l *Log) claimLocked(loop Loop) *Claim {
	c := newClaim(l, loop)
	if l.delivery.busy {
		l.delivery.holders = append(l.delivery.holders, c)
	} else {
		l.delivery.giveTo(c)
	}
	return c
}

// ClaimFor is Hold for the owner of an abandoned child's loop. It does not wait; Withdraw
// returns the delivery later if the claim got it. ClaimFor takes the delivery away from
// that loop only.
func (l *Log) ClaimFor(loop Loop) *Claim {
	top := l.Top()
	top.mu.Lock()
	defer top.mu.Unlock()
	if d := &top.delivery; d.busy && d.by == loop {
		d.gen++
		d.busy = false
	}
	return top.claimLocked(nil)
}

// Withdraw takes the claim back. If the claim had got the delivery before, Withdraw returns
// it and true; the caller then holds it.
func (c *Claim) Withdraw() (Delivery, bool) {
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	waited := false
	if l.delivery.holders, waited = without(l.delivery.holders, c); waited {
		return Delivery{}, false
	}
	return Delivery{l, c.gen}, <-c.answer // sent already: no wait
}

// Seize is Hold for the owner of an abandoned loop. After the wait it takes the delivery
// away from any holder.
func (l *Log) Seize(loop Loop, wait time.Duration) Delivery {
	top := l.Top()
	top.mu.Lock()
	d := &top.delivery
	d.holders = slices.DeleteFunc(d.holders, func(c *Claim) bool {
		if c.loop == loop {
			c.answer <- false
		}
		return c.loop == loop
	})
	top.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if held, ok := top.Hold(ctx, nil); ok {
		return held
	}
	top.mu.Lock()
	defer top.mu.Unlock()
	d.busy, d.by = true, nil
	d.gen++
	return Delivery{top, d.gen}
}

// TakeAway takes the delivery away from its holder and returns the new one.
func (d Delivery) TakeAway() Delivery {
	l := d.log
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delivery.gen++
	return Delivery{l, l.delivery.gen}
}

// heldLocked is [Delivery.Held].
func (d Delivery) heldLocked() bool { return d.log.delivery.gen == d.gen }

// Held reports whether d is still the delivery: no other goroutine took it away.
func (d Delivery) Held() bool {
	d.log.mu.Lock()
	defer d.log.mu.Unlock()
	return d.heldLocked()
}

// Release delivers the queue and gives the delivery back. A waiting holder gets it at once,
// with the rest of the queue.
func (d Delivery) Release() {
	for n := 0; ; n++ {
		q, ok := d.next(n)
		if !ok {
			return
		}
		d.deliverFrom(q.ctx, q.from, &q.ev, q.observer)
	}
}

// next returns the oldest queued event to a holder that has delivered n events. It returns
// false if the queue is empty, or if the caller no longer holds the delivery.
func (d Delivery) next(n int) (q queued, ok bool) {
	l := d.log
	l.mu.Lock()
	defer l.mu.Unlock()
	own := &l.delivery
	switch {
	case !d.heldLocked():
		return q, false
	case len(own.queue) == 0 || len(own.holders) > 0:
		own.release()
		return q, false
	case n >= maxQueue && len(own.emitters) > 0:
		own.giveTo(own.emitters[0])
		own.emitters = slices.Delete(own.emitters, 0, 1)
		return q, false
	}
	return d.popLocked(), true
}

func (d Delivery) popLocked() queued {
	q := d.log.delivery.pop()
	d.log.delivery.aboutFailure = q.ev.Kind == event.HookFailed
	return q
}

// DeliverQueued delivers the events that are queued now, and keeps the delivery. It returns
// false if another goroutine took the delivery away.
func (d Delivery) DeliverQueued() bool { return d.deliverUpTo(d.log.queuedEvents()) }

// DeliverAll delivers until the queue is empty. The caller keeps the delivery, unless
// another goroutine takes it away.
func (d Delivery) DeliverAll() { d.deliverUpTo(math.MaxInt) }

func (d Delivery) deliverUpTo(n int) bool {
	for range n {
		q, ok := d.pop()
		if !ok {
			break
		}
		d.deliverFrom(q.ctx, q.from, &q.ev, q.observer)
	}
	return d.Held()
}

// pop returns the oldest queued event. It returns false if there is none, or if the caller
// no longer holds the delivery.
func (d Delivery) pop() (q queued, ok bool) {
	d.log.mu.Lock()
	defer d.log.mu.Unlock()
	if !d.heldLocked() || len(d.log.delivery.queue) == 0 {
		return q, false
	}
	return d.popLocked(), true
}

// ReleaseToFollowers is Release, but delivers the queued events to followers only, not to
// hooks and observers.
func (d Delivery) ReleaseToFollowers() {
	for n := 0; ; n++ {
		q, ok := d.next(n)
		if !ok {
			return
		}
		if !q.ev.Internal() {
			d.log.o.Hub.Put(&q.ev)
		}
	}
}

// drop gives the delivery back and drops the queue.
func (d Delivery) drop() {
	l := d.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.heldLocked() {
		l.delivery.queue, l.delivery.bytes = nil, 0
		l.delivery.release()
	}
}

func (l *Log) queuedEvents() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.delivery.queue)
}

// Queued reports whether the event with that number waits in the queue.
func (l *Log) Queued(seq uint64) bool {
	top := l.Top()
	top.mu.Lock()
	defer top.mu.Unlock()
	return slices.ContainsFunc(top.delivery.queue, func(q queued) bool { return q.ev.Seq == seq })
}

// TellFollowers delivers an event to followers, unless they have it already.
func (l *Log) TellFollowers(ev *hook.Event) {
	if at, ok := l.o.Hub.End(ev.Conversation); !ok || at.Seq < ev.Seq {
		l.o.Hub.Put(ev)
	}
}

// End ends the turn for the calling loop. It returns when all events of the turn are
// delivered.
func (l *Log) End(ctx context.Context, loop Loop) {
	d, ok := l.Hold(ctx, loop)
	if ok && d.DeliverQueued() {
		l.EndTurn()
		d.Release()
	}
}
