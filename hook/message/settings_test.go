package message_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
)

// fullModel returns settings with every field set.
func fullModel() message.Model {
	return message.Model{
		Name: "m", MaxTokens: 100, ContextWindow: 1000, Temperature: message.Some(0.0), TopP: message.Some(0.9), Seed: message.Some(int64(7)),
		Reasoning: message.Reasoning{Effort: message.EffortHigh}, Stop: message.ListOf("END"),
		Choice: message.ToolChoice{Mode: message.ToolChoiceRequired}, Format: message.ResponseFormat{JSON: true}, Tier: "flex", Extra: `{"a":1}`,
	}
}

func TestTheJSONOfAModel(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(fullModel())
	require.NoError(t, err)
	assert.JSONEq(t, `{"name":"m","max_tokens":100,"context_window":1000,"temperature":0,"top_p":0.9,"seed":7,"reasoning":"high","stop":["END"],
		"tool_choice":{"mode":"required"},"format":{"json":true},"service_tier":"flex","extra":{"a":1}}`, string(data))
	assert.Equal(t, fullModel(), recoded(t, fullModel()))
	empty, err := json.Marshal(message.Model{})
	require.NoError(t, err)
	assert.JSONEq(t, `{}`, string(empty))
	assert.True(t, message.Model{}.IsZero())
}

// TestEveryFieldOfAModelCounts finds a field that IsZero or Merge forgets.
func TestEveryFieldOfAModelCounts(t *testing.T) {
	t.Parallel()
	var members map[string]json.RawMessage
	data, err := json.Marshal(fullModel())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &members))
	require.Len(t, members, 12)
	for name, value := range members {
		var one message.Model
		require.NoError(t, json.Unmarshal([]byte(`{"`+name+`":`+string(value)+`}`), &one))
		assert.False(t, one.IsZero(), name)
		assert.Equal(t, one, message.Model{}.Merge(one), name)
		assert.Equal(t, one, one.Merge(message.Model{}), name)
	}
	over := message.Model{Temperature: message.Some(1.0), Reasoning: message.Reasoning{Budget: 5}}
	merged := fullModel().Merge(over)
	assert.Equal(t, message.Some(1.0), merged.Temperature)
	assert.Equal(t, message.Reasoning{Budget: 5}, merged.Reasoning)
	assert.Equal(t, "m", merged.Name)
}

func TestAModelForAnotherName(t *testing.T) {
	t.Parallel()
	assert.Equal(t, fullModel(), fullModel().For("m"))
	other := fullModel().For("n")
	assert.Equal(t, "n", other.Name)
	assert.Zero(t, other.ContextWindow)
	assert.Zero(t, other.Tier)
	assert.Zero(t, other.Extra)
	assert.Equal(t, message.Some(0.9), other.TopP)
	named := message.Model{Extra: `{"a":1}`}
	assert.Equal(t, message.Model{Name: "n", Extra: `{"a":1}`}, named.For("n"), "settings without a name are for whoever answers")
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]message.Reasoning{
		`"off"`: {Effort: message.EffortOff}, `"low"`: {Effort: message.EffortLow}, `"medium"`: {Effort: message.EffortMedium},
		`"high"`: {Effort: message.EffortHigh}, `8000`: {Budget: 8000}, `""`: {},
	} {
		var got message.Reasoning
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		assert.Equal(t, want, got)
		data, err := json.Marshal(got)
		require.NoError(t, err)
		assert.Equal(t, text, string(data))
	}
	for _, text := range []string{`"much"`, `0`, `-1`, `1.5`, `true`, `{}`} {
		var got message.Reasoning
		require.ErrorContains(t, json.Unmarshal([]byte(text), &got), "write off, low, medium, high or a number of tokens", text)
	}
}
