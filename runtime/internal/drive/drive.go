// Package drive runs loops on goroutines that their owners can abandon.
//
// The loop of a turn calls foreign code: hooks, observers, models. Foreign code that
// ignores its context holds a cancelled loop for the grace period and no longer: then the
// owner abandons the loop. The loop says when it enters foreign code and when it is back.
// It is abandoned only while it is in foreign code, and ends its goroutine when it comes
// back: from then on it touches nothing, and the owner has all that the loop had.
//
// Goroutines are kept for the next loop, because a fresh one has to grow its stack.
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
	// state is a count of calls of Enter and Back, above the point that was entered; the
	// point is 0 while the loop runs its own code.
	state    atomic.Uint64
	worker   *worker
	back     func()
	finished bool
}

// The parts of Loop.state.
const (
	abandoned = 1 << 63
	counted   = 1 << 8
	pointMask = counted - 1
)

// Enter says that the loop is about to call foreign code at the point. What the call is
// given has to be read before: from here on the loop may be abandoned. A nil Loop, which
// runs on its owner's goroutine, is never abandoned.
func (l *Loop) Enter(p hook.Point) {
	if l == nil {
		return
	}
	if n := l.state.Load(); n&abandoned == 0 {
		l.state.Store((n+counted)&^pointMask | uint64(p))
	}
}

// Back says that the loop is back from foreign code; false if it was abandoned.
func (l *Loop) Back() bool {
	if l == nil {
		return true
	}
	n := l.state.Load()
	return n&abandoned == 0 && l.state.CompareAndSwap(n, (n+counted)&^pointMask)
}

// Return is Back. It ends the goroutine of a loop that was abandoned.
func (l *Loop) Return() {
	if !l.Back() {
		runtime.Goexit()
	}
}

// Abandoned reports whether the loop was abandoned. Any goroutine may ask.
func (l *Loop) Abandoned() bool { return l != nil && l.state.Load()&abandoned != 0 }

// At is the point that the loop has entered; 0 if it runs its own code.
func (l *Loop) At() hook.Point { return hook.Point(l.state.Load() & pointMask) }

// LimitTime tells the owner that the loop counts as cancelled when ctx ends. It may be
// called once.
func (l *Loop) LimitTime(ctx context.Context) {
	if l != nil {
		l.worker.limit <- ctx
	}
}

// Wait waits until the loop has ended, which is true, or is cancelled: until ctx ends, or
// that of LimitTime does.
func (l *Loop) Wait(ctx context.Context) (ended bool) {
	var limit <-chan struct{}
	for {
		select {
		case <-l.worker.over:
			return true
		case limited := <-l.worker.limit:
			limit = limited.Done()
		case <-ctx.Done():
			return false
		case <-limit:
			return false
		}
	}
}

// Finished reports whether the loop, which has ended, came to its end. Otherwise foreign
// code has ended its goroutine.
func (l *Loop) Finished() bool { return l.finished }

// Patience is how long the owner of a cancelled loop waits for it.
type Patience struct {
	// Grace is how long one call of foreign code may hold the loop, and Last is when any
	// call may hold it no longer.
	Grace time.Duration
	Last  time.Time
	// Looks is how often the owner looks at the loop in the grace period.
	Looks int
	// Abandon is called before the loop is abandoned at the point. What it returns is
	// called when the goroutine ends, or at once if the loop came back in that moment.
	Abandon func(hook.Point) (back func())
}

// WaitOrAbandon waits for a cancelled loop. False says that the loop was abandoned.
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
func (l *Loop) abandon(state uint64, tell func(hook.Point) func()) bool {
	p := hook.Point(state & pointMask)
	if p == 0 {
		return false
	}
	l.back = tell(p)
	if l.state.CompareAndSwap(state, state|abandoned) {
		return true
	}
	l.back()
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

// Pool is the goroutines that wait for a loop. The zero Pool is ready.
type Pool struct {
	mu     sync.Mutex
	idle   []*worker
	closed bool
}

// task is what a worker runs.
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

// Close ends the goroutines that wait, and the others when their loops have ended.
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
		w.play(t)
	}
}

// play runs the loop, and says that it has ended also if foreign code ends the goroutine.
func (w *worker) play(t task) {
	defer func() {
		if t.loop.Abandoned() {
			t.loop.back()
			return
		}
		w.over <- struct{}{}
	}()
	t.run()
	t.loop.finished = true
}
