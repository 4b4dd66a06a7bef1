package composite

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// WrapTool implements [hook.WrapTool]: the first member is the outermost.
func (c *Composite) WrapTool(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	if len(c.entries.wrapTool) == 0 {
		return next.Run(ctx)
	}
	w := &toolChain{c: c, call: call, next: next, levels: make([]level, len(c.entries.wrapTool))}
	for i := range w.levels {
		w.levels[i] = level{chain: w, from: i + 1}
	}
	return w.run(ctx, 0)
}

// toolChain is one call's way through all wraps.
type toolChain struct {
	c    *Composite
	call *hook.ToolCall
	// next runs the operation that the chain surrounds.
	next   hook.ToolNext
	levels []level
}

// level has the result that the rest of the chain returned to one wrap.
type level struct {
	chain *toolChain
	// from is the position of the first wrap of the rest.
	from     int
	returned bool
	result   message.ToolResult
}

// Run implements [hook.ToolNext].
func (l *level) Run(ctx context.Context) message.ToolResult { return l.chain.run(ctx, l.from) }

// run runs the chain from position at on.
func (w *toolChain) run(ctx context.Context, at int) (result message.ToolResult) {
	if at == len(w.levels) {
		return w.returned(at, w.next.Run(ctx))
	}
	e := &w.c.entries.wrapTool[at]
	if !w.c.matches(e.index, w.call) {
		return w.returned(at, w.run(ctx, at+1))
	}
	returned := false
	if r := w.c.record(e.index, point.WrapTool, w.call).begins(ctx, w.call.Host(), event.RunRunning); r != nil {
		defer func() { r.endWrap(ctx, w.call.Host(), returned) }()
	}
	defer w.recover(ctx, at, &e.as, &result)
	bounded, cancel := e.as.within(ctx)
	defer cancel()
	result = e.hook.WrapTool(bounded, w.call, &w.levels[at])
	returned = true
	return result
}

// returned records the result of position at for the wrap around it.
func (w *toolChain) returned(at int, result message.ToolResult) message.ToolResult {
	if at > 0 {
		rest := &w.levels[at-1]
		rest.returned, rest.result = true, result
	}
	return result
}

// recover is deferred around a wrap. If the wrap panicked after the rest of the chain had
// returned, the rest's result counts. Otherwise the call gets an error result, or under an
// open policy runs without the wrap.
func (w *toolChain) recover(ctx context.Context, at int, as *Member, result *message.ToolResult) {
	if v := recover(); v != nil {
		f := newFailure(point.WrapTool, as.Path, panicError(v), true)
		w.call.Host().Emit(ctx, f.Event())
		switch {
		case w.levels[at].returned:
			*result = w.levels[at].result
		case as.closed(point.WrapTool, f.Err):
			*result = message.FailedResult(message.FailPanic, f.Public())
		default:
			*result = w.run(ctx, at+1)
		}
	}
	w.returned(at, *result)
}

// WrapModel implements [hook.WrapModel]: the first member is the outermost.
func (c *Composite) WrapModel(ctx context.Context, step *hook.Step, req message.ModelRequest, next hook.ModelNext) message.ModelStream {
	if !c.WantsStream(step, req) {
		return next.Stream(ctx)
	}
	return (&modelChain{c: c, step: step, req: req, next: next}).Stream(ctx)
}

// StreamFilter is implemented by a hook with WrapModel that leaves most model calls alone. A call that
// all such hooks pass over costs nothing.
type StreamFilter interface {
	// WantsStream reports whether WrapModel shall surround the call. It is asked once for each
	// request, before WrapModel, and is short.
	WantsStream(step *hook.Step, req message.ModelRequest) bool
}

// WantsStream implements [StreamFilter]: it reports whether a member has to surround the
// call.
func (c *Composite) WantsStream(step *hook.Step, req message.ModelRequest) bool {
	for i := range c.entries.wrapModel {
		if wants(c.entries.wrapModel[i].hook, step, req) {
			return true
		}
	}
	return false
}

func wants(h hook.WrapModel, step *hook.Step, req message.ModelRequest) bool {
	f, ok := h.(StreamFilter)
	return !ok || f.WantsStream(step, req)
}

// ReplyFilter is implemented by a hook with RewriteReply that leaves most replies alone. A reply that no such hook holds
// is shown as it comes.
type ReplyFilter interface {
	// HoldsReply reports whether nobody may see the step's reply before RewriteReply and AfterModel have answered. It is
	// asked once for each request, and is short. RewriteReply is called whatever the answer.
	HoldsReply(step *hook.Step) bool
}

// HoldsReply implements [ReplyFilter]: it reports whether a member holds the reply.
func (c *Composite) HoldsReply(step *hook.Step) bool {
	for i := range c.entries.rewriteReply {
		if f, ok := c.entries.rewriteReply[i].hook.(ReplyFilter); !ok || f.HoldsReply(step) {
			return true
		}
	}
	return false
}

// modelChain is one request's way through all wraps.
type modelChain struct {
	c    *Composite
	step *hook.Step
	req  message.ModelRequest
	// next runs the operation that the chain surrounds.
	next hook.ModelNext
	// from is the position of the first wrap.
	from int
}

// rest returns the chain behind its first wrap.
func (w *modelChain) rest() *modelChain {
	rest := *w
	rest.from++
	return &rest
}

// Stream implements [hook.ModelNext].
func (w *modelChain) Stream(ctx context.Context) (stream message.ModelStream) {
	if w.from == len(w.c.entries.wrapModel) {
		return w.next.Stream(ctx)
	}
	e := &w.c.entries.wrapModel[w.from]
	if !w.c.matches(e.index, w.step) || !wants(e.hook, w.step, w.req) {
		return w.rest().Stream(ctx)
	}
	returned := false
	r := w.c.record(e.index, point.WrapModel, w.step).begins(ctx, w.step.Host(), event.RunRunning)
	if r != nil {
		defer func() {
			if !returned {
				r.endWrap(ctx, w.step.Host(), false)
			}
		}()
	}
	defer w.recover(ctx, &e.as, &stream)
	stream = e.as.stream(ctx, func(ctx context.Context) message.ModelStream {
		return e.hook.WrapModel(ctx, w.step, w.req, w.rest())
	})
	returned = true
	return isolated(e.as.Path, r.stream(ctx, w.step.Host(), stream))
}

// recover is deferred around the call of a wrap. After a panic the stream is one error, or
// under an open policy the stream without the wrap.
func (w *modelChain) recover(ctx context.Context, as *Member, stream *message.ModelStream) {
	v := recover()
	if v == nil {
		return
	}
	f := newFailure(point.WrapModel, as.Path, panicError(v), true)
	if as.closed(point.WrapModel, f.Err) {
		*stream = func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, f) }
		return
	}
	w.step.Host().Emit(ctx, f.Event())
	*stream = w.rest().Stream(ctx)
}

// isolated returns the stream of the wrap named owner with its panics turned into errors.
// A panic of the consumer passes.
func isolated(owner string, stream message.ModelStream) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		it := iteration{owner: owner, yield: yield}
		it.run(stream)
	}
}

// iteration is one pass over a wrap's stream.
type iteration struct {
	owner    string
	yield    func(message.Chunk, error) bool
	consumer bool // the consumer is running
	stopped  bool // the consumer wants no more
}

func (it *iteration) run(stream message.ModelStream) {
	defer it.recover()
	stream(it.pass)
}

func (it *iteration) pass(c message.Chunk, err error) bool {
	it.consumer = true
	more := it.yield(c, err)
	it.consumer = false
	it.stopped = !more
	return more
}

func (it *iteration) recover() {
	if it.consumer {
		return
	}
	if v := recover(); v != nil && !it.stopped {
		it.yield(message.Chunk{}, newFailure(point.WrapModel, it.owner, panicError(v), true))
	}
}
