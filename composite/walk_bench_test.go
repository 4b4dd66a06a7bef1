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

// OnEvent hears of an event and does nothing.
//
//go:noinline
func (s *silent) OnEvent(context.Context, hook.Event) { s.asked++ }

type eight struct{ A, B, C, D, E, F, G, H *silent }

func newEight(t testing.TB) (*eight, *composite.Composite) {
	x := &eight{new(silent), new(silent), new(silent), new(silent), new(silent), new(silent), new(silent), new(silent)}
	c, err := composite.New(x)
	require.NoError(t, err)
	return x, c
}

// limit calls them as interfaces, without isolation, paths or merging.
func limit(ctx context.Context, all []hook.BeforeTool, call *hook.ToolCall) (hook.ToolDecision, error) {
	for _, h := range all {
		if d, err := h.BeforeTool(ctx, call); err != nil || d != (hook.ToolDecision{}) {
			return d, err
		}
	}
	return hook.ToolDecision{}, nil
}

func BenchmarkEightDeciders(b *testing.B) {
	x, c := newEight(b)
	call, ctx := hook.NewToolCall(hook.ToolCallData{ID: "1"}), b.Context()
	all := []hook.BeforeTool{x.A, x.B, x.C, x.D, x.E, x.F, x.G, x.H}
	b.Run("limit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = limit(ctx, all, call)
		}
	})
	b.Run("walk", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = c.BeforeTool(ctx, call)
		}
	})
}

func TestSilentMembersAllocateNothing(t *testing.T) {
	x, c := newEight(t)
	call, ctx := hook.NewToolCall(hook.ToolCallData{ID: "1"}), t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = c.BeforeTool(ctx, call) }))
	require.Equal(t, 101, x.H.asked)
	require.Zero(t, testing.AllocsPerRun(100, func() { c.OnEvent(ctx, hook.Event{}) }))
	require.Equal(t, 202, x.H.asked)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = c.BeforeStep(ctx, nil) }), "nobody has it")
}
