package composite

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// ToolWraps is the part of a composite's chain of WrapTool that does not depend
// on its members. Generated code embeds it in one struct per composite, so that
// a chain costs one allocation however many wraps it has.
type ToolWraps struct {
	Call *hook.ToolCall
	// Next is what the whole chain surrounds.
	Next  hook.ToolNext
	chain hook.ToolChain
	inner []ToolLevel
}

// ToolLevel remembers what the rest of a chain returned to one wrap.
type ToolLevel struct {
	returned bool
	result   hook.ToolResult
}

// Init ties the parts together; inner has one level per wrap.
func (w *ToolWraps) Init(chain hook.ToolChain, inner []ToolLevel) { w.chain, w.inner = chain, inner }

// Rest returns the chain behind the wrap at this position.
func (w *ToolWraps) Rest(at int) hook.ToolNext { return hook.NewToolNext(w.chain, at+1) }

// End runs what the chain surrounds.
func (w *ToolWraps) End(ctx context.Context) hook.ToolResult {
	return w.returned(len(w.inner), w.Next.Run(ctx))
}

// Through runs the chain behind a position that has no wrap: an optional member
// that is nil, or one of a group without the point.
func (w *ToolWraps) Through(ctx context.Context, at int) hook.ToolResult {
	return w.returned(at, w.Rest(at).Run(ctx))
}

// returned notes the result of position at for the wrap in front of it.
func (w *ToolWraps) returned(at int, result hook.ToolResult) hook.ToolResult {
	if at > 0 {
		w.inner[at-1] = ToolLevel{true, result}
	}
	return result
}

// Recover is deferred around the wrap at position at. If the wrap panicked, the
// result of the rest stands if the rest had returned; otherwise the call gets an
// error result, or under an open policy runs without the wrap.
func (w *ToolWraps) Recover(ctx context.Context, at int, owner string, closed bool, result *hook.ToolResult) {
	if v := recover(); v != nil {
		f := newFailure(hook.PointWrapTool, owner, panicError(v), true)
		w.Call.Host().Emit(ctx, hook.FailureEvent(f))
		switch {
		case w.inner[at].returned:
			*result = w.inner[at].result
		case closed:
			*result = hook.FailedResult(hook.FailPanic, f.Public())
		default:
			*result = w.Rest(at).Run(ctx)
		}
	}
	w.returned(at, *result)
}

// WrapToolGroup passes a call through the members of a group that have WrapTool,
// the first outermost. owner is the group, with what holds for each of them.
func WrapToolGroup(ctx context.Context, owner Member, group []hook.Hook, call *hook.ToolCall, next hook.ToolNext) hook.ToolResult {
	if len(group) == 0 {
		return next.Run(ctx)
	}
	c := &toolGroup{owner: owner, group: group, levels: make([]ToolLevel, len(group))}
	c.ToolWraps = ToolWraps{Call: call, Next: next}
	c.Init(c, c.levels)
	return c.WrapToolAt(ctx, 0)
}

type toolGroup struct {
	ToolWraps
	owner  Member
	group  []hook.Hook
	levels []ToolLevel
}

func (c *toolGroup) WrapToolAt(ctx context.Context, at int) (result hook.ToolResult) {
	if at == len(c.group) {
		return c.End(ctx)
	}
	h, ok := c.group[at].(hook.WrapTool)
	if !ok {
		return c.Through(ctx, at)
	}
	defer c.Recover(ctx, at, indexed(c.owner.Path, at), c.owner.Policy.closed(hook.PointWrapTool), &result)
	ctx, cancel := c.owner.within(ctx)
	defer cancel()
	return h.WrapTool(ctx, c.Call, c.Rest(at))
}

// ModelWraps is the same for WrapModel.
type ModelWraps struct {
	Step *hook.Step
	Req  hook.ModelRequest
	// Next is what the whole chain surrounds.
	Next  hook.ModelNext
	chain hook.ModelChain
}

// Init ties the parts together.
func (w *ModelWraps) Init(chain hook.ModelChain) { w.chain = chain }

// Rest returns the chain behind the wrap at this position.
func (w *ModelWraps) Rest(at int) hook.ModelNext { return hook.NewModelNext(w.chain, at+1) }

// End starts what the chain surrounds.
func (w *ModelWraps) End(ctx context.Context) hook.ModelStream { return w.Next.Stream(ctx) }

// Recover is deferred around the call of the wrap at position at; a panic there
// makes a stream of one error, or under an open policy the stream without the
// wrap.
func (w *ModelWraps) Recover(ctx context.Context, at int, owner string, closed bool, stream *hook.ModelStream) {
	if v := recover(); v != nil {
		f := newFailure(hook.PointWrapModel, owner, panicError(v), true)
		if closed {
			*stream = func(yield func(hook.Chunk, error) bool) { yield(hook.Chunk{}, f) }
			return
		}
		w.Step.Host().Emit(ctx, hook.FailureEvent(f))
		*stream = w.Rest(at).Stream(ctx)
	}
}

// Isolate returns the stream of the wrap called owner with a panic in it turned
// into an error; a panic of the consumer goes through.
func (w *ModelWraps) Isolate(owner string, stream hook.ModelStream) hook.ModelStream {
	return func(yield func(hook.Chunk, error) bool) {
		it := iteration{owner: owner, yield: yield}
		it.run(stream)
	}
}

// iteration is one pass over a wrap's stream.
type iteration struct {
	owner    string
	yield    func(hook.Chunk, error) bool
	consumer bool // the consumer is running
	stopped  bool // the consumer wants no more
}

func (it *iteration) run(stream hook.ModelStream) {
	defer it.recover()
	stream(it.pass)
}

func (it *iteration) pass(c hook.Chunk, err error) bool {
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
		it.yield(hook.Chunk{}, newFailure(hook.PointWrapModel, it.owner, panicError(v), true))
	}
}

// WrapModelGroup passes a request through the members of a group that have
// WrapModel, the first outermost.
func WrapModelGroup(ctx context.Context, owner Member, group []hook.Hook, step *hook.Step, req hook.ModelRequest, next hook.ModelNext) hook.ModelStream {
	c := &modelGroup{ModelWraps: ModelWraps{Step: step, Req: req, Next: next}, owner: owner, group: group}
	c.Init(c)
	return c.WrapModelAt(ctx, 0)
}

type modelGroup struct {
	ModelWraps
	owner Member
	group []hook.Hook
}

func (c *modelGroup) WrapModelAt(ctx context.Context, at int) (stream hook.ModelStream) {
	if at == len(c.group) {
		return c.End(ctx)
	}
	h, ok := c.group[at].(hook.WrapModel)
	if !ok {
		return c.WrapModelAt(ctx, at+1)
	}
	path := indexed(c.owner.Path, at)
	defer c.Recover(ctx, at, path, c.owner.Policy.closed(hook.PointWrapModel), &stream)
	return c.Isolate(path, c.owner.stream(ctx, func(ctx context.Context) hook.ModelStream {
		return h.WrapModel(ctx, c.Step, c.Req, c.Rest(at))
	}))
}
