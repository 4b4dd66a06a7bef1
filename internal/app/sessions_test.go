package app_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
)

const searching = `rules:
  - when: {result: search_sessions}
    say: "${result:search_sessions}"
  - when: {user: look, tools: [search_sessions]}
    calls: [{tool: search_sessions, args: {query: harbour}}]
  - when: always
    say: The harbour is in the north.
`

// TestAgentsSearchTheConversationsOfTheirScope drives the program: its store, its tool, and the
// sections of three agents.
func TestAgentsSearchTheConversationsOfTheirScope(t *testing.T) {
	t.Parallel()
	agent := func(section string) string { return "---\nmodel: script:s.yaml\n" + section + "---\nHi.\n" }
	p := project(t, map[string]string{
		".grapnel/agents/wide.md": agent("sessions: {scope: project}\n"), ".grapnel/agents/own.md": agent("sessions: {}\n"), ".grapnel/agents/none.md": agent(""), "s.yaml": searching,
	})
	opened, err := app.Open(t.Context(), app.Options{Paths: p})
	require.NoError(t, err)
	defer func() { assert.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) }()
	say := func(agent, sender, text string) string {
		if _, err := opened.Runtime.Agent(agent); err != nil {
			_, err := opened.Register(t.Context(), agent, hook.AgentConfig{})
			require.NoError(t, err)
		}
		conv, err := dialog.Conversation(t.Context(), opened.Runtime, agent, sender)
		require.NoError(t, err)
		out, err := dialog.Send(t.Context(), conv, message.TextInput(text), nil)
		require.NoError(t, err)
		return out.Text()
	}
	say("none", "ann", "Where is the harbour?")
	say("none", "bob", "Is there a harbour?")
	got := say("wide", "ann", "look for the harbour")
	assert.Contains(t, got, "none with ann")
	assert.Contains(t, got, "begins: Where is the harbour?")
	assert.Contains(t, got, "none with bob")
	assert.NotContains(t, got, "wide with", "the running conversation is left out")
	got = say("own", "bob", "look for the harbour")
	assert.Contains(t, got, "none with bob")
	assert.NotContains(t, got, "ann", "nobody sees what others have said")
	assert.Equal(t, "The harbour is in the north.", say("none", "cat", "look for the harbour"), "no section, no tool")
}
