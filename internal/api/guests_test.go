package api_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
)

func TestAGuestAnswersOneMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := t.Context()
	_, err := w.client.CreateAgent(ctx, wire.NewAgent{Name: "visitor", Instructions: "Visit."})
	require.NoError(t, err)
	conv := w.conversation("ann")
	for _, when := range []wire.Busy{"", wire.BusyQueue} {
		turn, err := w.client.SendMessage(ctx, conv.ID, wire.NewMessage{Text: "who is there?", Guest: "visitor", WhenBusy: when})
		require.NoError(t, err)
		assert.Equal(t, "you said: who is there?", last(t, w.follow(turn, nil)).Text)
	}
	w.turn(conv.ID, "and now?")
	messages, err := w.client.Messages(ctx, conv.ID)
	require.NoError(t, err)
	var from []string
	for _, m := range messages {
		from = append(from, m.From)
	}
	assert.Equal(t, []string{"", "visitor", "", "visitor", "", ""}, from, "the answers are the guest's, and the next one is not")

	_, err = w.client.SendMessage(ctx, conv.ID, wire.NewMessage{Text: "hi", Guest: "nobody"})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	require.ErrorContains(t, err, `there is no agent "nobody"; the registered agents are`)
	_, err = w.client.SendMessage(ctx, conv.ID, wire.NewMessage{Text: "hi", Guest: "visitor", WhenBusy: wire.BusySteer})
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	require.ErrorContains(t, err, "guest is for a message that begins a turn")
	after, err := w.client.Messages(ctx, conv.ID)
	require.NoError(t, err)
	assert.Len(t, after, len(messages), "what is refused begins no turn")
}

func TestAnAgentIsMadeWithALoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.client.CreateAgent(t.Context(), wire.NewAgent{Name: "planner", Loop: message.LoopPlanAndExecute})
	require.NoError(t, err)
	a, err := w.rt.Agent("planner")
	require.NoError(t, err)
	assert.Equal(t, message.LoopPlanAndExecute, a.Config().Loop)
	_, err = w.direct.CreateAgent(t.Context(), wire.NewAgent{Name: "odd", Loop: "reflexion"})
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	require.ErrorContains(t, err, `there is no loop "reflexion"; write tool-calling or plan-and-execute`)
}
