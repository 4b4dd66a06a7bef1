package runtime_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
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
	return []message.Tool{{Name: s.tool, Input: boxSchema}}
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
				m := plays(says("ok"))
				w := startWith(t, m, hook.AgentConfig{Name: "a", Instructions: "You are a helper.\n", Tools: tc.tools}, &runtime.Options{Environment: env}, tc.hooks...)
				w.send("hi")
				agent, err := w.rt.Agent("a")
				require.NoError(t, err)
				assert.Equal(t, agent.Prompt(), m.requests[0].System)
				prompts[agent.Prompt()] = true
			}
			require.Len(t, prompts, 1, "the same registration gives the same bytes")
			for prompt := range prompts {
				golden(t, "prompt-"+tc.name+".txt", prompt+"\n")
			}
		})
	}
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
