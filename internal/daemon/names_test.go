package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
)

// TestAnAgentThatCannotBeKept: one that is too long or too deep for the file is refused, and takes nobody along.
func TestAnAgentThatCannotBeKept(t *testing.T) {
	t.Parallel()
	deep := message.JSON(strings.Repeat(`{"items":`, 98) + "{}" + strings.Repeat("}", 98))
	for name, big := range map[string]wire.NewAgent{
		"long": {Name: "big", Model: "script:model.yaml", Instructions: strings.Repeat("x", 2<<20)},
		"deep": {Name: "big", Model: "script:model.yaml", Format: message.ResponseFormat{JSON: true, Schema: deep}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paths := project(t)
			while(t, paths, func(c *client.Client) {
				_, err := c.CreateAgent(t.Context(), wire.NewAgent{Name: "good", Model: "script:model.yaml"})
				require.NoError(t, err)
				_, err = c.CreateAgent(t.Context(), big)
				require.Error(t, err)
				agents, err := c.Agents(t.Context())
				require.NoError(t, err)
				assert.Equal(t, []string{"good", "grapnel", "helper"}, names(agents))
			})
			while(t, paths, func(c *client.Client) {
				_, err := c.Agent(t.Context(), "good")
				assert.NoError(t, err)
			})
		})
	}
}

// TestADaemonStartsWithoutTheAgentsOfClients: it says that it cannot read them.
func TestADaemonStartsWithoutTheAgentsOfClients(t *testing.T) {
	t.Parallel()
	paths := project(t)
	require.NoError(t, os.MkdirAll(paths.State, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(paths.State, "agents.json"), []byte("{"), 0o600))
	notes := while(t, paths, func(c *client.Client) {
		_, err := c.Agent(t.Context(), "helper")
		assert.NoError(t, err)
	})
	assert.Contains(t, strings.Join(notes, "\n"), "mend or delete the file")
}

// TestReloadedAgentsThatNameEachOther: they come together, and none of them goes alone.
func TestReloadedAgentsThatNameEachOther(t *testing.T) {
	t.Parallel()
	paths := project(t)
	dir := filepath.Join(paths.Root, ".grapnel", "agents")
	write := func(name, to string) {
		text := "---\nmodel: script:model.yaml\ndelegate: {agents: [" + to + "]}\n---\nX.\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o600))
	}
	while(t, paths, func(c *client.Client) {
		write("alpha", "beta")
		write("beta", "alpha")
		done, err := c.Reload(t.Context())
		require.NoError(t, err)
		assert.Equal(t, wire.Reloaded{Added: []string{"alpha", "beta"}, Unchanged: 2}, done)
		require.NoError(t, os.Remove(filepath.Join(dir, "beta.md")))
		_, err = c.Reload(t.Context())
		require.ErrorContains(t, err, `agent "alpha": section delegate: agents: there is no agent "beta"`)
		_, err = c.Agent(t.Context(), "beta")
		assert.NoError(t, err, "nothing has changed")
	})
}

// TestKeptAgentsThatNameEachOther: whatever their names, both are there after a restart.
func TestKeptAgentsThatNameEachOther(t *testing.T) {
	t.Parallel()
	paths := project(t)
	while(t, paths, func(c *client.Client) {
		for _, a := range []wire.NewAgent{{Name: "zed"}, {Name: "abe", Sections: map[string]message.JSON{"delegate": `{"agents":["zed"]}`}}} {
			a.Model = "script:model.yaml"
			_, err := c.CreateAgent(t.Context(), a)
			require.NoError(t, err)
		}
	})
	while(t, paths, func(c *client.Client) {
		_, err := c.Agent(t.Context(), "abe")
		assert.NoError(t, err)
	})
}
