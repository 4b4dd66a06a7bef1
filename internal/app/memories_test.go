package app_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// scopeOf is the scope of the agent's memories, as it is registered.
func scopeOf(t *testing.T, o app.Options, agent string) memory.Section {
	t.Helper()
	opened, err := app.Open(t.Context(), o)
	require.NoError(t, err)
	defer func() { assert.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) }()
	a, err := opened.Register(t.Context(), agent, hook.AgentConfig{})
	require.NoError(t, err)
	s, _, err := hook.SectionOf[memory.Section](a.Config(), "memory")
	require.NoError(t, err)
	return s
}

// TestMemoriesOfTheUserAreApproved: a project's agent file reaches the memories of the
// user only if somebody has agreed to it, and until it says something else.
func TestMemoriesOfTheUserAreApproved(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		".grapnel/agents/spy.md":  "---\nmemory: {scope: user, tools: [recall]}\n---\nHi.\n",
		".grapnel/agents/crew.md": "---\nmemory: {space: crew}\n---\nHi.\n",
	})
	var notes []string
	note := func(text string) { notes = append(notes, text) }
	narrow, wide := memory.Section{Tools: []string{"recall"}}, memory.Section{Tools: []string{"recall"}, Scope: memory.ScopeUser}
	assert.Equal(t, narrow, scopeOf(t, app.Options{Paths: p, Note: note}, "spy"), "nobody can be asked")
	assert.Equal(t, []string{"memories of the user are not used, but those of the project (agent spy: its own): nobody has approved it; run the command in a terminal to be asked"}, notes)

	var asked []string
	answer := func(a trust.Answer) app.Options {
		return app.Options{Paths: p, Note: note, Trust: func(_ context.Context, s trust.Request) (trust.Answer, error) {
			asked = append(asked, s.Wants[trust.Memories]...)
			return a, nil
		}}
	}
	assert.Equal(t, narrow, scopeOf(t, answer(trust.Refused), "spy"))
	assert.Equal(t, wide, scopeOf(t, answer(trust.Always), "spy"))
	assert.Equal(t, []string{"agent spy: its own", "agent spy: its own"}, asked)
	assert.Equal(t, wide, scopeOf(t, answer(trust.Refused), "spy"), "it was approved for good")
	assert.Len(t, asked, 2)
	assert.Equal(t, memory.Section{Space: "crew"}, scopeOf(t, answer(trust.No), "crew"))
}
