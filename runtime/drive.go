package runtime

import (
	"context"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// The loop of a turn runs on a goroutine that its owner, who has called Send, can leave
// behind: a hook, an observer, a model or an inline tool that ignores its context holds
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
	// inline is the call of the inline tool that the loop is away to.
	inline atomic.Pointer[execution]
}

// The parts of fence.state.
const (
	fenceClosed = 1 << 63
	fenceCount  = 1 << 8
	fencePoint  = fenceCount - 1
	// toInline is in the place of a point.
	toInline hook.Point = fencePoint
)

// away says that the loop is about to call foreign code. A nil turn has no loop.
func (t *turn) away(p hook.Point) {
	if t == nil {
		return
	}
	if n := t.fence.state.Load(); n&fenceClosed == 0 {
		t.fence.state.Store((n+fenceCount)&^fencePoint | uint64(p))
	}
}

// awayInline is away for the call of an inline tool.
func (t *turn) awayInline(x *execution) {
	if t != nil {
		t.fence.inline.Store(x)
		t.away(toInline)
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
	if key == (scopeKey{}) {
		return s.turn
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
	if key == (scopeKey{}) {
		return l.turn
	}
	return context.WithoutCancel(l.turn.scope.Context).Value(key)
}

// leftBehind reports whether the context is of a turn whose loop was left behind: what
// comes from there is of no turn any more, and not of the next one.
func leftBehind(ctx context.Context) bool {
	t, _ := ctx.Value(scopeKey{}).(*turn)
	return t != nil && t.fence.closed()
}

// turnJob is what a loop has to do.
type turnJob struct {
	do func(*turn) hook.TurnOutcome
	in hook.Input
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
// if the loop was left behind. ctx is what ends with the turn's cancellation.
func (t *turn) drive(ctx context.Context) *turn {
	d := t.rt.drivers.get()
	d.work <- t
	for {
		select {
		case <-d.over:
			return t.driven(d)
		case ctx = <-d.contexts:
		case <-ctx.Done():
			if t.endsInTime(d) {
				return t.driven(d)
			}
			return t.endLeft()
		}
	}
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

// looks is how often a cancelled turn is looked at in a grace period.
const looks = 8

// endsInTime waits for the loop of a cancelled turn. It is left behind, and the answer
// is false, if the same call of foreign code holds it for the grace period, or any when
// two are over.
func (t *turn) endsInTime(d *driver) bool {
	grace := t.grace()
	every := max(grace/looks, time.Millisecond)
	tick := time.NewTicker(every)
	defer tick.Stop()
	began, since := time.Now(), time.Now()
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
		if (time.Since(since) >= grace || time.Since(began) >= 2*grace) && t.leaveBehind(now) {
			return false
		}
	}
}
