// Package queue runs what nobody waits for: what is handed over for one queue runs one
// after the other, in the order in which it was handed over, and queues run beside
// each other. Every run has an owner, who waits for all of them when it closes.
//
// A queue has one goroutine while something of it runs, and none while nothing does.
// How much may wait in a queue is bounded; what does not fit is refused, so that who
// hands over never waits.
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
	// ErrFull: as much as may wait in the queue waits in it.
	ErrFull = errors.New("queue: too much waits already")
	// ErrClosed: nothing is taken any more.
	ErrClosed = errors.New("queue: closed")
)

// Name names a queue.
type Name struct{ Place, Path string }

// Options of Queues; nil is all zero values.
type Options struct {
	// Waiting is how many runs of one queue may wait; 0 is DefaultWaiting.
	Waiting int
	// Left is called for each run that has not come back when Close gives up, and
	// what it returns when that has come back after all. Nil counts nothing.
	Left func() (back func())
}

// Queues are the queues of one owner. They are made by New; all methods are safe for
// concurrent use.
type Queues struct {
	o Options
	// running ends when runs have to come back.
	running context.Context
	stop    context.CancelFunc

	mu     sync.Mutex
	queues map[Name]*queue
	closed bool
	// given up: what waits is not begun any more.
	givenUp bool
	// empty is closed when the last queue has come to its end; nil if nobody waits.
	empty chan struct{}
}

// queue is one queue, as long as it has something to run.
type queue struct {
	waiting []run
	// back is called when the run comes back that was given up; nil for none.
	back func()
}

type run struct {
	ctx context.Context
	do  func(context.Context)
}

// New returns queues in which nothing runs. The caller closes them.
func New(o *Options) *Queues {
	l := &Queues{queues: map[Name]*queue{}}
	if o != nil {
		l.o = *o
	}
	if l.o.Waiting <= 0 {
		l.o.Waiting = DefaultWaiting
	}
	l.running, l.stop = context.WithCancel(context.Background())
	return l
}

// Go hands do over to a queue and returns at once. do gets a context with the values
// of ctx, which ends when Close can wait no longer. It must not panic, and may end
// its goroutine.
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
		cancel() // at once, and not when somebody gets to it
	}
	r.do(ctx)
}

// next begins what comes next in the queue, in a goroutine of its own because do may
// have ended this one.
func (l *Queues) next(name Name) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[name]
	if q.back != nil {
		q.back()
	}
	if len(q.waiting) > 0 && !l.givenUp {
		r := q.waiting[0]
		q.waiting[0] = run{}
		q.waiting = q.waiting[1:]
		go l.run(name, r)
		return
	}
	delete(l.queues, name)
	if len(l.queues) == 0 && l.empty != nil {
		close(l.empty)
		l.empty = nil
	}
}

// Close takes nothing more and waits for what was handed over. When ctx ends the
// contexts of the runs do, and it waits for the grace period; then it gives up: what
// still runs goes on unwaited for, and what waits is never begun. It returns how many
// of both there were. It is called once.
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

func (l *Queues) giveUp() (left, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.givenUp = true
	for _, q := range l.queues {
		left++
		dropped += len(q.waiting)
		if l.o.Left != nil {
			q.back = l.o.Left()
		}
	}
	return left, dropped
}
