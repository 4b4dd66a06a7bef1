// Package drive runs loops on goroutines that their owners can abandon.
//
// The loop of a turn calls foreign code: hooks, observers, models. Foreign code that
// ignores its context holds a cancelled loop for the grace period and no longer: then the
// owner abandons the loop. The loop marks when it enters foreign code and when that
// returns. It can be abandoned only between the two. When the foreign code of an abandoned
// loop returns, the loop ends its goroutine and touches no more state: the owner owns it.
//
// A pool keeps goroutines for the next loop, because a fresh one has to grow its stack.
package drive

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Loop is one run of a loop. The zero Loop has not started. Only the loop's own goroutine
// calls Enter, Back and Return.
type Loop struct {
	// state has the point that the loop has entered in its low bits, 0 in the loop's own
	// code, and above it a count of the calls of Enter and Back.
	state  atomic.Uint64
	worker *worker
	// returned is called when the foreign code of the abandoned loop has returned.
	returned func()
	finished bool
}

// The parts of Loop.state.
const (
	abandoned = 1 << 63
	counted   = 1 << 8
	pointMask = counted - 1
)

// Enter marks that the loop is about to call foreign code at the point. From here on the
// loop may be abandoned, so read the arguments of the call first. A nil Loop runs on its
// owner's goroutine and is never abandoned.
func (l *Loop) Enter(p hook.Point) {
	if l == nil {
		return
	}
	if n := l.state.Load(); n&abandoned == 0 {
		l.state.Store((n+counted)&^pointMask | uint64(p))
	}
}

// Back marks that foreign code has returned. It returns false if the loop was abandoned.
func (l *Loop) Back() bool {
	if l == nil {
		return true
	}
	n := l.state.Load()
	return n&abandoned == 0 && l.state.CompareAndSwap(n, (n+counted)&^pointMask)
}

// Return is Back, but ends the goroutine of a loop that was abandoned.
func (l *Loop) Return() {
	if !l.Back() {
		runtime.Goexit()
	}
}

// Abandoned reports whether the loop was abandoned. Any goroutine may call it.
func (l *Loop) Abandoned() bool { return l != nil && l.state.Load()&abandoned != 0 }

// At returns the point that the loop has entered; 0 if it runs its own code.
func (l *Loop) At() hook.Point { return hook.Point(l.state.Load() & pointMask) }

// LimitTime makes Wait treat the loop as cancelled when ctx ends. It may be called once.
func (l *Loop) LimitTime(ctx context.Context) {
	if l != nil {
		l.worker.limit <- ctx
	}
}

// Watch bounds foreign code that a loop calls while nobody has cancelled it.
type Watch struct {
	// Bound is how long one call may take; 0 or less is for ever.
	Bound time.Duration
	// Late is called with the point of a call that has taken longer. It reports whether the
	// loop is cancelled now.
	Late func(hook.Point) bool
}

// Wait waits until the loop has ended, and returns true; or until ctx or the context of
// LimitTime ends, or foreign code is late, and returns false.
func (l *Loop) Wait(ctx context.Context, w Watch) (ended bool) {
	var limit <-chan struct{}
	var tick <-chan time.Time
	if w.Bound > 0 {
		l.worker.look(w.Bound / looks)
		defer l.worker.ticker.Stop()
		tick = l.worker.ticker.C
	}
	seen, same := uint64(0), 0
	for {
		select {
		case <-l.worker.over:
			return true
		case limited := <-l.worker.limit:
			limit = limited.Done()
		case <-tick:
			if now := l.state.Load(); now != seen {
				seen, same = now, 0
			} else if same++; same >= looks && now&pointMask != 0 {
				if w.Late(hook.Point(now & pointMask)) {
					return false
				}
				same = 0
			}
		case <-ctx.Done():
			return false
		case <-limit:
			return false
		}
	}
}

// looks is how often Wait looks at the loop within Watch.Bound.
const looks = 8

// Finished reports whether a loop that has ended returned. If not, foreign code ended its
// goroutine.
func (l *Loop) Finished() bool { return l.finished }

// Patience is how long the owner of a cancelled loop waits for it.
type Patience struct {
	// Grace is how long one call of foreign code may hold the loop.
	Grace time.Duration
	// Last is the time after which no call may hold the loop.
	Last time.Time
	// Looks is how often the owner looks at the loop in the grace period.
	Looks int
	// Abandon is called before the loop is abandoned at the point. The function returned is
	// called when the goroutine ends, or at once if the foreign code returned meanwhile.
	Abandon func(hook.Point) (returned func())
}

// WaitOrAbandon waits for a cancelled loop. It returns false if it abandoned the loop.
func (l *Loop) WaitOrAbandon(p Patience) (ended bool) {
	tick := time.NewTicker(max(p.Grace/time.Duration(p.Looks), time.Millisecond))
	defer tick.Stop()
	since, seen := time.Now(), l.state.Load()
	for {
		select {
		case <-l.worker.over:
			return true
		case <-tick.C:
		}
		now := l.state.Load()
		if now != seen {
			seen, since = now, time.Now()
		}
		late := time.Since(since) >= p.Grace || !time.Now().Before(p.Last)
		if late && l.abandon(now, p.Abandon) {
			return false
		}
	}
}

// abandon abandons the loop if it is still in the foreign code of that state.
func (l *Loop) abandon(state uint64, announce func(hook.Point) func()) bool {
	p := hook.Point(state & pointMask)
	if p == 0 {
		return false
	}
	l.returned = announce(p)
	if l.state.CompareAndSwap(state, state|abandoned) {
		return true
	}
	l.returned()
	return false
}

// Release gives the goroutine of a loop that has ended back to its pool.
func (l *Loop) Release() {
	if !l.finished { // there is no goroutine any more
		return
	}
	select {
	case <-l.worker.limit:
	default:
	}
	l.worker.pool.put(l.worker)
}

// maxIdle is how many goroutines a pool keeps.
const maxIdle = 64

// Pool keeps idle goroutines for loops. The zero Pool is ready.
type Pool struct {
	mu     sync.Mutex
	idle   []*worker
	closed bool
}

type task struct {
	loop *Loop
	run  func()
}

// worker is a goroutine for loops, one after the other.
type worker struct {
	pool *Pool
	work chan task
	// over gets a value when the loop has ended, and limit the context of LimitTime.
	over  chan struct{}
	limit chan context.Context
	// ticker is that of Wait; nil before the first.
	ticker *time.Ticker
}

// look starts the ticker of Wait.
func (w *worker) look(every time.Duration) {
	if w.ticker == nil {
		w.ticker = time.NewTicker(every)
		return
	}
	w.ticker.Reset(every)
}

// Start starts the loop on a goroutine of the pool.
func (p *Pool) Start(l *Loop, run func()) {
	l.worker = p.get()
	l.worker.work <- task{l, run}
}

func (p *Pool) get() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle[n-1], p.idle = nil, p.idle[:n-1]
		return w
	}
	w := &worker{pool: p, work: make(chan task, 1), over: make(chan struct{}, 1), limit: make(chan context.Context, 1)}
	go w.serve()
	return w
}

func (p *Pool) put(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) == maxIdle {
		close(w.work)
		return
	}
	p.idle = append(p.idle, w)
}

// Close ends the idle goroutines now, and the others when their loops have ended.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.idle {
		close(w.work)
	}
	p.idle = nil
}

func (w *worker) serve() {
	for t := range w.work {
		w.run(t)
	}
}

// run runs the loop. It reports the end also if foreign code ends the goroutine.
func (w *worker) run(t task) {
	defer func() {
		if t.loop.Abandoned() {
			t.loop.returned()
			return
		}
		w.over <- struct{}{}
	}()
	t.run()
	t.loop.finished = true
}
