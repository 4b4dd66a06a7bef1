package composite_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

func TestNoHookIsAHookThatDoesNothing(t *testing.T) {
	c, err := composite.From(nil)
	require.NoError(t, err)
	require.NoError(t, c.Ready())
	cfg := &hook.AgentConfig{Name: "a"}
	assert.Empty(t, c.Schema())
	assert.Empty(t, c.SystemPrompt(cfg))
	assert.Zero(t, c.ScopedTools(cfg))
	in := message.TextInput("hello")
	got, err := c.Preprocess(t.Context(), nil, in)
	require.NoError(t, err)
	assert.Equal(t, in, got)
	_, owned := c.Dispatch(t.Context(), newCall(nil, "x"))
	assert.False(t, owned)
}
