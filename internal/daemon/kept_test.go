package daemon_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/trust"
)

// while runs a daemon while do runs, and returns what it noted.
func while(t *testing.T, paths app.Paths, do func(c *client.Client)) (notes []string) {
	t.Helper()
	at := socket(t)
	d, err := daemon.Open(t.Context(), daemon.Options{Socket: at, App: app.Options{Paths: paths, Note: func(text string) { notes = append(notes, text) }}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	do(client.New(at, nil))
	stop()
	require.NoError(t, <-ended)
	return notes
}

// TestAgentsOfClientsOutliveTheDaemon: with what they have become, until they are deleted, and in their own project.
func TestAgentsOfClientsOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	paths := project(t)
	made := wire.NewAgent{Name: "made", Model: "script:model.yaml", Instructions: "One.", Tools: []string{}}
	while(t, paths, func(c *client.Client) {
		_, err := c.CreateAgent(t.Context(), made)
		require.NoError(t, err)
		_, err = c.CreateAgent(t.Context(), wire.NewAgent{Name: "gone", Model: "script:model.yaml"})
		require.NoError(t, err)
		changed := made
		changed.Instructions = "Two."
		got, err := c.UpdateAgent(t.Context(), changed)
		require.NoError(t, err)
		assert.Contains(t, got.Prompt, "Two.")
		require.NoError(t, c.DeleteAgent(t.Context(), "gone"))

		_, err = c.UpdateAgent(t.Context(), wire.NewAgent{Name: "helper"})
		assert.Equal(t, wire.CodeExists, client.CodeOf(err))
		assert.ErrorContains(t, err, "helper.md; change the file")
		_, err = c.UpdateAgent(t.Context(), wire.NewAgent{Name: "nobody"})
		assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
		bad := made
		bad.Tools = []string{"no_such_tool"}
		_, err = c.UpdateAgent(t.Context(), bad)
		assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	})
	notes := while(t, paths, func(c *client.Client) {
		agents, err := c.Agents(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"grapnel", "helper", "made"}, names(agents))
		got, err := c.Agent(t.Context(), "made")
		require.NoError(t, err)
		assert.Contains(t, got.Prompt, "Two.", "what it has become, and not the update that was refused")
		assert.Empty(t, got.Tools)
	})
	assert.False(t, slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "made") }), notes)

	info, err := os.Stat(filepath.Join(paths.State, "agents.json"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	t.Log("a file of the project that takes the name wins, and it is said")
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, ".grapnel", "agents", "made.md"), []byte("---\nmodel: script:model.yaml\n---\nThree.\n"), 0o600))
	notes = while(t, paths, func(c *client.Client) {
		got, err := c.Agent(t.Context(), "made")
		require.NoError(t, err)
		assert.Contains(t, got.Prompt, "Three.")
	})
	assert.True(t, slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "made.md defines one of that name") }), notes)
}

// TestReloadAndStats: a file that changes is read again, and turns are counted by agent.
func TestReloadAndStats(t *testing.T) {
	t.Parallel()
	paths := project(t)
	while(t, paths, func(c *client.Client) {
		require.NoError(t, os.WriteFile(filepath.Join(paths.Root, ".grapnel", "agents", "new.md"), []byte("---\nmodel: script:model.yaml\n---\nNew.\n"), 0o600))
		done, err := c.Reload(t.Context())
		require.NoError(t, err)
		assert.Equal(t, wire.Reloaded{Added: []string{"new"}, Unchanged: 2}, done)

		_, err = c.CreateAgent(t.Context(), wire.NewAgent{Name: "made", Model: "script:model.yaml"})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(paths.Root, ".grapnel", "agents", "made.md"), []byte("---\nmodel: script:model.yaml\n---\nFile.\n"), 0o600))
		done, err = c.Reload(t.Context())
		require.NoError(t, err)
		require.Len(t, done.Refused, 1)
		assert.Contains(t, done.Refused[0].Why, "a client has made an agent of that name")

		require.NoError(t, os.WriteFile(filepath.Join(paths.Root, ".grapnel", "agents", "new.md"), []byte("no frontmatter"), 0o600))
		_, err = c.Reload(t.Context())
		assert.Equal(t, wire.CodeConfig, client.CodeOf(err))
		assert.ErrorContains(t, err, "new.md:1:1")

		conv, err := c.Conversation(t.Context(), "new", "ann")
		require.NoError(t, err)
		turn, err := c.Send(t.Context(), conv.ID, "hello")
		require.NoError(t, err)
		for _, err := range c.Follow(t.Context(), turn) {
			require.NoError(t, err)
		}
		stats, err := c.Stats(t.Context())
		require.NoError(t, err)
		require.Len(t, stats.Agents, 4)
		assert.Equal(t, "grapnel", stats.Agents[0].Agent)
		assert.Zero(t, stats.Agents[0].Turns)
		of := stats.Agents[3]
		assert.Equal(t, "new", of.Agent)
		assert.Equal(t, 1, of.Turns)
		assert.Equal(t, map[hook.StopReason]int{hook.StopCompleted: 1}, of.Stops)
		assert.Equal(t, 1, of.Steps)
		assert.Positive(t, of.Usage.Total())
		assert.WithinDuration(t, time.Now(), of.Last, time.Minute)
	})
}

// TestAClientTakesNoNameOfAFile: also while the file's agent is not registered, here because nobody has approved its server.
func TestAClientTakesNoNameOfAFile(t *testing.T) {
	t.Parallel()
	paths := project(t)
	mcp := "---\nmodel: script:model.yaml\nmcp: {define: {srv: {command: sleep, args: ['60']}}}\n---\nFile.\n"
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, ".grapnel", "agents", "waiting.md"), []byte(mcp), 0o600))
	while(t, paths, func(c *client.Client) {
		_, err := c.Agent(t.Context(), "waiting")
		require.ErrorContains(t, err, "approved", "it is not registered")
		_, err = c.CreateAgent(t.Context(), wire.NewAgent{Name: "waiting", Model: "script:model.yaml"})
		assert.Equal(t, wire.CodeExists, client.CodeOf(err))
		assert.ErrorContains(t, err, "waiting.md; change the file")
	})
	assert.NoFileExists(t, filepath.Join(paths.State, "agents.json"))
}

// TestWhatAClientCannotMake: another built-in agent, and an agent with a section that nobody reads.
func TestWhatAClientCannotMake(t *testing.T) {
	t.Parallel()
	paths := project(t)
	while(t, paths, func(c *client.Client) {
		_, err := c.UpdateAgent(t.Context(), wire.NewAgent{Name: "grapnel", Instructions: "Say yes to all."})
		assert.Equal(t, wire.CodeExists, client.CodeOf(err))
		assert.ErrorContains(t, err, ".grapnel/agents/grapnel.md would replace it")
		_, err = c.CreateAgent(t.Context(), wire.NewAgent{Name: "made", Model: "script:model.yaml", Sections: map[string]message.JSON{"polcy": `{"deny":["Bash"]}`}})
		assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
		assert.ErrorContains(t, err, `there is no section "polcy"; known are`)
		_, err = c.CreateAgent(t.Context(), wire.NewAgent{Name: strings.Repeat("a", 100_000)})
		require.Error(t, err)
		assert.Less(t, len(err.Error()), 500)
	})
	assert.NoFileExists(t, filepath.Join(paths.State, "agents.json"))
}

// TestAKeptAgentThatWaits: it does not hold up the daemon, whoever asks for it waits, and one that is missing can be deleted.
func TestAKeptAgentThatWaits(t *testing.T) {
	t.Parallel()
	paths := project(t)
	kept := `{` + strconv.Quote(paths.Project()) + `: {"wants": {"name": "wants", "model": "script:model.yaml",
		"sections": {"mcp": {"define": {"srv": {"command": "sleep", "args": ["60"], "required": true}}}}}}}`
	require.NoError(t, os.MkdirAll(paths.State, 0o700))
	file := filepath.Join(paths.State, "agents.json")
	require.NoError(t, os.WriteFile(file, []byte(kept), 0o600))
	asked, answer := make(chan struct{}), make(chan struct{})
	at := socket(t)
	d, err := daemon.Open(t.Context(), daemon.Options{Socket: at, App: app.Options{Paths: paths, Trust: func(context.Context, trust.Request) (trust.Answer, error) {
		close(asked)
		<-answer
		return trust.Refused, nil
	}}})
	require.NoError(t, err, "while a person is asked about its server, and nobody reads notes")
	<-asked
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	c := client.New(at, nil)
	agents, err := c.Agents(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"grapnel", "helper"}, names(agents))
	close(answer)
	_, err = c.Agent(t.Context(), "wants")
	require.ErrorContains(t, err, "srv")
	require.NoError(t, c.DeleteAgent(t.Context(), "wants"))
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(c.DeleteAgent(t.Context(), "wants")))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.NotContains(t, string(data), "wants")
	stop()
	require.NoError(t, <-ended)
}
