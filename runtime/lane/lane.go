// Package lane runs functions in the background. A lane is a queue: its functions run one
// at a time, in the order of the calls of Go. Different lanes run concurrently. The owner
// of the lanes waits for all runs when it closes them.
//
// A lane has one goroutine while it runs functions, and none while it is idle. Its length
// is bounded: Go never waits, and returns an error when the lane is full.
package lane

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
	// ErrFull: the lane has Options.Waiting runs that wait.
	ErrFull = errors.New("lane: the queue is full")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("lane: closed")
)

// Name names a lane.
type Name struct{ Place, Path string }

// Options of Lanes; nil is all zero values.
type Options struct {
	// Waiting is how many runs of one lane may wait; 0 is DefaultWaiting.
	Waiting int
	// Left is called for each run that Close abandons. The function returned is called
	// when that run returns after all. Nil is not called.
	Left func() (returned func())
}

// Lanes are the lanes of one owner, made by New. It is safe for concurrent use.
type Lanes struct {
	o Options
	// running ends when Close cancels the runs.
	running context.Context
	stop    context.CancelFunc

	mu     sync.Mutex
	lanes  map[Name]*queue
	closed bool
	// givenUp: Close has abandoned the runs; no waiting run begins any more.
	givenUp bool
	// empty is closed when all lanes are idle; nil unless Close waits.
	empty chan struct{}
}

// queue is a lane that has a run.
type queue struct {
	waiting []run
	// returned is called when an abandoned run returns; nil if none was abandoned.
	returned func()
}

type run struct {
	ctx context.Context
	do  func(context.Context)
}

// New returns idle lanes. The caller closes them.
func New(o *Options) *Lanes {
	l := &Lanes{lanes: map[Name]*queue{}}
	if o != nil {
		l.o = *o
	}
	if l.o.Waiting <= 0 {
		l.o.Waiting = DefaultWaiting
	}
	l.running, l.stop = context.WithCancel(context.Background())
	return l
}

// Go queues do in a lane and returns at once. do gets a context with the values of ctx
// that ends when the context of Close does. do must not panic, and may end its goroutine.
// The error is ErrFull or ErrClosed.
func (l *Lanes) Go(ctx context.Context, name Name, do func(context.Context)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := run{context.WithoutCancel(ctx), do}
	q, busy := l.lanes[name]
	switch {
	case l.closed:
		return ErrClosed
	case !busy:
		l.lanes[name] = &queue{}
		go l.run(name, r)
	case len(q.waiting) >= l.o.Waiting:
		return ErrFull
	default:
		q.waiting = append(q.waiting, r)
	}
	return nil
}

func (l *Lanes) run(name Name, r run) {
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

// next starts the next run of the lane. It needs a new goroutine, because do may have
// ended this one.
func (l *Lanes) next(name Name) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.lanes[name]
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
	delete(l.lanes, name)
	if len(l.lanes) == 0 && l.empty != nil {
		close(l.empty)
		l.empty = nil
	}
}

// Close refuses new runs and waits for all runs, the waiting ones too. When ctx ends, it
// cancels the runs' contexts and waits for the grace period. Then it abandons the runs:
// left is how many still run, and dropped how many never begin. Call it once.
func (l *Lanes) Close(ctx context.Context, grace time.Duration) (left, dropped int) {
	defer l.stop()
	l.mu.Lock()
	l.closed = true
	if len(l.lanes) == 0 {
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

func (l *Lanes) giveUp() (left, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.givenUp = true
	for _, q := range l.lanes {
		left++
		dropped += len(q.waiting)
		if l.o.Left != nil {
			q.returned = l.o.Left()
		}
	}
	return left, dropped
}
