package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
)

// errToolTimeout is the cause with which a tool's context ends when its own time
// is over, and not the turn's.
var errToolTimeout = errors.New("runtime: the tool's time is over")

// execute runs the calls that are not settled, and concludes each as it ends. Of
// the last one nobody is told: its result is written down with the whole step.
func (t *turn) execute(reply hook.ModelReply, calls []call) {
	batch := make([]composite.Call, 0, len(calls))
	index := make([]int, 0, 8) // of the calls that run; stays on the stack for a few
	for i := range calls {
		if c := &calls[i]; !c.settled() {
			c.arm(t)
			batch = append(batch, composite.Call{Runner: &c.execution, Env: &c.env, Waits: c.waits, Inline: c.inline})
			index = append(index, i)
		}
	}
	if len(batch) == 0 {
		return
	}
	noted := false
	if len(batch) < len(calls) {
		t.now()
	}
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
	o := composite.DispatchOptions{Limit: t.rt.o.Slots, Grace: t.grace()}
	composite.DispatchEach(t.ctx, batch, &o, func(i int, done composite.Completion) {
		c := &calls[index[i]]
		c.end.Outcome, c.end.Result, c.end.Duration = done.Outcome, done.Result, done.Duration
		if !done.Left {
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
	t.now()
	if !t.conv.journals() {
		t.tellOf(c)
		return
	}
	t.ahead(func() { t.tellOf(c) }, func() { t.noteResult(c) })
}

// arm makes the call ready to run.
func (c *call) arm(t *turn) {
	x := &c.execution
	x.rt, x.wrap, x.events, x.ctx, x.place = t.rt, t.hooks.wrapTool, &t.conv.events, t.durable, c.at
	x.grace = t.grace()
	tool := c.at.Tool()
	x.waits, x.exclusive, x.limit = tool.Waits, tool.Exclusive, shorter(tool.Timeout, c.grant.Timeout)
	x.inline = tool.Inline && !x.waits && x.exclusive == "" && x.limit == 0 && x.wrap == nil
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

// execution is one call while it runs. It is what composite.DispatchEach runs and
// what the wraps surround; from outside: wraps, exclusive key, slot, time limit,
// recovery, tool. A stray goroutine may hold it after the turn has ended.
type execution struct {
	rt     *Runtime
	wrap   hook.WrapTool
	events *emitter
	ctx    context.Context
	place  *hook.ToolCall
	runner hook.Runner
	limit  time.Duration
	grace  time.Duration
	env    hook.Env
	// waits and exclusive are those of the tool.
	waits     bool
	exclusive string
	// inline: the call runs on the goroutine of the turn, which nothing holds up.
	inline bool

	// What follows belongs to the running goroutine until the call is completed, and
	// for ever if it is left behind.
	attempts int
	// unlock frees the exclusive key; nil if there is none.
	unlock func()
	// queued is how long the call waited for its key and slot.
	queued  time.Duration
	started bool
	// last is what the tool returned, if it is back.
	last hook.ToolResult
	back bool
}

var (
	_ hook.Runner    = (*execution)(nil)
	_ hook.ToolChain = (*execution)(nil)
	_ hook.Reporter  = (*execution)(nil)
)

// Run implements hook.Runner.
func (x *execution) Run(ctx context.Context, _ *hook.Env) hook.ToolResult {
	if x.wrap == nil {
		return x.WrapToolAt(ctx, 0)
	}
	return x.wrapped(ctx)
}

// wrapped runs the hook's wrap. If it panics, the result of the tool stands if
// there is one.
func (x *execution) wrapped(ctx context.Context) (r hook.ToolResult) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		f := panicOf(hook.PointWrapTool, v)
		x.events.Emit(ctx, hook.FailureEvent(f))
		r = x.last
		if !x.back {
			r = hook.FailedResult(hook.FailPanic, f.Public())
		}
	}()
	return x.wrap.WrapTool(ctx, x.place, hook.NewToolNext(x, 0))
}

// WrapToolAt implements hook.ToolChain: it is one attempt.
func (x *execution) WrapToolAt(ctx context.Context, _ int) hook.ToolResult {
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

// notAdmitted is the result of an attempt that was cancelled before it started: that
// of the attempt before, if it had one.
func (x *execution) notAdmitted(had bool) hook.ToolResult {
	if x.back = had; had {
		return x.last
	}
	return hook.FailedResult(hook.FailCancelled, "cancelled before it started")
}

// admit gets the exclusive key and a slot, which free gives back. False if ctx ended
// before.
func (x *execution) admit(ctx context.Context) bool {
	return x.exclusive == "" && (x.slotless() || x.takeSlot()) || x.queue(ctx) == nil
}

// queue waits for the exclusive key and a slot.
func (x *execution) queue(ctx context.Context) (err error) {
	waiting := time.Now()
	defer func() { x.queued += time.Since(waiting) }()
	if x.unlock, err = x.rt.keys.lock(ctx, x.exclusive); err != nil {
		return err
	}
	if x.waits {
		return nil
	}
	select {
	case x.rt.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		x.unlock()
		x.unlock = nil
		return ctx.Err()
	}
}

// slotless: it takes none of the slots.
func (x *execution) slotless() bool { return x.waits || x.inline }

func (x *execution) takeSlot() bool {
	select {
	case x.rt.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (x *execution) free() {
	if !x.slotless() {
		<-x.rt.slots
	}
	if x.unlock != nil {
		x.unlock()
		x.unlock = nil
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

// again is what a further attempt is told: a stray of the attempt before may still
// hold the first.
func (x *execution) again() *hook.Env {
	env := x.env
	env.Attempt = x.attempts
	return &env
}

// limited runs the tool on a goroutine of its own, so that one that ignores its
// context holds the turn no longer than the grace period.
func (x *execution) limited(ctx context.Context, env *hook.Env) hook.ToolResult {
	limited, cancel := context.WithTimeoutCause(ctx, x.limit, errToolTimeout)
	defer cancel()
	env.Deadline, _ = limited.Deadline()
	ended := make(chan hook.ToolResult, 1)
	go x.report(limited, env, ended)
	select {
	case r := <-ended:
		return x.inTime(limited, r)
	case <-limited.Done():
	}
	grace := time.NewTimer(x.grace)
	defer grace.Stop()
	select {
	case r := <-ended:
		return x.inTime(limited, r)
	case <-grace.C:
		if ctx.Err() != nil {
			return hook.FailedResult(hook.FailCancelled, "interrupted: the tool did not end when the turn was cancelled; what it did is not known")
		}
		return hook.FailedResult(hook.FailTimeout, x.timeoutText()+"; it did not end, and what it did is not known")
	}
}

// report runs the tool and sends its result, also where the tool ends its
// goroutine.
func (x *execution) report(ctx context.Context, env *hook.Env, ended chan<- hook.ToolResult) {
	r := panicked()
	defer func() { ended <- r }()
	x.recovered(ctx, env, &r)
}

func panicked() hook.ToolResult {
	return hook.FailedResult(hook.FailPanic, "the tool panicked") // its value may quote secrets
}

func (x *execution) timeoutText() string { return fmt.Sprintf("timed out after %s", x.limit) }

// inTime marks a failed result as a timeout if the tool's time was over. What
// the tool has to say stays.
func (x *execution) inTime(limited context.Context, r hook.ToolResult) hook.ToolResult {
	if !r.IsError() || !errors.Is(context.Cause(limited), errToolTimeout) {
		return r
	}
	switch r.Failure {
	case hook.FailTimeout:
	case hook.FailCancelled:
		r = hook.FailedResult(hook.FailTimeout, x.timeoutText())
	default:
		r.Failure = hook.FailTimeout
	}
	return r
}

// recovered runs the tool; a panic is its result.
func (x *execution) recovered(ctx context.Context, env *hook.Env, r *hook.ToolResult) {
	defer func() {
		if recover() != nil {
			*r = panicked()
		}
	}()
	*r = x.runner.Run(ctx, env)
}

// Report implements hook.Reporter: it tells the clients how far the call is.
func (x *execution) Report(text string) {
	x.events.emit(x.ctx, hook.Event{Kind: hook.EventCallProgress, Text: text}.
		WithDetail(hook.EventDetail{CallID: x.place.ID(), Tool: x.place.Name()}))
}

// correct says what composite.DispatchEach cannot know: that a call never came
// past its queue, and how long it queued.
func (c *call) correct() {
	if c.end.Outcome == hook.OutcomeCancelled {
		return
	}
	c.end.Duration -= c.queued
	if !c.started {
		c.end.Outcome, c.end.Duration = hook.OutcomeCancelled, 0
	}
}
