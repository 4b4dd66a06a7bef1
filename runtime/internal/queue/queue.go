// Package queue runs functions in the background. The functions of one queue run one at a
// time, in the order of the calls of Go. Different queues run concurrently. The owner of
// the queues waits for all runs when it closes them.
//
// A queue has one goroutine while it runs functions, and none while it is idle. Its length
// is bounded: Go never waits, and returns an error when the queue is full.
package queue

import (
	"context"
	"errors"
	"sync"
	"time"
)

// DefaultWaiting is the default of Options.Waiting.
const DefaultWaiting = 256

// Sentinels of Go.
var (
	// ErrFull: the queue has Options.Waiting runs that wait.
	ErrFull = errors.New("queue: full")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("queue: closed")
)

// Name names a queue.
type Name struct{ Place, Path string }

// Options of Queues; nil is all zero values.
type Options struct {
	// Waiting is how many runs of one queue may wait; 0 is DefaultWaiting.
	Waiting int
	// Left is called for each run that Close abandons. The function returned is called
	// when that run returns after all. Nil is not called.
	Left func() (returned func())
}

// Queues are the queues of one owner, made by New. It is safe for concurrent use.
type Queues struct {
	o Options
	// running ends when Close cancels the runs.
	running context.Context
	stop    context.CancelFunc

	mu     sync.Mutex
	queues map[Name]*queue
	// idle is signalled when a queue becomes idle.
	idle   *sync.Cond
	closed bool
	// givenUp: Close has abandoned the runs; no waiting run begins any more.
	givenUp bool
	// empty is closed when all queues are idle; nil unless Close waits.
	empty chan struct{}
}

// queue is one queue that has a run.
type queue struct {
	waiting []run
	// returned is called when an abandoned run returns; nil if none was abandoned.
	returned func()
}

type run struct {
	ctx context.Context
	do  func(context.Context)
}

// New returns idle queues. The caller closes them.
func New(o *Options) *Queues {
	l := &Queues{queues: map[Name]*queue{}}
	if o != nil {
		l.o = *o
	}
	if l.o.Waiting <= 0 {
		l.o.Waiting = DefaultWaiting
	}
	l.idle = sync.NewCond(&l.mu)
	l.running, l.stop = context.WithCancel(context.Background())
	return l
}

// Go adds do to the queue of that name and returns at once. do gets a context with the values of ctx
// that ends when the context of Close does. do must not panic, and may end its goroutine.
// The error is ErrFull or ErrClosed.
func (l *Queues) Go(ctx context.Context, name Name, do func(context.Context)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := run{context.WithoutCancel(ctx), do}
	q, busy := l.queues[name]
	switch {
	case l.closed:
		return ErrClosed
	case !busy:
		l.queues[name] = &queue{}
		go l.run(name, r)
	case len(q.waiting) >= l.o.Waiting:
		return ErrFull
	default:
		q.waiting = append(q.waiting, r)
	}
	return nil
}

func (l *Queues) run(name Name, r run) {
	ctx, cancel := context.WithCancel(r.ctx)
	stop := context.AfterFunc(l.running, cancel)
	defer func() {
		stop()
		cancel()
		l.next(name)
	}()
	if l.running.Err() != nil {
		cancel() // now: AfterFunc would cancel on another goroutine
	}
	r.do(ctx)
}

// next starts the next run of the queue. It needs a new goroutine, because do may have
// ended this one.
func (l *Queues) next(name Name) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[name]
	if q.returned != nil {
		q.returned()
	}
	if len(q.waiting) > 0 && !l.givenUp {
		r := q.waiting[0]
		q.waiting[0] = run{}
		q.waiting = q.waiting[1:]
		go l.run(name, r)
		return
	}
	delete(l.queues, name)
	l.idle.Broadcast()
	if len(l.queues) == 0 && l.empty != nil {
		close(l.empty)
		l.empty = nil
	}
}

// Close refuses new runs and waits for all runs, the waiting ones too. When ctx ends, it
// cancels the runs' contexts and waits for the grace period. Then it abandons the runs:
// left is how many still run, and dropped how many never begin. Call it once.
func (l *Queues) Close(ctx context.Context, grace time.Duration) (left, dropped int) {
	defer l.stop()
	l.mu.Lock()
	l.closed = true
	if len(l.queues) == 0 {
		l.mu.Unlock()
		return 0, 0
	}
	empty := make(chan struct{})
	l.empty = empty
	l.mu.Unlock()
	select {
	case <-empty:
		return 0, 0
	case <-ctx.Done():
	}
	l.stop()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-empty:
		return 0, 0
	case <-timer.C:
	}
	return l.giveUp()
}

// Wait waits until the queues whose name matches are idle. Somebody else may still call Go.
func (l *Queues) Wait(match func(Name) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		busy := false
		for name := range l.queues {
			busy = busy || match(name)
		}
		if !busy {
			return
		}
		l.idle.Wait()
	}
}

func (l *Queues) giveUp() (left, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.givenUp = true
	for _, q := range l.queues {
		left++
		dropped += len(q.waiting)
		if l.o.Left != nil {
			q.returned = l.o.Left()
		}
	}
	return left, dropped
}
