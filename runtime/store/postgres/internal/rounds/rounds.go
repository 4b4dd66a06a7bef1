// Package rounds answers calls together.
package rounds

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Rounds answers calls together: those that come while a round is under way are the next one. So what each of a hundred
// tenants does once a second takes one connection, and two statements in a row. The zero value is ready. It is safe for
// concurrent use.
type Rounds[In, Out any] struct {
	mu sync.Mutex
	// next is the round that calls join now; nil if the next call begins one. last is done of the
	// newest round.
	next *round[In, Out]
	last chan struct{}
}

// round is the calls that are answered together.
type round[In, Out any] struct {
	// in is what the calls bring, by its name: of two of one name the later one counts.
	in map[string]In
	// until is when the first of the calls has to end.
	until time.Time
	// before is done of the round before, if there was one.
	before chan struct{}
	// done is closed when out and err are there.
	done chan struct{}
	out  Out
	err  error
}

// within is how long a round may take whose calls have no deadlines.
const within = 10 * time.Second

// Join makes the call part of the next round, and returns what do has returned for that. The deadline of ctx is that of the
// round at the latest. The first call of a round does it, also if its context is cancelled meanwhile. All calls of a round
// share the result, and do not change it.
func (r *Rounds[In, Out]) Join(ctx context.Context, name string, in In, do func(ctx context.Context, in map[string]In) (Out, error)) (Out, error) {
	until, ok := ctx.Deadline()
	if !ok {
		until = time.Now().Add(within)
	}
	r.mu.Lock()
	mine, first := r.next, r.next == nil
	if first {
		mine = &round[In, Out]{in: map[string]In{}, until: until, done: make(chan struct{})}
		mine.before, r.next, r.last = r.last, mine, mine.done
	}
	mine.in[name] = in
	if until.Before(mine.until) {
		mine.until = until
	}
	r.mu.Unlock()
	if !first {
		return mine.wait(ctx)
	}
	if mine.before != nil {
		<-mine.before
	}
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), mine.until)
	defer cancel()
	mine.out, mine.err = do(ctx, mine.in)
	close(mine.done)
	return mine.out, mine.err
}

// wait returns the result. A deadline of ctx is that of the round, too, which knows better why it has failed.
func (r *round[In, Out]) wait(ctx context.Context) (Out, error) {
	select {
	case <-r.done:
		return r.out, r.err
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		var none Out
		return none, context.Cause(ctx)
	}
	<-r.done
	return r.out, r.err
}
