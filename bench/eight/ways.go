package eight

import (
	"context"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
)

// Composite asks through the generated composite.
func Composite(h *Hooks) Way {
	x := h.Composite().Compose()
	return func(ctx context.Context, w *Work) bool {
		bm, err1 := x.BeforeModel(ctx, w.Step, w.Request)
		am, err2 := x.AfterModel(ctx, w.Step, w.Reply)
		bt, err3 := x.BeforeTool(ctx, w.Call)
		at, err4 := x.AfterTool(ctx, w.Call, w.Outcome)
		return silent(bm, err1) && silent(am, err2) && silent(bt, err3) && silent(at, err4)
	}
}

// silent reports whether a decision is none.
func silent[D comparable](d D, err error) bool {
	var none D
	return err == nil && d == none
}

// Direct is written by hand for these eight: one call after the other, on their own
// type. Those after the model and after the tool are asked in reverse order.
func Direct(h *Hooks) Way {
	return func(ctx context.Context, w *Work) bool {
		a, b, c, d, e, f, g, i := &h[0], &h[1], &h[2], &h[3], &h[4], &h[5], &h[6], &h[7]
		s, q, r, t, o := w.Step, w.Request, w.Reply, w.Call, w.Outcome
		return silent(a.BeforeModel(ctx, s, q)) && silent(b.BeforeModel(ctx, s, q)) && silent(c.BeforeModel(ctx, s, q)) &&
			silent(d.BeforeModel(ctx, s, q)) && silent(e.BeforeModel(ctx, s, q)) && silent(f.BeforeModel(ctx, s, q)) &&
			silent(g.BeforeModel(ctx, s, q)) && silent(i.BeforeModel(ctx, s, q)) &&
			silent(i.AfterModel(ctx, s, r)) && silent(g.AfterModel(ctx, s, r)) && silent(f.AfterModel(ctx, s, r)) &&
			silent(e.AfterModel(ctx, s, r)) && silent(d.AfterModel(ctx, s, r)) && silent(c.AfterModel(ctx, s, r)) &&
			silent(b.AfterModel(ctx, s, r)) && silent(a.AfterModel(ctx, s, r)) &&
			silent(a.BeforeTool(ctx, t)) && silent(b.BeforeTool(ctx, t)) && silent(c.BeforeTool(ctx, t)) &&
			silent(d.BeforeTool(ctx, t)) && silent(e.BeforeTool(ctx, t)) && silent(f.BeforeTool(ctx, t)) &&
			silent(g.BeforeTool(ctx, t)) && silent(i.BeforeTool(ctx, t)) &&
			silent(i.AfterTool(ctx, t, o)) && silent(g.AfterTool(ctx, t, o)) && silent(f.AfterTool(ctx, t, o)) &&
			silent(e.AfterTool(ctx, t, o)) && silent(d.AfterTool(ctx, t, o)) && silent(c.AfterTool(ctx, t, o)) &&
			silent(b.AfterTool(ctx, t, o)) && silent(a.AfterTool(ctx, t, o))
	}
}

// around is what an interface has that is to be asked at all four points.
type around interface {
	hook.BeforeModel
	hook.AfterModel
	hook.BeforeTool
	hook.AfterTool
}

func (h *Hooks) list() []around {
	out := make([]around, len(h))
	for i := range h {
		out[i] = &h[i]
	}
	return out
}

// Interface walks a list of interface values.
func Interface(h *Hooks) Way {
	list := h.list()
	return func(ctx context.Context, w *Work) bool {
		for _, x := range list {
			if !silent(x.BeforeModel(ctx, w.Step, w.Request)) {
				return false
			}
		}
		for _, x := range slices.Backward(list) {
			if !silent(x.AfterModel(ctx, w.Step, w.Reply)) {
				return false
			}
		}
		for _, x := range list {
			if !silent(x.BeforeTool(ctx, w.Call)) {
				return false
			}
		}
		for _, x := range slices.Backward(list) {
			if !silent(x.AfterTool(ctx, w.Call, w.Outcome)) {
				return false
			}
		}
		return true
	}
}

// next is what middleware surrounds: the model call or the tool call.
type next func(ctx context.Context, w *Work) bool

func model(x around, inner next) next {
	return func(ctx context.Context, w *Work) bool {
		return silent(x.BeforeModel(ctx, w.Step, w.Request)) && inner(ctx, w) && silent(x.AfterModel(ctx, w.Step, w.Reply))
	}
}

func tool(x around, inner next) next {
	return func(ctx context.Context, w *Work) bool {
		return silent(x.BeforeTool(ctx, w.Call)) && inner(ctx, w) && silent(x.AfterTool(ctx, w.Call, w.Outcome))
	}
}

// wrapped is middleware: each hook surrounds the next, and the last one the call.
func wrapped(list []around, wrap func(around, next) next) next {
	inner := func(context.Context, *Work) bool { return true }
	for _, x := range slices.Backward(list) {
		inner = wrap(x, inner)
	}
	return inner
}

// Closures is middleware that is wrapped once.
func Closures(h *Hooks) Way {
	aroundModel, aroundTool := wrapped(h.list(), model), wrapped(h.list(), tool)
	return func(ctx context.Context, w *Work) bool { return aroundModel(ctx, w) && aroundTool(ctx, w) }
}

// ClosuresPerCall is middleware that is wrapped anew for every call.
func ClosuresPerCall(h *Hooks) Way {
	list := h.list()
	return func(ctx context.Context, w *Work) bool {
		return wrapped(list, model)(ctx, w) && wrapped(list, tool)(ctx, w)
	}
}

// key finds in a context what a hook has left there.
type key int

// ContextChain has every hook return a context with a value of its own before the
// call, and find it again after it, as handlers do that have no other state.
func ContextChain(h *Hooks) Way {
	list := h.list()
	return func(ctx context.Context, w *Work) bool {
		outer := ctx
		for i, x := range list {
			if !silent(x.BeforeModel(ctx, w.Step, w.Request)) {
				return false
			}
			ctx = context.WithValue(ctx, key(i), x)
		}
		for i := range slices.Backward(list) {
			x, ok := ctx.Value(key(i)).(around)
			if !ok || !silent(x.AfterModel(ctx, w.Step, w.Reply)) {
				return false
			}
		}
		ctx = outer
		for i, x := range list {
			if !silent(x.BeforeTool(ctx, w.Call)) {
				return false
			}
			ctx = context.WithValue(ctx, key(i), x)
		}
		for i := range slices.Backward(list) {
			x, ok := ctx.Value(key(i)).(around)
			if !ok || !silent(x.AfterTool(ctx, w.Call, w.Outcome)) {
				return false
			}
		}
		return true
	}
}
