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

// Call is one bound and permitted tool call.
type Call struct {
	Env    *hook.Env
	Runner hook.Runner
	// Waits: the call waits for a person or an agent and takes no slot.
	Waits bool
}

// Run runs the call on this goroutine. A panic becomes a failed result, without its value,
// which may quote secrets. Run does not return if the call exits the goroutine
// (runtime.Goexit).
func (c Call) Run(ctx context.Context) (result message.ToolResult) {
	defer func() {
		if recover() != nil {
			result = PanicResult()
		}
	}()
	return c.Runner.Run(ctx, c.Env)
}

// PanicResult is the result of a call that panicked or exited its goroutine.
func PanicResult() message.ToolResult {
	return message.FailedResult(message.FailPanic, "the tool panicked")
}

// Completion is how a call ended.
type Completion struct {
	Result   message.ToolResult
	Outcome  message.Outcome
	Duration time.Duration
	// Abandoned: the call had not ended when the grace period was over.
	Abandoned bool
}

// DispatchOptions bound a [DispatchAll]. Nil and zero mean the defaults.
type DispatchOptions struct {
	// Limit is the number of calls that may run at once; 0 is 32.
	Limit int
	// Grace is how long to wait for running calls after ctx has ended; 0 is two
	// seconds, negative does not wait.
	Grace time.Duration
	// Pool runs the calls. It must have no limit of its own. Nil is a new pool that ends
	// with the calls.
	Pool *pool.Pool
}

const (
	defaultLimit = 32
	defaultGrace = 2 * time.Second
)

// DispatchAll runs the calls of one step concurrently and returns how each ended,
// by index. They start in their order, those with Waits before the others. done, if not
// nil, is called once per call, on the caller's goroutine and in completion order.
//
// A call that panics or exits its goroutine fails; the others continue. When ctx ends,
// calls that have not started complete as cancelled. Running calls get the grace period
// and then complete as interrupted; their goroutines continue until Run returns. Without
// such abandoned calls all calls have returned when DispatchAll returns, and its own pool
// has ended.
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

// dispatch is one DispatchAll. A worker of the pool writes the state of a call and then sends
// its index. The caller reads the state only after that, so it never races with an abandoned
// call.
type dispatch struct {
	ctx    context.Context
	calls  []Call
	states []callState
	pool   *pool.Pool
	// waiting has the calls with Waits, and bounded the others.
	waiting, bounded queue
	ended            chan int
	// workers counts the running workers.
	workers sync.WaitGroup
}

// queue has calls in the order in which they start. A worker takes the next call, not a fixed
// one, because the pool may start its newest worker first.
type queue struct {
	calls []int
	taken atomic.Int64
}

func (q *queue) next() (int, bool) {
	at := int(q.taken.Add(1)) - 1
	if at >= len(q.calls) {
		return 0, false
	}
	return q.calls[at], true
}

// callState is the state of one call.
type callState struct {
	started atomic.Int64 // Unix nanoseconds, 0 before the start
	end     Completion
	// completed: done was called. Only the caller's goroutine uses it.
	completed bool
}

func newDispatch(ctx context.Context, calls []Call, o *DispatchOptions) *dispatch {
	d := &dispatch{ctx: ctx, calls: calls, states: make([]callState, len(calls)), pool: o.Pool, ended: make(chan int, len(calls))}
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

// start starts a worker for each call with Waits, and up to limit workers for the others.
func (d *dispatch) start(limit int) {
	runWaiting, work := d.runWaiting, d.work // one function for all calls
	for range d.waiting.calls {
		d.workers.Add(1)
		d.pool.Go(runWaiting)
	}
	for range min(limit, len(d.bounded.calls)) {
		d.workers.Add(1)
		d.pool.Go(work)
	}
}

func (d *dispatch) runWaiting() {
	defer d.workers.Done()
	if i, ok := d.waiting.next(); ok {
		d.run(i)
	}
}

// work runs bounded calls, one after the other, until none is left.
func (d *dispatch) work() {
	defer d.workers.Done()
	d.runRest()
}

// runRest runs what is left. If a call exits the goroutine, the deferred function goes on with the next one: another worker of the
// pool could come too late, because once ctx has ended DispatchAll may have returned and the pool may be closed.
func (d *dispatch) runRest() {
	returned := false
	defer func() {
		if !returned {
			d.runRest()
		}
	}()
	for i, ok := d.bounded.next(); ok; i, ok = d.bounded.next() {
		d.run(i)
	}
	returned = true
}

// run runs the call, unless ctx has ended, and sends its index to the caller.
func (d *dispatch) run(i int) {
	defer func() { d.ended <- i }()
	if d.ctx.Err() == nil {
		d.states[i].run(d.ctx, &d.calls[i])
	}
}

// collect completes calls as they end, until all have ended or the grace period is over.
// It reports whether it abandoned any.
func (d *dispatch) collect(grace time.Duration, done func(int, Completion)) (abandoned bool) {
	cancelled := d.ctx.Done()
	var late <-chan time.Time
	for left := len(d.calls); left > 0; {
		select {
		case i := <-d.ended:
			left--
			d.complete(i, done)
		case <-cancelled:
			cancelled = nil
			late = time.After(grace)
		case <-late:
			return d.abandon(done)
		}
	}
	d.workers.Wait() // so that the pool can reuse them for the next calls
	return false
}

// run runs the call. The deferred function also runs if the call exits its goroutine.
func (g *callState) run(ctx context.Context, c *Call) {
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

// complete completes a call that has ended or never started.
func (d *dispatch) complete(i int, done func(int, Completion)) {
	g := &d.states[i]
	g.completed = true
	if g.started.Load() == 0 {
		g.end = notStarted()
	}
	done(i, g.end)
}

// abandon completes all remaining calls, first those that have just ended. It reports
// whether any had not ended.
func (d *dispatch) abandon(done func(int, Completion)) (abandoned bool) {
	for len(d.ended) > 0 {
		d.complete(<-d.ended, done)
	}
	for i := range d.states {
		g := &d.states[i]
		if g.completed {
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
