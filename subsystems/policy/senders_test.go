package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// callOf returns a call of bash in a turn below one of the sender, depth levels down.
func callOf(sender string, depth int) *hook.ToolCall {
	var turn *hook.Turn
	for i := range depth + 1 {
		if i > 0 {
			sender = "t/c/0" // that of a child's conversation
		}
		conv := hook.NewConversation(hook.ConversationData{ID: fmt.Sprint("c", i), Sender: sender, Agent: &hook.AgentConfig{Name: fmt.Sprint("a", i)}})
		turn, _ = hook.NewTurn(hook.TurnData{Conversation: conv, ID: fmt.Sprint("t", i), Depth: i, Parent: turn})
	}
	return hook.NewToolCall(hook.ToolCallData{Step: hooktest.Step(turn), ID: "1", Tool: message.Tool{Name: "bash"}, Args: args("command", "ls")})
}

// TestARuleHoldsForItsSenders: also in the turns of children, and where nobody is known it only restricts.
func TestARuleHoldsForItsSenders(t *testing.T) {
	t.Parallel()
	rules, err := policy.Parse([]byte(`{"default":"ask",
		"deny":[{"rule":"Bash","senders":["gateway:*"]}], "allow":[{"rule":"Bash","senders":["ann"],"grant":{"timeout":"1s"}}]}`), "p.json")
	require.NoError(t, err)
	again, err := rules.JSON()
	require.NoError(t, err)
	assert.Contains(t, string(again), `"senders":["gateway:*"]`)
	p, err := policy.New([]policy.Rules{rules}, &policy.Options{})
	require.NoError(t, err)
	for sender, want := range map[string]hook.Answer{"gateway:ann": hook.AnswerDeny, "ann": hook.AnswerNarrow, "bob": hook.AnswerAsk, "": hook.AnswerAsk} {
		for depth := range 3 {
			d, err := p.BeforeTool(t.Context(), callOf(sender, depth))
			require.NoError(t, err)
			assert.Equal(t, want, d.Verdict().Kind, "%q %d", sender, depth)
		}
	}
	d, err := p.BeforeTool(t.Context(), hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: "bash"}, Args: args("command", "ls")}))
	require.NoError(t, err)
	assert.Equal(t, hook.AnswerDeny, d.Verdict().Kind, "outside of a turn nobody is known")

	e, err := p.ExplainFor(nil, "ann", message.Tool{Name: "bash"}, args("command", "ls"))
	require.NoError(t, err)
	assert.Equal(t, policy.Allow, e.Effect)
	e, err = p.Explain(nil, message.Tool{Name: "bash"}, args("command", "ls"))
	require.NoError(t, err)
	assert.Equal(t, policy.Deny, e.Effect)
}

func TestWrongSenders(t *testing.T) {
	t.Parallel()
	for says, senders := range map[string][]string{
		"its list of senders is empty": {}, `"" is no sender`: {""}, "it has 1001 senders": make([]string, 1001),
		"is no sender": {strings.Repeat("x", 1025)},
	} {
		_, err := policy.New([]policy.Rules{{Deny: []policy.Rule{{Rule: "Bash", Senders: senders}}}}, &policy.Options{})
		assert.ErrorContains(t, err, says)
	}
}
