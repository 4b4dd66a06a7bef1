package differential_test

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/states"
	"github.com/grapnel-go/grapnel/internal/test/differential"
)

// stated is a generated composite and its dynamic twin over the same members.
func stated(t *testing.T, seen func(*hook.Step, int, int)) map[string]*composite.Composite {
	t.Helper()
	s := &differential.Stated{A: &differential.Counter{Seen: seen}, Extra: []hook.Hook{nil, &differential.Counter{Seen: seen}}}
	s.B.Seen = seen
	twin, err := composite.New(s)
	require.NoError(t, err)
	return map[string]*composite.Composite{"generated": s.Compose(), "dynamic": twin}
}

func TestBothFindTheSameStates(t *testing.T) {
	t.Parallel()
	for name, c := range stated(t, nil) {
		keys, err := states.Of(c)
		require.NoError(t, err)
		assert.Equal(t, []string{"A.all", "B.all", "Extra[1].all"}, slices.Sorted(maps.Keys(keys)), name)
	}
}

// Turns at the same time over one composite, several of one conversation: what a
// member counts in a turn is that turn's own.
func TestTurnsAtTheSameTimeShareNoState(t *testing.T) {
	t.Parallel()
	const conversations, turns, steps = 8, 8, 50
	var mixed atomic.Int64
	seen := func(step *hook.Step, turn, _ int) {
		if turn != step.Number() {
			mixed.Add(1)
		}
	}
	for name, c := range stated(t, seen) {
		require.True(t, c.Has(point.BeforeModel), name)
		var wg sync.WaitGroup
		for range conversations {
			conv := hook.NewConversation(hook.ConversationData{Agent: &hook.AgentConfig{Name: "a"}})
			for range turns {
				turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv})
				wg.Go(func() {
					for n := range steps {
						_, err := c.BeforeModel(t.Context(), hook.NewStep(turn, n+1, "m"), message.ModelRequest{})
						assert.NoError(t, err)
					}
				})
			}
		}
		wg.Wait()
		assert.Zero(t, mixed.Load(), name)
	}
}
