package app_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/subsystems/memory"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

const (
	agentFile = "---\nmodel: script:model.yaml\n---\n"
	oneAnswer = "rules:\n- say: Done.\n"
)

// reloadable is an open program with the files of agents, all registered, and a function that writes one of them.
func reloadable(t *testing.T, agents map[string]string) (*app.App, func(name, text string)) {
	t.Helper()
	files := map[string]string{"model.yaml": oneAnswer}
	for name, text := range agents {
		files[".grapnel/agents/"+name+".md"] = agentFile + text
	}
	p := project(t, files)
	a, err := app.Open(t.Context(), app.Options{Paths: p})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Close(context.Background())) })
	_, err = a.Register(t.Context(), app.DefaultAgent, hook.AgentConfig{})
	require.NoError(t, err)
	for name := range agents {
		_, err := a.Register(t.Context(), name, hook.AgentConfig{})
		require.NoError(t, err)
	}
	return a, func(name, text string) {
		file := filepath.Join(p.Root, ".grapnel", "agents", name+".md")
		if text == "" {
			require.NoError(t, os.Remove(file))
			return
		}
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
}

func prompt(t *testing.T, a *app.App, name string) string {
	t.Helper()
	agent, err := a.Runtime.Agent(name)
	require.NoError(t, err)
	return agent.Prompt()
}

func TestReload(t *testing.T) {
	t.Parallel()
	a, write := reloadable(t, map[string]string{"changes": "One.", "goes": "Gone.", "stays": "Stays."})
	write("changes", agentFile+"Two.")
	write("goes", "")
	write("comes", agentFile+"New.")
	done, err := a.Reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, app.Reloaded{Added: []string{"comes"}, Updated: []string{"changes"}, Removed: []string{"goes"}, Unchanged: 2}, done)
	assert.Equal(t, []string{"changes", "comes", app.DefaultAgent, "stays"}, a.Runtime.Agents())
	assert.Contains(t, prompt(t, a, "changes"), "Two.")
	assert.Contains(t, prompt(t, a, "comes"), "New.")
	assert.Empty(t, a.File("goes"))

	done, err = a.Reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, app.Reloaded{Unchanged: 4}, done)
}

// TestReloadKeepsTheOldAgents: a mistake in one file changes no agent, and one that is refused stays alone.
func TestReloadKeepsTheOldAgents(t *testing.T) {
	t.Parallel()
	a, write := reloadable(t, map[string]string{"good": "One.", "bad": "One."})
	write("good", agentFile+"Two.")
	write("bad", "---\nno_such_key: 1\n---\nTwo.")
	_, err := a.Reload(t.Context())
	require.ErrorContains(t, err, "bad.md")
	assert.ErrorContains(t, err, "no_such_key")
	assert.Contains(t, prompt(t, a, "good"), "One.")
	assert.Contains(t, prompt(t, a, "bad"), "One.")

	for what, text := range map[string]string{
		"a tool that nobody owns":        "---\nmodel: script:model.yaml\ntools: [no_such_tool]\n---\nTwo.",
		"a model that is not there":      "---\nmodel: script:other.yaml\n---\nTwo.",
		"a choice of a tool that is not": "---\nmodel: script:model.yaml\ntool_choice: {tool: no_such_tool}\n---\nTwo.",
	} {
		write("bad", text)
		done, err := a.Reload(t.Context())
		require.NoError(t, err, what)
		require.Len(t, done.Refused, 1, what)
		assert.Equal(t, "bad", done.Refused[0].Agent, what)
		assert.Contains(t, done.Refused[0].Why, "bad.md", what)
		assert.Contains(t, prompt(t, a, "good"), "Two.", what)
		assert.Contains(t, prompt(t, a, "bad"), "One.", what)
	}
	write("bad", agentFile+"Three.")
	done, err := a.Reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"bad"}, done.Updated, "what was refused is compared with what the agent is")
}

// TestReloadApprovesNothing: what an agent's new file requests and nobody has approved is left out.
func TestReloadApprovesNothing(t *testing.T) {
	t.Parallel()
	a, write := reloadable(t, map[string]string{"sly": "One."})
	write("sly", "---\nmodel: script:model.yaml\nhooks: {Policy: off}\npolicy: {allow: [\"bash(*)\"]}\nmemory: {scope: user}\n---\nTwo.")
	done, err := a.Reload(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"sly"}, done.Updated)
	agent, err := a.Runtime.Agent("sly")
	require.NoError(t, err)
	assert.Empty(t, agent.Plan().OffBy("Policy"))
	rules, _, err := hook.SectionOf[policy.Rules](agent.Config(), "policy")
	require.NoError(t, err)
	assert.Empty(t, rules.Allow)
	memories, _, err := hook.SectionOf[memory.Section](agent.Config(), "memory")
	require.NoError(t, err)
	assert.NotEqual(t, memory.ScopeUser, memories.Scope)
}

// TestReloadUnderOtherRules: what limits agents is read when the program starts, so no agent comes under rules that the program does not have.
func TestReloadUnderOtherRules(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"policy.json", "hooks.json"} {
		a, write := reloadable(t, map[string]string{"one": "One."})
		write("one", agentFile+"Two.")
		_, err := a.Reload(t.Context())
		require.NoError(t, err)
		write("one", agentFile+"Three.")
		file := filepath.Join(filepath.Dir(a.File("one")), "..", name)
		text := `{"deny":["Bash(rm *)"]}`
		if name == "hooks.json" {
			text = `{"Tasks":"off"}`
		}
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err = a.Reload(t.Context())
		require.ErrorContains(t, err, name+" has changed since the program started")
		assert.Contains(t, prompt(t, a, "one"), "Two.")
	}
}

// A reload asks TrustLater, which refuses here: Trust is asked at the start only.
func TestAReloadStartsNoServerThatNobodyHasApproved(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"model.yaml": oneAnswer})
	asked := []string{}
	a, err := app.Open(t.Context(), app.Options{Paths: p,
		Trust: func(_ context.Context, r trust.Request) (trust.Answer, error) {
			asked = append(asked, r.Question())
			return trust.Once, nil
		},
		TrustLater: func(context.Context, trust.Request) (trust.Answer, error) { return trust.No, nil },
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Close(context.Background())) })
	require.Empty(t, asked)
	proof := filepath.Join(t.TempDir(), "proof")
	file := filepath.Join(p.Root, ".grapnel", "agents", "sly.md")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte("---\nmodel: script:model.yaml\nmcp:\n  define:\n    s: {command: touch, args: [\""+proof+"\"]}\n---\nX.\n"), 0o600))
	_, err = a.Reload(t.Context())
	require.NoError(t, err)
	assert.Empty(t, asked, "Trust is asked at the start only")
	assert.NoFileExists(t, proof)
}
