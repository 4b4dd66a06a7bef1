package composite_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// picky surrounds the calls of one model.
type picky struct {
	hook.Nop
	model string
	calls *int
}

func (p *picky) WantsStream(_ *hook.Step, req message.ModelRequest) bool {
	return req.Model.Name == p.model
}

func (p *picky) WrapModel(ctx context.Context, _ *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	*p.calls++
	return next.Stream(ctx)
}

type asIs struct{ stream message.ModelStream }

func (n asIs) Stream(context.Context) message.ModelStream { return n.stream }

// A call that no member wants does not pass the chain, also in a composite within another.
func TestStreamFilter(t *testing.T) {
	t.Parallel()
	calls := 0
	inner, err := composite.Of("Inner", composite.Field{Name: "Picky", Hook: &picky{model: "m", calls: &calls}})
	require.NoError(t, err)
	outer, err := composite.Of("Outer", composite.Field{Name: "Inner", Hook: inner}, composite.Field{Name: "Other", Hook: &picky{model: "n", calls: &calls}})
	require.NoError(t, err)
	step := hooktest.Step(nil)
	for model, want := range map[string]struct {
		wanted bool
		calls  int
	}{"m": {true, 1}, "n": {true, 1}, "o": {false, 0}} {
		calls = 0
		req := message.ModelRequest{Model: message.Model{Name: model}}
		assert.Equal(t, want.wanted, outer.WantsStream(step, req), model)
		for range outer.WrapModel(t.Context(), step, req, asIs{func(func(message.Chunk, error) bool) {}}) {
			assert.Fail(t, "the stream is empty")
		}
		assert.Equal(t, want.calls, calls, model)
	}
}

// holder holds the replies of one model.
type holder struct {
	hook.Nop
	model string
}

func (h *holder) HoldsReply(step *hook.Step) bool { return step.Model() == h.model }

func (h *holder) RewriteReply(_ context.Context, _ *hook.Step, reply message.ModelReply) (message.ModelReply, error) {
	return reply, nil
}

// A reply is held if one member holds it, also in a composite within another, or says nothing about it.
func TestReplyFilter(t *testing.T) {
	t.Parallel()
	step := hooktest.Step(nil)
	held := func(fields ...composite.Field) bool {
		inner, err := composite.Of("Inner", fields...)
		require.NoError(t, err)
		outer, err := composite.Of("Outer", composite.Field{Name: "Inner", Hook: inner}, composite.Field{Name: "Other", Hook: &holder{model: "nobody"}})
		require.NoError(t, err)
		return outer.HoldsReply(step)
	}
	silent := point.RewriteReplyFunc(func(_ context.Context, _ *hook.Step, reply message.ModelReply) (message.ModelReply, error) {
		return reply, nil
	})
	assert.False(t, held(composite.Field{Name: "Nobody", Hook: &holder{model: "nobody"}}))
	assert.True(t, held(composite.Field{Name: "Nobody", Hook: &holder{model: "nobody"}}, composite.Field{Name: "Mine", Hook: &holder{model: step.Model()}}))
	assert.True(t, held(composite.Field{Name: "Silent", Hook: silent}))
}
