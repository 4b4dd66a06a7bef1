package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
)

// A turn may say whether the model has to call a tool, and which; the next turn is as the agent's configuration has it.
func TestSpecATurnChoosesItsTool(t *testing.T) {
	t.Parallel()
	m := plays(says("1"), says("2"))
	w := start(t, m, box(named("echo")))
	choice := message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "echo"}
	_, err := w.conv.Send(t.Context(), message.TextInput("1"), &runtime.TurnOptions{Model: message.Model{Choice: choice}})
	require.NoError(t, err)
	w.send("2")
	require.Len(t, m.requests, 2)
	assert.Equal(t, choice, m.requests[0].Model.Choice)
	assert.Zero(t, m.requests[1].Model.Choice)
}
