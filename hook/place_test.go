package hook_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

func TestPlaces(t *testing.T) {
	agent := &hook.AgentConfig{Name: "writer"}
	conv := hook.NewConversation(hook.ConversationData{ID: "c1", Sender: "ann", Agent: agent, Host: host{name: "h"}})
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	turn, tell := hook.NewTurn(hook.TurnData{
		Conversation: conv, ID: "t1", Number: 3, Started: started, Depth: 1, Input: message.TextInput("hi"),
		Limits: hook.Limits{Steps: 4}, Now: func() time.Time { return started.Add(time.Second) },
	})
	step := hook.NewStep(turn, 2, "m")
	call := hook.NewToolCall(hook.ToolCallData{
		Step: step, ID: "k1", Tool: message.Tool{Name: "users_query", Waits: true}, Index: 1, Args: `{"a":1}`, Original: `{ "a": 1 }`,
	})

	assert.Equal(t, []string{"c1", "ann"}, []string{conv.ID(), conv.Sender()})
	assert.Same(t, agent, conv.Agent())
	assert.Same(t, agent, turn.Agent())
	assert.Same(t, conv, turn.Conversation())
	assert.Equal(t, []int{3, 1, 4}, []int{turn.Number(), turn.Depth(), turn.Limits().Steps})
	assert.Equal(t, []any{"t1", started, time.Second, "hi"}, []any{turn.ID(), turn.Started(), turn.Elapsed(), turn.Input().Text()})
	assert.Same(t, turn, step.Turn())
	assert.Equal(t, []any{2, "m"}, []any{step.Number(), step.Model()})
	assert.Same(t, step, call.Step())
	assert.Equal(t, []any{"k1", "users_query", 1, true}, []any{call.ID(), call.Name(), call.Index(), call.Tool().Waits})
	for _, h := range []hook.Host{turn.Host(), step.Host(), call.Host()} {
		assert.Equal(t, host{name: "h"}, h)
	}

	assert.Equal(t, hook.Standing{}, turn.Standing())
	tell.Tell(hook.Standing{Steps: 2, Usage: message.Usage{Input: 7}})
	assert.Equal(t, hook.Standing{Steps: 2, Usage: message.Usage{Input: 7}}, turn.Standing())

	other := call.WithArgs(`{"a":2}`).As("query")
	assert.Equal(t, []any{"query", message.JSON(`{"a":2}`), message.JSON(`{ "a": 1 }`), "k1"}, []any{other.Name(), other.Args(), other.Original(), other.ID()})
	assert.Equal(t, []any{"users_query", message.JSON(`{"a":1}`)}, []any{call.Name(), call.Args()}, "the call itself stays as it is")
}

func TestPlacesWithoutAHost(t *testing.T) {
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: hook.NewConversation(hook.ConversationData{})})
	for _, h := range []hook.Host{
		turn.Host(), hook.NewStep(turn, 1, "").Host(), hook.NewStep(nil, 1, "").Host(),
		hook.NewToolCall(hook.ToolCallData{}).Host(), hook.NewToolCall(hook.ToolCallData{Step: hook.NewStep(nil, 1, "")}).Host(),
	} {
		h.Emit(t.Context(), hook.Event{}) // must not panic
	}
}

func TestNopIsTheIdentity(t *testing.T) {
	var h hook.Nop
	cfg := hook.AgentConfig{Name: "a", Tools: []string{"x"}}.WithSection("s", `{}`)
	assert.Empty(t, h.Schema())
	assert.Empty(t, h.SystemPrompt(&cfg))
	built, err := h.OnBuildAgent(t.Context(), cfg)
	assert.NoError(t, err)
	assert.Equal(t, cfg, built)
	assert.NoError(t, h.OnRegisterAgent(t.Context(), &cfg))
	h.OnUnregisterAgent(t.Context(), &cfg)
	in, err := h.Preprocess(t.Context(), nil, message.TextInput("hi"))
	assert.NoError(t, err)
	assert.Equal(t, message.TextInput("hi"), in)
	assert.False(t, h.ScopedTools(&cfg).Restricted())
	assert.True(t, hook.Scope{Tools: []string{}}.Restricted(), "empty and non-nil means none")
	_, owned := h.Dispatch(t.Context(), hook.NewToolCall(hook.ToolCallData{}))
	assert.False(t, owned)
}

func TestEnvProgress(t *testing.T) {
	var env hook.Env
	env.Progress("nobody listens")
	var got []string
	env.WithProgress(func(s string) { got = append(got, s) }).Progress("half")
	assert.Equal(t, []string{"half"}, got)
}

func TestValidToolName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "mcp__server__tool-1": true, "": false, "a b": false, "a.b": false, "ä": false, "a\n": false,
		"x123456789012345678901234567890123456789012345678901234567890123":  true,
		"x1234567890123456789012345678901234567890123456789012345678901234": false,
	} {
		assert.Equal(t, want, message.ValidToolName(name), "%q", name)
	}
}

func TestARenamedCallKeepsTheModelsName(t *testing.T) {
	call := hook.NewToolCall(hook.ToolCallData{ID: "c1", Tool: message.Tool{Name: "ecko"}, Args: `{"a":1}`, Original: `{"a": 1}`})
	assert.Equal(t, "ecko", call.OriginalName())
	again := call.Renamed(message.Tool{Name: "u_echo", Description: "Echoes."})
	assert.Equal(t, "u_echo", again.Name())
	assert.Equal(t, "Echoes.", again.Tool().Description)
	assert.Equal(t, "ecko", again.OriginalName())
	assert.Equal(t, "ecko", again.As("echo").WithArgs(`{}`).OriginalName(), "within its owner too")
	assert.Equal(t, "echo", again.As("echo").Name())
	assert.Equal(t, message.JSON(`{"a": 1}`), again.Original())
	assert.Equal(t, "ecko", call.Name(), "a place never changes")
}
