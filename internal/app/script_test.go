package app_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
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
		err = opened.CheckModel(&hook.AgentConfig{Model: message.Model{Name: "script:link.yaml"}})
	}
	assert.ErrorContains(t, err, "link.yaml")
	assert.NoError(t, opened.CheckModel(&hook.AgentConfig{Model: message.Model{Name: "script:in.yaml"}}))
	assert.NoError(t, opened.CheckModel(&hook.AgentConfig{Model: message.Model{Name: "script:" + outside}}), "what a person names may lie anywhere")
}

// The models of an agent's sections are looked at before its first turn, not when its own fails; a model that a person names is checked
// alone.
func TestTheModelsOfSectionsAreChecked(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		`fallback: {models: ["script:in.yaml", nope]}`:     `chief.md:3:11: there is no model "nope"; write VENDOR:NAME, the vendor being one of `,
		`fallback: {models: ["script:nothere.yaml"]}`:      "chief.md:3:11: model script:nothere.yaml: ",
		`compact: {model: nope}`:                           `chief.md:3:10: there is no model "nope"`,
		`fallback: {models: ["script:in.yaml"], tries: 1}`: "",
	} {
		p := project(t, map[string]string{
			".grapnel/agents/chief.md": "---\nmodel: script:in.yaml\n" + section + "\n---\nHi.\n",
			"in.yaml":                  "rules: [{say: Hi.}]",
		})
		opened, err := app.Open(t.Context(), app.Options{Paths: p})
		require.NoError(t, err)
		agent, err := opened.Register(t.Context(), "chief", hook.AgentConfig{})
		require.NoError(t, err)
		if err = opened.CheckModel(agent.Config()); want == "" {
			assert.NoError(t, err, section)
		} else {
			assert.ErrorContains(t, err, want)
		}
		named := *agent.Config()
		named.Model.Name = "script:" + filepath.Join(p.Root, "in.yaml")
		assert.NoError(t, opened.CheckModel(&named), section)
		require.NoError(t, opened.Close(context.WithoutCancel(t.Context())))
	}
}
