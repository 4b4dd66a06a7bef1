package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// errToolTimeout is the cause with which a tool's context ends when its own time
// is over, and not the turn's.
var errToolTimeout = errors.New("runtime: the tool's time is over")

// execute runs the calls that are not settled, and concludes each as it ends. Of
// the last one nobody is told: its result is written down with the whole step.
func (t *turn) execute(reply message.ModelReply, calls []call) {
	batch := make([]composite.Call, 0, len(calls))
	index := make([]int, 0, 8) // of the calls that run; stays on the stack for a few
	for i := range calls {
		if c := &calls[i]; !c.settled() {
			c.arm(t)
			batch = append(batch, composite.Call{Runner: &c.execution, Env: &c.env, Waits: c.waits})
			index = append(index, i)
		}
	}
	if len(batch) == 0 {
		return
	}
	noted := false
	t.ahead(func() { t.tell(calls) }, func() { noted = t.noteStart(reply, calls) })
	if !noted {
		t.refuseRest(calls)
		for i := range calls {
			if c := &calls[i]; !c.concluded {
				t.conclude(c)
			}
		}
		return
	}
	left := len(batch)
	o := composite.DispatchOptions{Limit: t.rt.o.Slots, Grace: t.grace(), Pool: t.rt.workers}
	composite.DispatchAll(t.ctx, batch, &o, func(i int, done composite.Completion) {
		c := &calls[index[i]]
		c.end.Outcome, c.end.Result, c.end.Duration = done.Outcome, done.Result, done.Duration
		if done.Abandoned {
			c.abandon()
		} else {
			c.correct()
		}
		t.conclude(c)
		if left--; left > 0 {
			t.keep(c)
		}
	})
}

// keep writes down that a call has ended and tells of it.
func (t *turn) keep(c *call) {
	if !t.conv.lease.Journals() {
		t.tellOf(c)
		return
	}
	t.ahead(func() { t.tellOf(c) }, func() { t.noteResult(c) })
}

// arm makes the call ready to run.
func (c *call) arm(t *turn) {
	x := &c.execution
	x.rt, x.hooks, x.events, x.ctx, x.place = t.rt, t.hooks, t.conv.host, t.durable, c.at
	x.grace = t.grace()
	tool := c.at.Tool()
	x.waits, x.exclusive, x.limit = tool.Waits, tool.Exclusive, shorter(tool.Timeout, c.grant.Timeout)
	env := hook.Env{Call: c.at, Grant: c.grant, Attempt: 1, Key: t.key(c)}
	x.env = *env.WithReporter(x)
}

// key is the same for every attempt at the call, also in another process.
func (t *turn) key(c *call) string { return t.id + "/" + c.at.ID() }

// shorter returns the smaller of two bounds, where 0 is no bound.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// execution is one call while it runs. It is what composite.DispatchAll runs and
// what the wraps surround; from outside: wraps, exclusive key, slot, time limit,
// recovery, tool. The goroutine of an abandoned call holds it after the turn has ended.
type execution struct {
	rt     *Runtime
	hooks  *hooks
	events *host
	ctx    context.Context
	place  *hook.ToolCall
	runner hook.Runner
	limit  time.Duration
	grace  time.Duration
	env    hook.Env
	// waits and exclusive are those of the tool.
	waits     bool
	exclusive string

	// mu guards slot, begun, over and abandoned, which the loop changes when it gives the
	// call up.
	mu sync.Mutex
	// slot: the attempt that runs has one of the slots.
	slot bool
	// begun: its goroutine runs it. over: the call has ended. abandoned: nobody waits for
	// it any more; if it has not begun, it never does. done: it has ended with the result
	// last, in time.
	begun, over, abandoned, done bool

	// What follows belongs to the running goroutine until the call is completed, and
	// for ever if it is abandoned.
	attempts int
	// unlock frees the exclusive key; nil if there is none.
	unlock func()
	// queued is how long the call waited for its key and slot.
	queued  time.Duration
	started bool
	// last is what the tool returned, if it is back.
	last message.ToolResult
	back bool
	// refused: the call was not started because too many others are abandoned.
	refused bool
	// waited is whose call had the exclusive key when this one had to wait for it.
	waited string
}

var (
	_ hook.Runner    = (*execution)(nil)
	_ hook.ToolChain = (*execution)(nil)
	_ hook.Reporter  = (*execution)(nil)
)

// Run implements hook.Runner.
func (x *execution) Run(ctx context.Context, _ *hook.Env) message.ToolResult {
	if !x.begin() {
		return message.FailedResult(message.FailCancelled, "cancelled before it started")
	}
	defer x.end()
	if !x.wraps() {
		x.last = x.WrapToolAt(ctx, 0)
	} else {
		x.last = x.wrapped(ctx)
	}
	x.returned()
	return x.last
}

// returned notes that the call has its result.
func (x *execution) returned() {
	x.mu.Lock()
	x.done = !x.abandoned
	x.mu.Unlock()
}

// returnedInTime reports whether the call had its result before it was abandoned.
func (x *execution) returnedInTime() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.done
}

// begin notes that the call begins. False if it was abandoned.
func (x *execution) begin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun = !x.abandoned
	return x.begun
}

// end notes that the call has ended.
func (x *execution) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	if x.abandoned {
		x.rt.abandoned.ended(x.what())
	}
}

// abandon gives up a call. Its slot goes to others. Its exclusive key stays taken until
// the tool returns. It reports whether the call had begun.
func (x *execution) abandon() (begun bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over || x.abandoned {
		return x.begun
	}
	if x.abandoned = true; x.begun {
		x.rt.abandoned.add(x.what())
		x.freeSlotLocked()
	}
	return x.begun
}

// what is the call as it is counted when it is abandoned.
func (x *execution) what() Abandoned { return Abandoned{Tool: x.place.Name()} }

func (x *execution) wraps() bool { return x.hooks.Has(point.WrapTool) }

// wrapped runs the hook's wrap. If it panics, the result of the tool stands if
// there is one.
func (x *execution) wrapped(ctx context.Context) (r message.ToolResult) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		f := panicOf(point.WrapTool, v)
		x.events.Emit(ctx, hook.FailureEvent(f))
		r = x.last
		if !x.back {
			r = message.FailedResult(message.FailPanic, f.Public())
		}
	}()
	return x.hooks.WrapTool(ctx, x.place, hook.NewToolNext(x, 0))
}

// WrapToolAt implements hook.ToolChain: it is one attempt.
func (x *execution) WrapToolAt(ctx context.Context, _ int) message.ToolResult {
	had := x.back
	x.back = false
	x.attempts++
	if !x.admit(ctx) {
		return x.notAdmitted(had)
	}
	x.admitted(ctx)
	return x.last
}

// admitted makes the attempt, for which there is a slot.
func (x *execution) admitted(ctx context.Context) {
	defer x.free()
	x.started = true
	x.attempt(ctx)
	x.back = true
}

// notAdmitted is the result of an attempt that did not start: that of the attempt
// before, if it had one.
func (x *execution) notAdmitted(had bool) message.ToolResult {
	x.back = had
	switch {
	case had:
		return x.last
	case x.refused:
		return message.FailedResult(message.FailOperation, fmt.Sprintf("%d calls of %s have not ended; it runs again when one of them has",
			x.rt.abandoned.count(x.what()), x.place.Name()))
	case x.waited != "":
		return message.FailedResult(message.FailCancelled, "cancelled before it started: it waited for "+x.waited)
	}
	return message.FailedResult(message.FailCancelled, "cancelled before it started")
}

// admit gets the exclusive key and a slot, which free gives back. False if ctx ended
// before, or too many calls of the tool are abandoned.
func (x *execution) admit(ctx context.Context) bool {
	if x.crowded() || x.givenUp() {
		return false
	}
	if x.exclusive == "" && (x.waits || x.takeSlot()) {
		return true
	}
	if x.queue(ctx) != nil {
		return false
	}
	if x.crowded() || x.givenUp() { // meanwhile
		x.free()
		return false
	}
	return true
}

// givenUp reports whether the call is abandoned: then no further attempt at it starts.
func (x *execution) givenUp() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.abandoned
}

// crowded reports whether no further call of the tool may start.
func (x *execution) crowded() bool {
	x.refused = x.rt.abandoned.count(x.what()) >= x.rt.o.Abandoned
	return x.refused
}

// queue waits for the exclusive key and a slot.
func (x *execution) queue(ctx context.Context) (err error) {
	waiting := time.Now()
	defer func() { x.queued += time.Since(waiting) }()
	about := fmt.Sprintf("call %s of %s, which has the key %q", x.place.ID(), x.place.Name(), x.exclusive)
	if x.unlock, err = x.rt.keys.lock(ctx, x.exclusive, about, x.waitsFor); err != nil {
		return err
	}
	x.waited = ""
	if x.waits {
		return nil
	}
	select {
	case x.rt.slots <- struct{}{}:
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.slot = true; x.abandoned {
			x.freeSlotLocked()
			err = context.Canceled
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		x.unlock()
		x.unlock = nil
	}
	return err
}

// waitsFor tells the clients who has the exclusive key.
func (x *execution) waitsFor(holder string) {
	x.waited = holder
	x.Report("waits for " + holder)
}

func (x *execution) takeSlot() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.abandoned {
		return false
	}
	select {
	case x.rt.slots <- struct{}{}:
		x.slot = true
	default:
	}
	return x.slot
}

// free gives back the slot and the key.
func (x *execution) free() {
	if !x.waits {
		x.freeSlot()
	}
	if x.unlock != nil {
		x.unlock()
		x.unlock = nil
	}
}

func (x *execution) freeSlot() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.freeSlotLocked()
}

func (x *execution) freeSlotLocked() {
	if x.slot {
		x.slot = false
		<-x.rt.slots
	}
}

// attempt runs the tool within its time limit; its result is the last one.
func (x *execution) attempt(ctx context.Context) {
	env := &x.env
	if x.attempts > 1 {
		env = x.again()
	}
	if x.limit > 0 {
		x.last = x.limited(ctx, env)
		return
	}
	if at, ok := ctx.Deadline(); ok {
		env.Deadline = at
	}
	x.recovered(ctx, env, &x.last)
}

// again is what a further attempt is told: an abandoned attempt before it may still
// hold the first.
func (x *execution) again() *hook.Env {
	env := x.env
	env.Attempt = x.attempts
	return &env
}

// limited runs the tool on a goroutine of its own, so that one that ignores its
// context holds the turn no longer than the grace period.
func (x *execution) limited(ctx context.Context, env *hook.Env) message.ToolResult {
	limited, cancel := context.WithTimeoutCause(ctx, x.limit, errToolTimeout)
	defer cancel()
	env.Deadline, _ = limited.Deadline()
	r := &limitedRun{x: x, unlock: x.unlock, ended: make(chan message.ToolResult, 1)}
	x.unlock = nil
	go r.run(limited, env)
	select {
	case out := <-r.ended:
		return x.inTime(limited, out)
	case <-limited.Done():
	}
	grace := time.NewTimer(x.grace)
	defer grace.Stop()
	select {
	case out := <-r.ended:
		return x.inTime(limited, out)
	case <-grace.C:
	}
	if !r.abandon() {
		return x.inTime(limited, <-r.ended)
	}
	if ctx.Err() != nil {
		return message.FailedResult(message.FailCancelled, "interrupted: the tool did not end when the turn was cancelled; what it did is not known")
	}
	return message.FailedResult(message.FailTimeout, x.timeoutText()+"; it did not end, and what it did is not known")
}

// limitedRun is an attempt with a time limit. Its goroutine has the exclusive key and
// frees it when the tool returns, also if nobody waits for that any more.
type limitedRun struct {
	x      *execution
	unlock func()
	ended  chan message.ToolResult

	mu              sync.Mutex
	over, abandoned bool
}

// abandon gives the attempt up; false if it has just ended.
func (r *limitedRun) abandon() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return false
	}
	r.abandoned = true
	r.x.rt.abandoned.add(r.x.what())
	return true
}

// run runs the tool and sends its result, also where the tool ends its goroutine.
func (r *limitedRun) run(ctx context.Context, env *hook.Env) {
	out := panicked()
	defer func() {
		if r.unlock != nil {
			r.unlock()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.over = true; r.abandoned {
			r.x.rt.abandoned.ended(r.x.what())
		}
		r.ended <- out
	}()
	r.x.recovered(ctx, env, &out)
}

func panicked() message.ToolResult {
	return message.FailedResult(message.FailPanic, "the tool panicked") // its value may quote secrets
}

func (x *execution) timeoutText() string { return fmt.Sprintf("timed out after %s", x.limit) }

// inTime marks a failed result as a timeout if the tool's time was over. What
// the tool has to say stays.
func (x *execution) inTime(limited context.Context, r message.ToolResult) message.ToolResult {
	if !r.IsError() || !errors.Is(context.Cause(limited), errToolTimeout) {
		return r
	}
	switch r.Failure {
	case message.FailTimeout:
	case message.FailCancelled:
		r = message.FailedResult(message.FailTimeout, x.timeoutText())
	default:
		r.Failure = message.FailTimeout
	}
	return r
}

// recovered runs the tool; a panic is its result.
func (x *execution) recovered(ctx context.Context, env *hook.Env, r *message.ToolResult) {
	defer func() {
		if recover() != nil {
			*r = panicked()
		}
	}()
	*r = x.runner.Run(ctx, env)
}

// Report implements hook.Reporter: it tells the clients how far the call is.
func (x *execution) Report(text string) {
	x.mu.Lock()
	abandoned := x.abandoned
	x.mu.Unlock()
	if abandoned { // its turn has ended, and the conversation may have another one
		return
	}
	x.events.emit(x.ctx, hook.Event{Kind: event.CallProgress, Text: text}.
		WithDetail(hook.EventDetail{CallID: x.place.ID(), Tool: x.place.Name()}))
}

// correct says what composite.DispatchAll cannot know: that a call never came
// past its queue, and how long it queued.
func (c *call) correct() {
	if c.end.Outcome == hook.OutcomeCancelled {
		return
	}
	c.end.Duration -= c.queued
	if !c.started {
		c.end.Duration = 0
		if !c.refused {
			c.end.Outcome = hook.OutcomeCancelled
		}
	}
}
