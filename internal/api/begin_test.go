package api_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/internal/client"
)

// A turn whose start nobody was told of, because a hook that hangs held it up, is an error
// for who began it.
func TestATurnWhoseStartNobodyIsToldOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.client.CreateAgent(t.Context(), wire.NewAgent{Name: "brief", Limits: wire.Limits{Time: "10ms"}})
	require.NoError(t, err)
	conv, err := w.client.Conversation(t.Context(), "brief", "ann")
	require.NoError(t, err)
	stall := make(chan struct{})
	defer close(stall)
	w.box.stall.Store(&stall)
	_, err = w.client.Send(t.Context(), conv.ID, "hello")
	assert.Equal(t, wire.CodeInternal, client.CodeOf(err), "%v", err)
	assert.ErrorContains(t, err, "before its start could be told")
}
