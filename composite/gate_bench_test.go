package composite_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
)

// silent is a decider without an opinion.
type silent struct {
	hook.Nop
	asked int
}

// A real decider is too large to be inlined.
//
//go:noinline
func (s *silent) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	s.asked++
	return hook.ToolDecision{}, nil
}

// eight has the shape of generated code for eight deciders; the generator's own
// output is measured where it is generated.
type eight struct{ a, b, c, d, e, f, g, h *silent }

func newEight() *eight {
	return &eight{new(silent), new(silent), new(silent), new(silent), new(silent), new(silent), new(silent), new(silent)}
}

var eightBeforeTool = [...]composite.Member{
	{Path: "A"}, {Path: "B"}, {Path: "C"}, {Path: "D"}, {Path: "E"}, {Path: "F"}, {Path: "G"}, {Path: "H"},
}

func (x *eight) BeforeTool(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	g := composite.NewGate[hook.ToolDecision](hook.PointBeforeTool, eightBeforeTool[:])
	for !g.Done() {
		x.beforeTool(ctx, call, &g)
	}
	if g.Failed() {
		g.Report(ctx, call.Host())
	}
	return g.Decision(), nil
}

func (x *eight) beforeTool(ctx context.Context, call *hook.ToolCall, g *composite.Gate[hook.ToolDecision]) {
	defer g.Recover()
	switch g.At {
	case 0:
		g.At = 1
		if g.Answer(x.a.BeforeTool(ctx, call)) {
			return
		}
		fallthrough
	case 1:
		g.At = 2
		if g.Answer(x.b.BeforeTool(ctx, call)) {
			return
		}
		fallthrough
	case 2:
		g.At = 3
		if g.Answer(x.c.BeforeTool(ctx, call)) {
			return
		}
		fallthrough
	case 3:
		g.At = 4
		if g.Answer(x.d.BeforeTool(ctx, call)) {
			return
		}
		fallthrough
	case 4:
		g.At = 5
		if g.Answer(x.e.BeforeTool(ctx, call)) {
			return
		}
		fallthrough
	case 5:
		g.At = 6
		if g.Answer(x.f.BeforeTool(ctx, call)) {
			return
		}
		fallthrough
	case 6:
		g.At = 7
		if g.Answer(x.g.BeforeTool(ctx, call)) {
			return
		}
		fallthrough
	case 7:
		g.At = 8
		if g.Answer(x.h.BeforeTool(ctx, call)) {
			return
		}
	}
}

// limit is the same chain without isolation, paths or merging.
func (x *eight) limit(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	var none hook.ToolDecision
	if d, err := x.a.BeforeTool(ctx, call); err != nil || d != none {
		return d, err
	}
	if d, err := x.b.BeforeTool(ctx, call); err != nil || d != none {
		return d, err
	}
	if d, err := x.c.BeforeTool(ctx, call); err != nil || d != none {
		return d, err
	}
	if d, err := x.d.BeforeTool(ctx, call); err != nil || d != none {
		return d, err
	}
	if d, err := x.e.BeforeTool(ctx, call); err != nil || d != none {
		return d, err
	}
	if d, err := x.f.BeforeTool(ctx, call); err != nil || d != none {
		return d, err
	}
	if d, err := x.g.BeforeTool(ctx, call); err != nil || d != none {
		return d, err
	}
	if d, err := x.h.BeforeTool(ctx, call); err != nil || d != none {
		return d, err
	}
	return none, nil
}

func BenchmarkEightDeciders(b *testing.B) {
	x, call := newEight(), hook.NewToolCall(hook.ToolCallData{ID: "1"})
	b.Run("limit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = x.limit(b.Context(), call)
		}
	})
	b.Run("generated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = x.BeforeTool(b.Context(), call)
		}
	})
}

func TestSilentDecidersAllocateNothing(t *testing.T) {
	x, call := newEight(), hook.NewToolCall(hook.ToolCallData{ID: "1"})
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = x.BeforeTool(ctx, call) }))
	require.Equal(t, 101, x.h.asked)
}
