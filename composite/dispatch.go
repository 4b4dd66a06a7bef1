package composite

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/sourcegraph/conc"
)

// Call is one bound call that the gates have let through.
type Call struct {
	Env    *hook.Env
	Runner hook.Runner
	// Waits: the call waits for a person or an agent and counts towards no bound.
	Waits bool
}

// Completion is how a call ended.
type Completion struct {
	Result   hook.ToolResult
	Outcome  hook.Outcome
	Duration time.Duration
}

// DispatchOptions bound a [DispatchAll]. Nil and zero mean the defaults.
type DispatchOptions struct {
	// Limit is how many calls run at once; 0 is 32.
	Limit int
	// Grace is how long to wait for running calls after ctx has ended; 0 is two
	// seconds, negative is not at all.
	Grace time.Duration
}

const (
	defaultLimit = 32
	defaultGrace = 2 * time.Second
)

// DispatchAll runs the calls of one step concurrently and returns how each ended,
// by index. done, if not nil, is called once per call, on the caller's goroutine
// and in completion order.
//
// A panic in a call is that call's completion. When ctx ends, calls that have not
// started complete as cancelled; those that run get the grace period and then
// complete as interrupted, while their goroutine goes on until Run returns.
// Without such strays every goroutine has ended when DispatchAll returns.
func DispatchAll(ctx context.Context, calls []Call, o *DispatchOptions, done func(i int, c Completion)) []Completion {
	if len(calls) == 0 {
		return nil
	}
	out := make([]Completion, len(calls))
	DispatchEach(ctx, calls, o, func(i int, c Completion) {
		out[i] = c
		if done != nil {
			done(i, c)
		}
	})
	return out
}

// DispatchEach is [DispatchAll] for who needs no list of the completions.
func DispatchEach(ctx context.Context, calls []Call, o *DispatchOptions, done func(i int, c Completion)) {
	if len(calls) == 0 {
		return
	}
	limit, grace := o.bounds()
	d := &dispatch{ctx: ctx, calls: calls, ended: make(chan int, len(calls))}
	d.slots = d.one[:]
	if len(calls) > 1 {
		d.slots = make([]slot, len(calls))
	}
	d.start(limit)
	d.collect(grace, done)
}

func (o *DispatchOptions) bounds() (limit int, grace time.Duration) {
	limit, grace = defaultLimit, defaultGrace
	if o != nil && o.Limit > 0 {
		limit = o.Limit
	}
	if o != nil && o.Grace != 0 {
		grace = max(o.Grace, 0)
	}
	return limit, grace
}

// dispatch is one DispatchAll. A worker writes a slot and then sends its index;
// the caller reads a slot only after it has received the index, so strays never
// race with it.
type dispatch struct {
	ctx   context.Context
	calls []Call
	slots []slot
	// one is the slot of a call that is alone.
	one   [1]slot
	ended chan int
	taken atomic.Int64
	wg    conc.WaitGroup
}

type slot struct {
	started atomic.Int64 // unix nanoseconds, 0 before the start
	end     Completion
	// told belongs to the caller: the call is completed.
	told bool
}

// start starts the workers, and one goroutine for each call that waits.
func (d *dispatch) start(limit int) {
	bounded, work := 0, d.work
	for i, c := range d.calls {
		if c.Waits {
			d.wg.Go(func() { d.run(i) })
			continue
		}
		bounded++
	}
	for range min(limit, bounded) {
		d.wg.Go(work)
	}
}

// work runs calls that do not wait until none is left.
func (d *dispatch) work() {
	for {
		i := int(d.taken.Add(1)) - 1
		if i >= len(d.calls) {
			return
		}
		if !d.calls[i].Waits {
			d.run(i)
		}
	}
}

func (d *dispatch) run(i int) {
	s := &d.slots[i]
	if err := d.ctx.Err(); err != nil {
		s.end = notStarted()
		d.ended <- i
		return
	}
	begin := time.Now()
	s.started.Store(begin.UnixNano())
	d.invoke(i, begin)
	d.ended <- i
}

// invoke runs the call. A panic, and a runtime.Goexit that would take the worker
// with it, are a result.
func (d *dispatch) invoke(i int, begin time.Time) {
	s, returned := &d.slots[i], false
	defer func() {
		panicked := recover() != nil
		if !returned {
			s.end.Result = hook.FailedResult(hook.FailPanic, "the tool panicked")
		}
		s.end.Duration = time.Since(begin)
		s.end.Outcome = outcomeOf(s.end.Result)
		if !returned && !panicked {
			d.ended <- i
			d.wg.Go(d.work)
		}
	}()
	s.end.Result = d.calls[i].Runner.Run(d.ctx, d.calls[i].Env)
	returned = true
}

// collect hands completions on until all have come or the grace period is over.
func (d *dispatch) collect(grace time.Duration, done func(int, Completion)) {
	cancelled := d.ctx.Done()
	var late <-chan time.Time
	for left := len(d.calls); left > 0; {
		select {
		case i := <-d.ended:
			left--
			d.slots[i].told = true
			done(i, d.slots[i].end)
		case <-cancelled:
			cancelled = nil
			late = time.After(grace)
		case <-late:
			d.abandon(done)
			return
		}
	}
	d.wg.Wait()
}

// abandon completes what has not ended: first those that ended just now.
func (d *dispatch) abandon(done func(int, Completion)) {
	for len(d.ended) > 0 {
		i := <-d.ended
		d.slots[i].told = true
		done(i, d.slots[i].end)
	}
	for i := range d.slots {
		s := &d.slots[i]
		if s.told {
			continue
		}
		c := notStarted()
		if at := s.started.Load(); at != 0 {
			c = Completion{
				Result:   hook.FailedResult(hook.FailCancelled, "interrupted: the turn was cancelled while the tool ran; what it did is not known"),
				Outcome:  hook.OutcomeInterrupted,
				Duration: time.Since(time.Unix(0, at)),
			}
		}
		done(i, c)
	}
}

func notStarted() Completion {
	return Completion{
		Result:  hook.FailedResult(hook.FailCancelled, "cancelled before it started"),
		Outcome: hook.OutcomeCancelled,
	}
}

// outcomeOf tells the outcome of a call that ran from its result.
func outcomeOf(r hook.ToolResult) hook.Outcome {
	switch r.Failure {
	case "":
		return hook.OutcomeExecuted
	case hook.FailTimeout:
		return hook.OutcomeTimedOut
	case hook.FailPanic:
		return hook.OutcomePanicked
	case hook.FailCancelled:
		return hook.OutcomeInterrupted
	}
	return hook.OutcomeFailed
}
