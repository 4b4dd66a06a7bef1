package composite

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc/pool"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Call is one bound call that the gates have let through.
type Call struct {
	Env    *hook.Env
	Runner hook.Runner
	// Waits: the call waits for a person or an agent and counts towards no bound.
	Waits bool
}

// Run runs the call on this goroutine. A panic is its result, without the value, which may
// quote secrets. Run does not return if the call ends the goroutine: no recover sees that.
func (c Call) Run(ctx context.Context) (result message.ToolResult) {
	defer func() {
		if recover() != nil {
			result = PanicResult()
		}
	}()
	return c.Runner.Run(ctx, c.Env)
}

// PanicResult is the result of a call that panicked or ended its goroutine.
func PanicResult() message.ToolResult {
	return message.FailedResult(message.FailPanic, "the tool panicked")
}

// Completion is how a call ended.
type Completion struct {
	Result   message.ToolResult
	Outcome  message.Outcome
	Duration time.Duration
	// Abandoned: the grace period was over, and the call still runs or has just ended.
	Abandoned bool
}

// DispatchOptions bound a [DispatchAll]. Nil and zero mean the defaults.
type DispatchOptions struct {
	// Limit is how many calls run at once; 0 is 32.
	Limit int
	// Grace is how long to wait for running calls after ctx has ended; 0 is two
	// seconds, negative is not at all.
	Grace time.Duration
	// Pool runs the calls. It must have no limit of its own. Nil is a pool that ends
	// with the calls.
	Pool *pool.Pool
}

const (
	defaultLimit = 32
	defaultGrace = 2 * time.Second
)

// DispatchAll runs the calls of one step concurrently and returns how each ended,
// by index. They start in their order, those that wait for somebody before the others.
// done, if not nil, is called once per call, on the caller's goroutine and in completion
// order.
//
// A call that panics or ends its goroutine has failed, and the others go on. When ctx
// ends, calls that have not started complete as cancelled; those that run get the grace
// period and then complete as interrupted, while their goroutine goes on until Run
// returns. Without such abandoned calls all have returned when DispatchAll returns, and a
// pool of its own has ended.
func DispatchAll(ctx context.Context, calls []Call, o *DispatchOptions, done func(i int, c Completion)) []Completion {
	if len(calls) == 0 {
		return nil
	}
	if o == nil {
		o = &DispatchOptions{}
	}
	d := newDispatch(ctx, calls, o)
	d.start(o.limit())
	out := make([]Completion, len(calls))
	abandoned := d.collect(o.grace(), func(i int, c Completion) {
		out[i] = c
		if done != nil {
			done(i, c)
		}
	})
	switch {
	case o.Pool != nil:
	case abandoned:
		go d.pool.Wait()
	default:
		d.pool.Wait()
	}
	return out
}

func (o *DispatchOptions) limit() int {
	if o.Limit > 0 {
		return o.Limit
	}
	return defaultLimit
}

func (o *DispatchOptions) grace() time.Duration {
	if o.Grace != 0 {
		return max(o.Grace, 0)
	}
	return defaultGrace
}

// dispatch is one DispatchAll. A worker of the pool writes a going call and then sends
// its index. The caller reads it only after that, so it never races with an abandoned
// call.
type dispatch struct {
	ctx   context.Context
	calls []Call
	going []going
	pool  *pool.Pool
	// waiting are the calls that wait for somebody, and bounded the others.
	waiting, bounded queue
	ended            chan int
	// workers are those of the pool that are not back yet.
	workers sync.WaitGroup
}

// queue has calls in the order in which they start. A worker takes the next call, not one
// that it is given, because the pool may start its newest worker first.
type queue struct {
	calls []int
	taken atomic.Int64
}

// next returns the next call; false if there is none.
func (q *queue) next() (int, bool) {
	at := int(q.taken.Add(1)) - 1
	if at >= len(q.calls) {
		return 0, false
	}
	return q.calls[at], true
}

// going is one call while it runs.
type going struct {
	started atomic.Int64 // Unix nanoseconds, 0 before the start
	end     Completion
	// told belongs to the caller: the call is completed.
	told bool
}

func newDispatch(ctx context.Context, calls []Call, o *DispatchOptions) *dispatch {
	d := &dispatch{ctx: ctx, calls: calls, going: make([]going, len(calls)), pool: o.Pool, ended: make(chan int, len(calls))}
	if d.pool == nil {
		d.pool = pool.New()
	}
	d.bounded.calls = make([]int, 0, len(calls))
	for i := range calls {
		q := &d.bounded
		if calls[i].Waits {
			q = &d.waiting
		}
		q.calls = append(q.calls, i)
	}
	return d
}

// start starts a worker for each call that waits, and as many for the others as may run
// at once.
func (d *dispatch) start(limit int) {
	alone, work := d.alone, d.work // one function for all calls
	for range d.waiting.calls {
		d.workers.Add(1)
		d.pool.Go(alone)
	}
	for range min(limit, len(d.bounded.calls)) {
		d.workers.Add(1)
		d.pool.Go(work)
	}
}

// alone runs one call that waits.
func (d *dispatch) alone() {
	defer d.workers.Done()
	if i, ok := d.waiting.next(); ok {
		d.run(i)
	}
}

// work runs bounded calls, one after the other, until none is left. If one of them ends the
// worker, another one takes its place. After ctx has ended that is not needed, nor possible:
// DispatchAll may have returned, and its pool may be closed.
func (d *dispatch) work() {
	defer d.workers.Done()
	returned := false
	defer func() {
		switch {
		case returned:
		case d.ctx.Err() == nil:
			d.workers.Add(1)
			d.pool.Go(d.work)
		default:
			d.runRest() // starts none of them
		}
	}()
	d.runRest()
	returned = true
}

// runRest runs the bounded calls that no worker has taken.
func (d *dispatch) runRest() {
	for i, ok := d.bounded.next(); ok; i, ok = d.bounded.next() {
		d.run(i)
	}
}

// run runs the call, unless ctx has ended, and tells the caller.
func (d *dispatch) run(i int) {
	defer func() { d.ended <- i }()
	if d.ctx.Err() == nil {
		d.going[i].run(d.ctx, &d.calls[i])
	}
}

// collect hands on completions until all have come or the grace period is over.
// Abandoned: some calls still run.
func (d *dispatch) collect(grace time.Duration, done func(int, Completion)) (abandoned bool) {
	cancelled := d.ctx.Done()
	var late <-chan time.Time
	for left := len(d.calls); left > 0; {
		select {
		case i := <-d.ended:
			left--
			d.tell(i, done)
		case <-cancelled:
			cancelled = nil
			late = time.After(grace)
		case <-late:
			return d.abandon(done)
		}
	}
	d.workers.Wait() // or the next calls would have the pool start others
	return false
}

// run runs the call. The deferred function also runs if the call ends its goroutine.
func (g *going) run(ctx context.Context, c *Call) {
	begin := time.Now()
	g.started.Store(begin.UnixNano())
	returned := false
	defer func() {
		if !returned {
			g.end.Result = PanicResult()
		}
		g.end.Duration = time.Since(begin)
		g.end.Outcome = g.end.Result.Outcome()
	}()
	g.end.Result = c.Run(ctx)
	returned = true
}

// tell completes a call that has ended or never began.
func (d *dispatch) tell(i int, done func(int, Completion)) {
	g := &d.going[i]
	g.told = true
	if g.started.Load() == 0 {
		g.end = notStarted()
	}
	done(i, g.end)
}

// abandon completes what has not ended: first those that ended just now. It reports
// whether there was something.
func (d *dispatch) abandon(done func(int, Completion)) (abandoned bool) {
	for len(d.ended) > 0 {
		d.tell(<-d.ended, done)
	}
	for i := range d.going {
		g := &d.going[i]
		if g.told {
			continue
		}
		abandoned = true
		c := notStarted()
		if at := g.started.Load(); at != 0 {
			c = Completion{
				Result:    message.FailedResult(message.FailCancelled, "interrupted: the turn was cancelled while the tool ran; what it did is not known"),
				Outcome:   message.OutcomeInterrupted,
				Duration:  time.Since(time.Unix(0, at)),
				Abandoned: true,
			}
		}
		done(i, c)
	}
	return abandoned
}

func notStarted() Completion {
	return Completion{
		Result:  message.FailedResult(message.FailCancelled, "cancelled before it started"),
		Outcome: message.OutcomeCancelled,
	}
}
