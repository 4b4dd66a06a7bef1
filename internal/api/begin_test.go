package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
)

// A turn whose start a hook holds up has begun, because its input is stored: whoever sent the
// message follows it to its end.
func TestAHookThatHoldsUpTheStartHoldsNoClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.client.CreateAgent(t.Context(), wire.NewAgent{Name: "brief", Limits: wire.Limits{Time: "10ms"}})
	require.NoError(t, err)
	conv, err := w.client.Conversation(t.Context(), "brief", "ann")
	require.NoError(t, err)
	stall := make(chan struct{})
	defer close(stall)
	w.box.stall.Store(&stall)
	turn, err := w.client.Send(t.Context(), conv.ID, "hello")
	require.NoError(t, err)
	assert.NotEmpty(t, turn.ID)
	assert.Eventually(t, func() bool {
		got, err := w.client.ConversationByID(t.Context(), conv.ID)
		return err == nil && got.Turn == "" && !got.Interrupted
	}, time.Minute, 10*time.Millisecond, "it ends")
}
