package composite

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// WrapTool implements [hook.WrapTool]: the first member is the outermost.
func (c *Composite) WrapTool(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) hook.ToolResult {
	if len(c.entries.wrapTool) == 0 {
		return next.Run(ctx)
	}
	w := &toolChain{c: c, inner: make([]ToolLevel, len(c.entries.wrapTool))}
	w.ToolWraps = ToolWraps{Call: call, Next: next}
	w.Init(w, w.inner)
	return w.WrapToolAt(ctx, 0)
}

// toolChain is one passage through the wraps, with a level for each.
type toolChain struct {
	ToolWraps
	c     *Composite
	inner []ToolLevel
}

func (w *toolChain) WrapToolAt(ctx context.Context, at int) (result hook.ToolResult) {
	if at == len(w.c.entries.wrapTool) {
		return w.End(ctx)
	}
	e := &w.c.entries.wrapTool[at]
	if !w.c.meant(e.at, w.Call) {
		return w.Through(ctx, at)
	}
	returned := false
	if r := w.c.record(e.at, hook.PointWrapTool, w.Call); r != nil {
		defer func() { r.wrapped(ctx, w.Call.Host(), returned) }()
	}
	defer w.Recover(ctx, at, e.as.Path, e.as.Policy.closed(hook.PointWrapTool), &result)
	bounded, cancel := e.as.within(ctx)
	defer cancel()
	result = e.hook.WrapTool(bounded, w.Call, w.Rest(at))
	returned = true
	return result
}

// WrapModel implements [hook.WrapModel]: the first member is the outermost.
func (c *Composite) WrapModel(ctx context.Context, step *hook.Step, req hook.ModelRequest, next hook.ModelNext) hook.ModelStream {
	if len(c.entries.wrapModel) == 0 {
		return next.Stream(ctx)
	}
	w := &modelChain{c: c, ModelWraps: ModelWraps{Step: step, Req: req, Next: next}}
	w.Init(w)
	return w.WrapModelAt(ctx, 0)
}

// modelChain is one passage through the wraps.
type modelChain struct {
	ModelWraps
	c *Composite
}

func (w *modelChain) WrapModelAt(ctx context.Context, at int) (stream hook.ModelStream) {
	if at == len(w.c.entries.wrapModel) {
		return w.End(ctx)
	}
	e := &w.c.entries.wrapModel[at]
	if !w.c.meant(e.at, w.Step) {
		return w.WrapModelAt(ctx, at+1)
	}
	returned := false
	r := w.c.record(e.at, hook.PointWrapModel, w.Step)
	if r != nil {
		defer func() {
			if !returned {
				r.wrapped(ctx, w.Step.Host(), false)
			}
		}()
	}
	defer w.Recover(ctx, at, e.as.Path, e.as.Policy.closed(hook.PointWrapModel), &stream)
	stream = e.as.stream(ctx, func(ctx context.Context) hook.ModelStream {
		return e.hook.WrapModel(ctx, w.Step, w.Req, w.Rest(at))
	})
	returned = true
	return w.Isolate(e.as.Path, r.stream(ctx, w.Step.Host(), stream))
}
