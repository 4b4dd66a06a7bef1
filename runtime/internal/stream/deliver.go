package stream

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// Whoever emits an event while nobody delivers gets the delivery: it tells the listeners
// of its event and of those that others emit meanwhile. These are queued. The queue is
// bounded: whoever emits into a full one waits for room, and may then get the delivery, so
// that nobody delivers for others for ever. A loop that wants the delivery comes first: it
// gets it after the event that is being delivered.
//
// The holder of the delivery never waits for room in the queue, because only the holder
// makes room.
//
// A loop that was left behind loses the delivery. Each delivery has a generation: a
// holder that comes back and finds another generation touches nothing any more. A child
// shares the delivery with the turn that runs it, and takes it away from no loop but its
// own.

const (
	// maxQueue is how many events are queued, and maxQueueBytes how many bytes of them,
	// before an emitter has to wait.
	maxQueue      = 1024
	maxQueueBytes = 1 << 20
)

// delivery is guarded by Log.mu.
type delivery struct {
	// busy says that somebody has the delivery, by is the loop that has it (nil for
	// anybody else), and gen counts how often it was taken away.
	busy bool
	by   Loop
	gen  uint32
	// aboutFailure says that the event that is being delivered tells of a hook's failure.
	aboutFailure bool
	queue        []queued
	// bytes is the size of the queue.
	bytes int
	// holders want to hold the delivery, and emitters wait for room in the queue; the
	// first one comes first.
	holders, emitters []*Claim
}

// queued is an event that waits to be delivered.
type queued struct {
	from     *Log
	ctx      context.Context
	ev       hook.Event
	observer func(hook.Event)
}

// Claim is somebody who waits for the delivery, or for room in the queue.
type Claim struct {
	log  *Log
	loop Loop
	// answer gets one value, sent while the log is locked: true gives the delivery of the
	// generation gen.
	answer chan bool
	gen    uint32
}

func newClaim(l *Log, loop Loop) *Claim {
	return &Claim{log: l, loop: loop, answer: make(chan bool, 1)}
}

// Delivery is the right to deliver. It may have been taken away meanwhile.
type Delivery struct {
	log *Log
	gen uint32
}

// without returns the list without the claim, and whether it was there: if not, the claim
// has its answer.
func without(list []*Claim, c *Claim) ([]*Claim, bool) {
	i := slices.Index(list, c)
	if i < 0 {
		return list, false
	}
	return slices.Delete(list, i, i+1), true
}

// giveTo gives the delivery to the claim.
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
	d.queue[0] = queued{} // so that it can be freed
	d.bytes -= eventSize(&q.ev)
	if d.queue = d.queue[1:]; len(d.queue) == 0 {
		d.queue = nil
	}
	if len(d.queue) <= maxQueue/2 && d.bytes <= maxQueueBytes/2 {
		d.wakeEmitters()
	}
	return q
}

// wakeEmitters tells emitters that there is room in the queue.
func (d *delivery) wakeEmitters() {
	for _, c := range d.emitters {
		c.answer <- false
	}
	d.emitters = nil
}

// release gives the delivery to the first holder that waits, or to nobody.
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
	if l.unkept.full() && kept(ev.Kind) {
		l.mu.Unlock()
		_ = l.writeAlone(ctx) // the next write tries again
		l.mu.Lock()
	}
	var mine *Claim // gives the delivery to this goroutine
	waits := !how.Inside && l.delivery.full()
	if waits {
		mine = l.awaitRoomLocked(ctx, how.owner())
	}
	if (waits || how.Own) && how.leftBehind() { // meanwhile
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
	holder.deliver(ctx, from.listeners(), ev, observer)
	holder.Release()
}

// awaitRoomLocked waits until there is room in the queue or ctx ends. If it returns a
// claim, that gives the delivery to the caller, which is the loop if that is not nil.
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
				mine = <-c.answer // it came in the same moment
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

// release releases the delivery that the claim gives; a nil claim gives none.
func (c *Claim) release() {
	if c != nil {
		Delivery{c.log, c.gen}.Release()
	}
}

// Hold gets the delivery, so that what is emitted until Release is written down before
// anybody is told of it. It waits until ctx ends, or until the loop that calls it is left
// behind; the loop is nil for any other caller. False says that it has not got the
// delivery.
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

// claimLocked asks for the delivery.
func (l *Log) claimLocked(loop Loop) *Claim {
	c := newClaim(l, loop)
	if l.delivery.busy {
		l.delivery.holders = append(l.delivery.holders, c)
	} else {
		l.delivery.giveTo(c)
	}
	return c
}

// ClaimFor is Hold for the owner of a child's loop that was left behind. It does not wait;
// Withdraw says later whether it got the delivery. It takes the delivery away from that
// loop, and from nobody else.
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

// Withdraw takes the claim back. True says that it got the delivery before: then the
// caller has it.
func (c *Claim) Withdraw() (Delivery, bool) {
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	waited := false
	if l.delivery.holders, waited = without(l.delivery.holders, c); waited {
		return Delivery{}, false
	}
	return Delivery{l, c.gen}, <-c.answer // which is there: nothing is waited for
}

// Seize is Hold for the owner of a loop that was left behind. When the wait is over it
// takes the delivery away from its holder.
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

// heldLocked reports whether nobody has taken the delivery away.
func (d Delivery) heldLocked() bool { return d.log.delivery.gen == d.gen }

// Held reports whether nobody has taken the delivery away.
func (d Delivery) Held() bool {
	d.log.mu.Lock()
	defer d.log.mu.Unlock()
	return d.heldLocked()
}

// Release delivers what is queued and gives the delivery away. A loop that wants it gets
// it at once.
func (d Delivery) Release() {
	for n := 0; ; n++ {
		q, ok := d.next(n)
		if !ok {
			return
		}
		d.deliver(q.ctx, q.from.listeners(), &q.ev, q.observer)
	}
}

// next returns the oldest queued event for a holder that has delivered n. False says that
// there is none, that the delivery was given to somebody else, or that it was taken away.
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

// DeliverQueued delivers the events that are queued now, and keeps the delivery. False
// says that it was taken away.
func (d Delivery) DeliverQueued() bool { return d.deliverUpTo(d.log.queuedEvents()) }

// DeliverAll delivers until nothing is queued, and keeps the delivery unless it is taken
// away.
func (d Delivery) DeliverAll() { d.deliverUpTo(math.MaxInt) }

func (d Delivery) deliverUpTo(n int) bool {
	for range n {
		q, ok := d.pop()
		if !ok {
			break
		}
		d.deliver(q.ctx, q.from.listeners(), &q.ev, q.observer)
	}
	return d.Held()
}

// pop returns the oldest queued event; false if there is none or the delivery was taken
// away.
func (d Delivery) pop() (q queued, ok bool) {
	d.log.mu.Lock()
	defer d.log.mu.Unlock()
	if !d.heldLocked() || len(d.log.delivery.queue) == 0 {
		return q, false
	}
	return d.popLocked(), true
}

// ReleaseToFollowers gives the delivery away. Only those who follow are told of what is
// queued.
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

// drop gives the delivery away and drops what is queued.
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

// Queued reports whether the event of that number waits to be delivered.
func (l *Log) Queued(seq uint64) bool {
	top := l.Top()
	top.mu.Lock()
	defer top.mu.Unlock()
	return slices.ContainsFunc(top.delivery.queue, func(q queued) bool { return q.ev.Seq == seq })
}

// TellFollowers tells those who follow of an event, unless they know it.
func (l *Log) TellFollowers(ev *hook.Event) {
	if at, told := l.o.Hub.End(ev.Conversation); !told || at.Seq < ev.Seq {
		l.o.Hub.Put(ev)
	}
}

// End ends the turn for the loop that calls it: it returns when everything that was
// emitted in the turn is delivered.
func (l *Log) End(ctx context.Context, loop Loop) {
	d, ok := l.Hold(ctx, loop)
	if ok && d.DeliverQueued() {
		l.EndTurn()
		d.Release()
	}
}
