package agents_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

var update = flag.Bool("update", false, "write the golden files")

// speaker is a subsystem with a tool, a prompt and a scope line.
type speaker struct {
	hook.Nop
	tool, prompt string
	scope        hook.Scope
}

func (s speaker) Schema() []message.Tool {
	if s.tool == "" {
		return nil
	}
	return []message.Tool{{Name: s.tool, Input: rig.BoxSchema}}
}
func (s speaker) SystemPrompt(*hook.AgentConfig) string    { return s.prompt }
func (s speaker) ScopedTools(*hook.AgentConfig) hook.Scope { return s.scope }

func TestThePrompt(t *testing.T) {
	t.Parallel()
	env := runtime.Environment{OS: "linux", Shell: "/bin/bash", Platform: "amd64", Root: "/srv/project"}
	shell := speaker{tool: "bash", prompt: "Use bash for commands."}
	notes := speaker{tool: "note", prompt: "Take notes."}
	manners := speaker{prompt: "Be polite."}
	scoped := func(s speaker, tools []string, line string) speaker {
		s.scope = hook.Scope{Tools: tools, Line: line}
		return s
	}
	for _, tc := range []struct {
		name  string
		tools []string
		hooks []hook.Hook
	}{
		{"nop", nil, []hook.Hook{hook.Nop{}}},
		{"all", nil, []hook.Hook{manners, shell, notes}},
		{"without-tools", []string{}, []hook.Hook{manners, shell, notes}},
		{"narrowed-by-configuration", []string{"note"}, []hook.Hook{manners, shell, notes}},
		{"narrowed-by-hooks", nil, []hook.Hook{manners, scoped(shell, []string{}, "bash: off"), scoped(notes, nil, "notes: only about birds")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			prompts := map[string]bool{}
			for range 20 {
				m := rig.Plays(rig.Says("ok"))
				w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Instructions: "You are a helper.\n", Tools: tc.tools}, &runtime.Options{Environment: env}, tc.hooks...)
				w.Send("hi")
				agent, err := w.Runtime.Agent("a")
				require.NoError(t, err)
				assert.Equal(t, agent.Prompt(), m.Requests[0].System)
				parts, turn := agent.PromptParts()
				assert.Equal(t, m.Requests[0].System, joined(parts), "nothing of the prompt is without a contributor")
				assert.Empty(t, turn, "no hook adds anything to turns")
				prompts[agent.Prompt()] = true
			}
			require.Len(t, prompts, 1, "the same registration gives the same bytes")
			for prompt := range prompts {
				golden(t, "prompt-"+tc.name+".txt", prompt+"\n")
			}
		})
	}
}

func joined(parts []runtime.PromptPart) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n\n")
}

// TestWhoSaysWhatInAPrompt: each part of a prompt names its contributor, also those that hooks add to a turn.
func TestWhoSaysWhatInAPrompt(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says("ok"), rig.Says("ok"))
	inner, err := composite.Of("Inner", composite.Field{Name: "Notes", Hook: speaker{tool: "note", prompt: "Take notes."}})
	require.NoError(t, err)
	added := &rig.Adds{
		Sections: rig.Gives(hook.PromptSection{ID: "style", Title: "Style", Text: "Be brief."}),
		Context:  rig.Gives(hook.ContextBlock{Domain: "memory", ID: "boat", Text: "The boat is red."}),
	}
	h, err := composite.Of("Outer", composite.Field{Name: "Manners", Hook: speaker{prompt: "Be polite."}}, composite.Field{Name: "Inner", Hook: inner},
		composite.Field{Name: "Adds", Hook: added})
	require.NoError(t, err)
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Instructions: "You are a helper."}, &runtime.Options{Environment: runtime.Environment{OS: "linux"}}, h)
	agent, err := w.Runtime.Agent("a")
	require.NoError(t, err)
	want := []runtime.PromptPart{
		{By: "agent", At: "instructions", Text: "You are a helper."},
		{By: "runtime", At: "environment", Text: "<environment>\nos: linux\n</environment>"},
		{By: "Manners", At: "SystemPrompt", Text: "Be polite."}, {By: "Inner.Notes", At: "SystemPrompt", Text: "Take notes."},
	}
	got, turn := agent.PromptParts()
	assert.Equal(t, want, got)
	assert.Empty(t, turn)
	w.Send("hi")
	got, turn = agent.PromptParts()
	assert.Equal(t, append(want,
		runtime.PromptPart{By: "Adds", At: "PromptSections", ID: "style", Text: "## Style\n\nBe brief."},
		runtime.PromptPart{By: "Adds", At: "TurnContext", ID: "boat", Text: "<context domain=\"memory\" id=\"boat\">\nThe boat is red.\n</context>"}), got)
	assert.NotEmpty(t, turn)
	assert.Equal(t, m.Requests[0].System, joined(got[:5]))

	_, err = w.Runtime.Update(t.Context(), hook.AgentConfig{Name: "a", Instructions: "You help."})
	require.NoError(t, err)
	got, turn = agent.PromptParts()
	assert.Equal(t, "You help.", got[0].Text)
	assert.Empty(t, turn, "the turn was one of the agent before")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}
