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

func TestSilentMembersAllocateNothing(t *testing.T) {
	x, c := newEight(t)
	call, ctx := hook.NewToolCall(hook.ToolCallData{ID: "1"}), t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = c.BeforeTool(ctx, call) }))
	require.Equal(t, 101, x.H.asked)
	require.Zero(t, testing.AllocsPerRun(100, func() { c.OnEvent(ctx, hook.Event{}) }))
	require.Equal(t, 202, x.H.asked)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = c.BeforeStep(ctx, nil) }), "nobody has it")
}
