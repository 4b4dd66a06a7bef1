package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
)

// The script of a project's agent lies in the project, whatever path or link leads elsewhere;
// a person names any.
func TestAProjectsScriptLiesInTheProject(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "out.yaml")
	require.NoError(t, os.WriteFile(outside, []byte("rules: [{say: Hi.}]"), 0o600))
	agent := func(model string) map[string]string {
		return map[string]string{".grapnel/agents/chief.md": "---\nmodel: script:" + model + "\n---\nHi.\n", "in.yaml": "rules: [{say: Hi.}]"}
	}
	for _, model := range []string{outside, "../out.yaml", "a/../../out.yaml"} {
		p := project(t, agent(model))
		_, err := app.Open(t.Context(), app.Options{Paths: p})
		assert.ErrorContains(t, err, "chief.md:2:8: the script", model)
		assert.ErrorContains(t, err, "put it there, or name the model with --model", model)
	}
	p := project(t, agent("link.yaml"))
	require.NoError(t, os.Symlink(outside, filepath.Join(p.Root, "link.yaml")))
	opened, err := app.Open(t.Context(), app.Options{Paths: p})
	require.NoError(t, err)
	defer func() { require.NoError(t, opened.Close(t.Context())) }()
	_, err = opened.Register(t.Context(), "chief", hook.AgentConfig{})
	if err == nil {
		err = opened.CheckModel(&hook.AgentConfig{Model: hook.ModelSettings{Name: "script:link.yaml"}})
	}
	assert.ErrorContains(t, err, "link.yaml")
	assert.NoError(t, opened.CheckModel(&hook.AgentConfig{Model: hook.ModelSettings{Name: "script:in.yaml"}}))
	assert.NoError(t, opened.CheckModel(&hook.AgentConfig{Model: hook.ModelSettings{Name: "script:" + outside}}), "what a person names may lie anywhere")
}
