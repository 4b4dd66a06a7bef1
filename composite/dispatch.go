package composite

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Call is one bound call that the gates have let through.
type Call struct {
	Env    *hook.Env
	Runner hook.Runner
	// Waits: the call waits for a person or an agent and counts towards no bound.
	Waits bool
	// Inline: the call only computes. It runs on the caller's goroutine once the others
	// have been started, counts towards no bound, and nobody can leave it behind.
	Inline bool
}

// Completion is how a call ended.
type Completion struct {
	Result   hook.ToolResult
	Outcome  hook.Outcome
	Duration time.Duration
	// Left: the grace period was over and the call still runs, or has just ended.
	Left bool
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
// Without such abandoned calls every goroutine has ended when DispatchAll returns.
//
// Calls that are inline run one after the other on the caller's goroutine, and while
// one does, nobody is told that others have ended. One that ends its goroutine ends
// the caller's.
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
	if !slices.ContainsFunc(calls, func(c Call) bool { return !c.Inline }) {
		computeEach(ctx, calls, done)
		return
	}
	limit, grace := o.bounds()
	d := &dispatch{ctx: ctx, calls: calls, ended: make(chan int, len(calls))}
	d.slots = d.one[:]
	if len(calls) > 1 {
		d.slots = make([]slot, len(calls))
	}
	d.start(limit)
	for i := range calls {
		if calls[i].Inline {
			d.run(i)
		}
	}
	d.collect(grace, done)
}

// computeEach runs calls that all are inline.
func computeEach(ctx context.Context, calls []Call, done func(i int, c Completion)) {
	for i := range calls {
		var s slot
		if ctx.Err() == nil {
			s.run(ctx, &calls[i])
		}
		done(i, s.completion())
	}
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
// the caller reads a slot only after it has received the index, so abandoned calls never
// race with it.
type dispatch struct {
	ctx   context.Context
	calls []Call
	slots []slot
	// one is the slot of a call that is alone.
	one   [1]slot
	ended chan int
	taken atomic.Int64
	wg    sync.WaitGroup
}

type slot struct {
	begin   time.Time
	started atomic.Int64 // unix nanoseconds, 0 before the start
	end     Completion
	// over: the call has returned or panicked, and not ended its goroutine.
	over bool
	// told belongs to the caller: the call is completed.
	told bool
}

// start starts the workers, and one goroutine for each call that waits.
func (d *dispatch) start(limit int) {
	bounded := 0
	for i := range d.calls {
		switch c := &d.calls[i]; {
		case c.Inline:
		case c.Waits:
			d.wg.Add(1)
			go d.alone(i)
		default:
			bounded++
		}
	}
	if bounded == 0 {
		return
	}
	work := d.work // one function for all of them
	for range min(limit, bounded) {
		d.wg.Add(1)
		go work()
	}
}

// work runs calls that are bounded until none is left.
func (d *dispatch) work() {
	defer d.wg.Done()
	grow(d.calls)
	for {
		i := int(d.taken.Add(1)) - 1
		if i >= len(d.calls) {
			return
		}
		if c := &d.calls[i]; !c.Waits && !c.Inline {
			d.run(i)
		}
	}
}

// alone runs one call.
func (d *dispatch) alone(i int) {
	defer d.wg.Done()
	grow(d.calls)
	d.run(i)
}

// grow makes the stack of a new goroutine as large as most tools need, which is more
// than it begins with. It costs little as long as there is nothing on the stack:
// growing it within the tool takes longer than all else about a call that does little.
//
//go:noinline
func grow(calls []Call) (last byte) {
	if len(calls) == 0 { // never: the frame alone is what it takes
		var room [4 << 10]byte
		for i := range room {
			room[i] = byte(i)
		}
		last = room[len(calls)]
	}
	return last
}

func (d *dispatch) run(i int) {
	defer d.ran(i)
	if d.ctx.Err() == nil {
		d.slots[i].run(d.ctx, &d.calls[i])
	}
}

// ran is deferred by run: a call that ends its goroutine ends a worker, which is
// replaced.
func (d *dispatch) ran(i int) {
	d.ended <- i
	if s := &d.slots[i]; s.started.Load() != 0 && !s.over && !d.calls[i].Inline {
		d.wg.Add(1)
		go d.work()
	}
}

// run runs the call. A panic, and a runtime.Goexit, are a result.
func (s *slot) run(ctx context.Context, c *Call) {
	s.begin = time.Now()
	s.started.Store(s.begin.UnixNano())
	defer s.finish()
	s.end.Result = c.Runner.Run(ctx, c.Env)
	s.over = true
}

// finish is deferred by run.
func (s *slot) finish() {
	if !s.over {
		s.over = recover() != nil
		s.end.Result = hook.FailedResult(hook.FailPanic, "the tool panicked")
	}
	s.end.Duration = time.Since(s.begin)
	s.end.Outcome = OutcomeOf(&s.end.Result)
}

// completion is how the call ended, or that it never began.
func (s *slot) completion() Completion {
	if s.started.Load() == 0 {
		return notStarted()
	}
	return s.end
}

// collect hands completions on until all have come or the grace period is over.
func (d *dispatch) collect(grace time.Duration, done func(int, Completion)) {
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
			d.abandon(done)
			return
		}
	}
	d.wg.Wait()
}

// tell completes a call that has ended, or was not started.
func (d *dispatch) tell(i int, done func(int, Completion)) {
	s := &d.slots[i]
	s.told = true
	done(i, s.completion())
}

// abandon completes what has not ended: first those that ended just now.
func (d *dispatch) abandon(done func(int, Completion)) {
	for len(d.ended) > 0 {
		d.tell(<-d.ended, done)
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
				Left:     true,
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

// OutcomeOf tells the outcome of a call that ran from its result.
func OutcomeOf(r *hook.ToolResult) hook.Outcome {
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
