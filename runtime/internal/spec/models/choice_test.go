package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// A turn may say whether the model has to call a tool, and which; the next turn is as the agent's configuration has it.
func TestSpecATurnChoosesItsTool(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says("1"), rig.Says("2"))
	w := rig.Start(t, m, rig.Box(rig.Named("echo")))
	choice := message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "echo"}
	_, err := w.Conv.Send(t.Context(), message.TextInput("1"), &runtime.TurnOptions{Model: message.Model{Choice: choice}})
	require.NoError(t, err)
	w.Send("2")
	require.Len(t, m.Requests, 2)
	assert.Equal(t, choice, m.Requests[0].Model.Choice)
	assert.Zero(t, m.Requests[1].Model.Choice)
}
