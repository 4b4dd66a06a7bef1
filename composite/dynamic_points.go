package composite

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// The methods below give every point of package hook to the dynamic composite,
// one line each. A test compares them with the declarations.

// RewriteArgs implements [hook.RewriteArgs].
func (c *Composite) RewriteArgs(ctx context.Context, call *hook.ToolCall, args hook.JSON) (hook.JSON, error) {
	return rewrite(ctx, c, hook.PointRewriteArgs, args, call, func(ctx context.Context, h hook.RewriteArgs, v hook.JSON) (hook.JSON, error) {
		return h.RewriteArgs(ctx, call, v)
	})
}

// BeforeTool implements [hook.BeforeTool]. The error is always nil.
func (c *Composite) BeforeTool(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	return decide(ctx, c, hook.PointBeforeTool, call, func(ctx context.Context, h hook.BeforeTool) (hook.ToolDecision, error) {
		return h.BeforeTool(ctx, call)
	}), nil
}

// Approve implements [hook.Approve]. The error is always nil.
func (c *Composite) Approve(ctx context.Context, call *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	return decide(ctx, c, hook.PointApprove, call, func(ctx context.Context, h hook.Approve) (hook.ApprovalDecision, error) {
		return h.Approve(ctx, call, asked)
	}), nil
}

// WrapTool implements [hook.WrapTool].
func (c *Composite) WrapTool(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) hook.ToolResult {
	w := &toolChain{c: c, inner: make([]ToolLevel, len(c.members))}
	w.ToolWraps = ToolWraps{Call: call, Next: next}
	w.Init(w, w.inner)
	return w.WrapToolAt(ctx, 0)
}

type toolChain struct {
	ToolWraps
	c     *Composite
	inner []ToolLevel
}

func (w *toolChain) WrapToolAt(ctx context.Context, at int) (result hook.ToolResult) {
	if at == len(w.c.members) {
		return w.End(ctx)
	}
	m := &w.c.members[at]
	h, ok := m.hook.(hook.WrapTool)
	if !ok || m.left.Has(hook.PointWrapTool) || !m.match.place(w.Call) {
		return w.Through(ctx, at)
	}
	as, returned := &w.c.table(hook.PointWrapTool)[at], false
	if r := w.c.record(at, hook.PointWrapTool, w.Call); r != nil {
		defer func() { r.wrapped(ctx, w.Call.Host(), returned) }()
	}
	defer w.Recover(ctx, at, as.Path, as.Policy.closed(hook.PointWrapTool), &result)
	bounded, cancel := as.within(ctx)
	defer cancel()
	result = h.WrapTool(bounded, w.Call, w.Rest(at))
	returned = true
	return result
}

// RewriteResult implements [hook.RewriteResult].
func (c *Composite) RewriteResult(ctx context.Context, call *hook.ToolCall, result hook.ToolResult) (hook.ToolResult, error) {
	return rewrite(ctx, c, hook.PointRewriteResult, result, call, func(ctx context.Context, h hook.RewriteResult, v hook.ToolResult) (hook.ToolResult, error) {
		return h.RewriteResult(ctx, call, v)
	})
}

// AfterTool implements [hook.AfterTool]. The error is always nil.
func (c *Composite) AfterTool(ctx context.Context, call *hook.ToolCall, outcome hook.ToolOutcome) (hook.OutcomeDecision, error) {
	return decide(ctx, c, hook.PointAfterTool, call, func(ctx context.Context, h hook.AfterTool) (hook.OutcomeDecision, error) {
		return h.AfterTool(ctx, call, outcome)
	}), nil
}

// RewriteRequest implements [hook.RewriteRequest].
func (c *Composite) RewriteRequest(ctx context.Context, step *hook.Step, req hook.ModelRequest) (hook.ModelRequest, error) {
	return rewrite(ctx, c, hook.PointRewriteRequest, req, step, func(ctx context.Context, h hook.RewriteRequest, v hook.ModelRequest) (hook.ModelRequest, error) {
		return h.RewriteRequest(ctx, step, v)
	})
}

// BeforeModel implements [hook.BeforeModel]. The error is always nil.
func (c *Composite) BeforeModel(ctx context.Context, step *hook.Step, req hook.ModelRequest) (hook.ModelDecision, error) {
	return decide(ctx, c, hook.PointBeforeModel, step, func(ctx context.Context, h hook.BeforeModel) (hook.ModelDecision, error) {
		return h.BeforeModel(ctx, step, req)
	}), nil
}

// WrapModel implements [hook.WrapModel].
func (c *Composite) WrapModel(ctx context.Context, step *hook.Step, req hook.ModelRequest, next hook.ModelNext) hook.ModelStream {
	w := &modelChain{c: c, ModelWraps: ModelWraps{Step: step, Req: req, Next: next}}
	w.Init(w)
	return w.WrapModelAt(ctx, 0)
}

type modelChain struct {
	ModelWraps
	c *Composite
}

func (w *modelChain) WrapModelAt(ctx context.Context, at int) (stream hook.ModelStream) {
	if at == len(w.c.members) {
		return w.End(ctx)
	}
	m := &w.c.members[at]
	h, ok := m.hook.(hook.WrapModel)
	if !ok || m.left.Has(hook.PointWrapModel) || !m.match.place(w.Step) {
		return w.WrapModelAt(ctx, at+1)
	}
	as, returned := &w.c.table(hook.PointWrapModel)[at], false
	r := w.c.record(at, hook.PointWrapModel, w.Step)
	if r != nil {
		defer func() {
			if !returned {
				r.wrapped(ctx, w.Step.Host(), false)
			}
		}()
	}
	defer w.Recover(ctx, at, as.Path, as.Policy.closed(hook.PointWrapModel), &stream)
	stream = as.stream(ctx, func(ctx context.Context) hook.ModelStream {
		return h.WrapModel(ctx, w.Step, w.Req, w.Rest(at))
	})
	returned = true
	return w.Isolate(as.Path, r.stream(ctx, w.Step.Host(), stream))
}

// RewriteReply implements [hook.RewriteReply].
func (c *Composite) RewriteReply(ctx context.Context, step *hook.Step, reply hook.ModelReply) (hook.ModelReply, error) {
	return rewrite(ctx, c, hook.PointRewriteReply, reply, step, func(ctx context.Context, h hook.RewriteReply, v hook.ModelReply) (hook.ModelReply, error) {
		return h.RewriteReply(ctx, step, v)
	})
}

// AfterModel implements [hook.AfterModel]. The error is always nil.
func (c *Composite) AfterModel(ctx context.Context, step *hook.Step, reply hook.ModelReply) (hook.ReplyDecision, error) {
	return decide(ctx, c, hook.PointAfterModel, step, func(ctx context.Context, h hook.AfterModel) (hook.ReplyDecision, error) {
		return h.AfterModel(ctx, step, reply)
	}), nil
}

// OnOpen implements [hook.OnOpen]: in order; on failure those before are closed
// in reverse order.
func (c *Composite) OnOpen(ctx context.Context, host hook.Host) error {
	b := c.bracket(hook.PointOnOpen)
	if c.rec != nil {
		c.rec.host.Store(&host)
	}
	for i, h := range having[hook.OnOpen](c, hook.PointOnOpen, nil) {
		b.At = i + 1
		r := c.record(i, hook.PointOnOpen, nil).in(&b.walk)
		openOne(ctx, &b, func(ctx context.Context) error { return h.OnOpen(ctx, host) })
		if r != nil {
			r.end(ctx, &b.walk, host)
		}
		if b.Err() != nil {
			return joinErrors(b.Err(), c.close(ctx, i))
		}
	}
	return nil
}

// OnClose implements [hook.OnClose]: in reverse order, all of them.
func (c *Composite) OnClose(ctx context.Context) error { return c.close(ctx, len(c.members)) }

// close closes the first n members.
func (c *Composite) close(ctx context.Context, n int) error {
	b := c.bracket(hook.PointOnClose)
	for i, h := range having[hook.OnClose](c, hook.PointOnClose, nil) {
		if b.At = i + 1; i < n {
			r := c.record(i, hook.PointOnClose, nil).in(&b.walk)
			openOne(ctx, &b, func(ctx context.Context) error { return h.OnClose(ctx) })
			if r != nil {
				r.end(ctx, &b.walk, c.rec.opener())
			}
		}
	}
	return b.Err()
}
