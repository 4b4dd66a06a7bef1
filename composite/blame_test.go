package composite_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// brokenHost panics when it is told something.
type brokenHost struct{ hook.NoHost }

func (brokenHost) Emit(context.Context, hook.Event) { panic("the host is broken") }

// A panic of the host that is told of a hook's run is the host's, and no failure of that hook.
func TestAPanicOfTheHostIsNoMembersFailure(t *testing.T) {
	t.Parallel()
	c, err := composite.New(&struct{ G hook.Hook }{point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.AskTool("sure?"), nil
	})})
	require.NoError(t, err)
	conv := hook.NewConversation(hook.ConversationData{Agent: &hook.AgentConfig{}, Host: brokenHost{}})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv})
	call := hook.NewToolCall(hook.ToolCallData{Step: hook.NewStep(turn, 1, "m")})
	assert.PanicsWithValue(t, "the host is broken", func() { _, _ = c.Recorded(nil).BeforeTool(t.Context(), call) })
}
