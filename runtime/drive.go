package runtime

import (
	"context"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// The loop of a turn runs on a goroutine that its owner, who has called Send, can leave
// behind: a hook, an observer or a model that ignores its context holds
// a cancelled turn for the grace period and no longer. Around every call of foreign
// code the loop says that it is away. Who leaves it behind closes its fence while it is
// away, so that it comes back to a closed fence and ends its goroutine: it touches
// neither the turn nor the conversation any more. The owner ends the turn in its place;
// see abandoned_turn.go. The goroutines are kept for the next turn, because a fresh one
// has to grow its stack.

// fence is between the loop of a turn and who can leave it behind. Only the loop's
// goroutine goes away and comes back.
type fence struct {
	// state is a count of the times that the loop has gone away or come back, above the
	// point where it is away to; 0 while it runs.
	state atomic.Uint64
}

// The parts of fence.state.
const (
	fenceClosed = 1 << 63
	fenceCount  = 1 << 8
	fencePoint  = fenceCount - 1
)

// away says that the loop is about to call foreign code. A nil turn has no loop.
// What the call is handed is read before: the turn may be its successor's from here on.
func (t *turn) away(p hook.Point) {
	if t == nil {
		return
	}
	if n := t.fence.state.Load(); n&fenceClosed == 0 {
		t.fence.state.Store((n+fenceCount)&^fencePoint | uint64(p))
	}
}

// back says that the loop is back; false if it was left behind.
func (t *turn) back() bool {
	if t == nil {
		return true
	}
	n := t.fence.state.Load()
	return n&fenceClosed == 0 && t.fence.state.CompareAndSwap(n, (n+fenceCount)&^fencePoint)
}

// returned is back. It ends the goroutine of a loop that was left behind.
func (t *turn) returned() {
	if !t.back() {
		goruntime.Goexit()
	}
}

// caught is deferred around a call of the hook, behind away: a panic becomes *err.
func (t *turn) caught(p hook.Point, err *error) {
	v := recover()
	t.returned()
	if v != nil {
		*err = panicOf(p, v)
	} else if *err != nil {
		*err = failureOf(p, *err)
	}
}

func (f *fence) closed() bool { return f.state.Load()&fenceClosed != 0 }

// scope is the context of a turn, by which hosts know who asks them.
type scope struct {
	context.Context
	turn *turn
}

type scopeKey struct{}

// Value implements context.Context.
func (s *scope) Value(key any) any {
	switch key {
	case scopeKey{}:
		return s.turn
	case sideKey{}: // a run beside a turn may have started this one
		return nil
	}
	return s.Context.Value(key)
}

// lasting is a turn's context without its end. It is part of the turn, because one of
// context.WithoutCancel is an allocation.
type lasting struct{ turn *turn }

// Deadline implements context.Context.
func (lasting) Deadline() (at time.Time, ok bool) { return at, false }

// Done implements context.Context.
func (lasting) Done() <-chan struct{} { return nil }

// Err implements context.Context.
func (lasting) Err() error { return nil }

// Value implements context.Context.
func (l *lasting) Value(key any) any {
	return l.turn.scope.Value(key)
}

// leftBehind reports whether the context is of a turn whose loop was left behind: what
// comes from there is of no turn any more, and not of the next one. A run beside a turn
// is not left behind with it.
func leftBehind(ctx context.Context) bool {
	t, _ := ctx.Value(scopeKey{}).(*turn)
	return t != nil && t.fence.closed() && sideOf(ctx) == nil
}

// turnJob is what a loop has to do.
type turnJob struct {
	do func(*turn) hook.TurnOutcome
	in message.Input
	o  SendOptions
	// child says which call has started the turn if it is a child, else nil.
	child *hook.EventDetail
	// was is the turn that was interrupted, and on says that it is gone on with.
	was *interrupted
	on  bool
}

// driver is a goroutine for the loops of turns, one after the other.
type driver struct {
	work chan *turn
	// over tells the owner that the loop has ended.
	over chan struct{}
	// contexts are those with which the loop has bounded its time.
	contexts chan context.Context
}

// maxIdle is how many drivers are kept.
const maxIdle = 64

// drivers are the goroutines that wait for a turn. The zero value is ready.
type drivers struct {
	mu     sync.Mutex
	idle   []*driver
	closed bool
}

func (ds *drivers) get() *driver {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if n := len(ds.idle); n > 0 {
		d := ds.idle[n-1]
		ds.idle[n-1], ds.idle = nil, ds.idle[:n-1]
		return d
	}
	d := &driver{work: make(chan *turn, 1), over: make(chan struct{}, 1), contexts: make(chan context.Context, 1)}
	go d.run()
	return d
}

func (ds *drivers) put(d *driver) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.closed || len(ds.idle) == maxIdle {
		close(d.work)
		return
	}
	ds.idle = append(ds.idle, d)
}

// close ends the goroutines that wait, and those that come back later.
func (ds *drivers) close() {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.closed = true
	for _, d := range ds.idle {
		close(d.work)
	}
	ds.idle = nil
}

func (d *driver) run() {
	for t := range d.work {
		d.play(t)
	}
}

// play runs the loop. If a hook ends the goroutine, the turn has no outcome.
func (d *driver) play(t *turn) {
	t.driver = d
	defer func() {
		if t.fence.closed() {
			t.rt.abandoned.ended(*t.left.Load())
			return
		}
		d.over <- struct{}{}
	}()
	t.out = t.job.do(t)
	t.played = true
}

// limited tells the owner that the loop has bounded its time.
func (t *turn) limited() {
	if t.driver != nil {
		t.driver.contexts <- t.ctx
	}
}

// drive runs the loop of the turn and returns the turn when it has ended: another one
// if the loop was left behind. The owner waits until ctx has ended or the turn's limit of
// time is reached, and then as long as a cancelled turn may take.
func (t *turn) drive(ctx context.Context) *turn {
	t.until = ctx
	d := t.rt.drivers.get()
	d.work <- t
	var limit <-chan struct{}
	for cancelled := false; !cancelled; {
		select {
		case <-d.over:
			return t.driven(d)
		case limited := <-d.contexts:
			limit = limited.Done()
		case <-ctx.Done():
			cancelled = true
		case <-limit:
			cancelled = true
		}
	}
	if t.endsInTime(d) {
		return t.driven(d)
	}
	return t.endLeft()
}

// driven returns the turn whose loop has ended.
func (t *turn) driven(d *driver) *turn {
	if !t.played { // a hook has ended the goroutine
		return t.endUnplayed()
	}
	select {
	case <-d.contexts:
	default:
	}
	t.rt.drivers.put(d)
	return t
}

// looks is how often a cancelled turn is looked at in a grace period, and reserve is how
// many of these looks are left for the end of a turn whose loop is left behind: one until
// the owner looks, one to get the delivery of events, one to tell of the end.
const (
	looks   = 8
	reserve = 3
)

// endsBy is when a cancelled turn has ended at the latest: two grace periods after its
// cancellation. A child has ended by when its parent's loop has to be back.
func (t *turn) endsBy() time.Time {
	if by := t.deadline.Load(); by != nil {
		return *by
	}
	by := time.Now().Add(2 * t.grace())
	if p := t.parent; p != nil && p.deadline.Load() != nil {
		if at := p.leavesAt(); at.Before(by) {
			by = at
		}
	}
	t.deadline.Store(&by)
	return by
}

// leavesAt is when the loop of a cancelled turn is left behind whatever it does.
func (t *turn) leavesAt() time.Time { return t.endsBy().Add(-reserve * t.grace() / looks) }

// toTell is how long hooks and observers may take to be told of the end of a turn whose
// loop was left behind.
func (t *turn) toTell() time.Duration {
	return max(min(t.grace(), time.Until(t.endsBy())), t.grace()/looks)
}

// outOfTime reports whether a cancelled turn has no time to begin with more.
func (t *turn) outOfTime() bool {
	return t.deadline.Load() != nil && time.Until(t.leavesAt()) < t.grace()/looks*reserve
}

// endsInTime waits for the loop of a cancelled turn. It is left behind, and the answer
// is false, if the same call of foreign code holds it for the grace period, or any when
// the time of the turn is nearly over.
func (t *turn) endsInTime(d *driver) bool {
	grace, last := t.grace(), t.leavesAt()
	every := max(grace/looks, time.Millisecond)
	tick := time.NewTicker(every)
	defer tick.Stop()
	since := time.Now()
	at := t.fence.state.Load()
	for {
		select {
		case <-d.over:
			return true
		case <-tick.C:
		}
		now := t.fence.state.Load()
		if now != at {
			at, since = now, time.Now()
		}
		if (time.Since(since) >= grace || !time.Now().Before(last)) && t.leaveBehind(now) {
			return false
		}
	}
}
