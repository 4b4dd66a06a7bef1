package daemon_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

// project returns the paths of a new project with two agents.
func project(t *testing.T) app.Paths {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	agents := filepath.Join(dir, ".grapnel", "agents")
	require.NoError(t, os.MkdirAll(agents, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.yaml"), []byte("rules: [{say: Hi.}]"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(agents, "helper.md"), []byte("---\nmodel: script:model.yaml\n---\nHelp.\n"), 0o600))
	paths, err := app.FindPaths(dir, func(name string) string {
		return map[string]string{"HOME": home, "GRAPNEL_HOME": filepath.Join(home, "state")}[name]
	})
	require.NoError(t, err)
	return paths
}

// socket returns a path that is short enough for a socket.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "grapnel-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "s")
}

func note(string) {}

func names(agents []wire.Agent) (out []string) {
	for _, a := range agents {
		out = append(out, a.Name)
	}
	return out
}

func TestADaemonServesItsProjectUntilItIsStopped(t *testing.T) {
	t.Parallel()
	paths, at := project(t), socket(t)
	d, err := daemon.Open(t.Context(), daemon.Options{Socket: at, App: app.Options{Paths: paths, Note: note}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()

	c := client.New(at, nil)
	health, err := c.Health(t.Context())
	require.NoError(t, err)
	assert.Empty(t, daemon.Mismatch(health, paths))
	assert.Equal(t, "it works in "+paths.Root, daemon.Mismatch(health, app.Paths{Root: "/elsewhere"}))
	assert.Equal(t, "its databases are in "+paths.State, daemon.Mismatch(health, app.Paths{Root: paths.Root}))
	agents, err := c.Agents(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"grapnel", "helper"}, names(agents))

	_, err = daemon.Open(t.Context(), daemon.Options{Socket: at, App: app.Options{Paths: paths, Note: note}})
	require.Error(t, err, "one daemon for a socket")

	stop()
	require.NoError(t, <-ended)
	_, err = c.Health(t.Context())
	require.ErrorIs(t, err, client.ErrNotRunning)
}

func TestADaemonThatCannotOpenLeavesNoSocket(t *testing.T) {
	t.Parallel()
	paths, at := project(t), socket(t)
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, ".grapnel", "agents", "bad.md"), []byte("---\nno: [\n---\n"), 0o600))
	_, err := daemon.Open(t.Context(), daemon.Options{Socket: at, App: app.Options{Paths: paths, Note: note}})
	require.ErrorContains(t, err, "bad.md")
	assert.NoFileExists(t, at)
}

func TestADaemonWithinThisProcess(t *testing.T) {
	t.Parallel()
	paths := project(t)
	failed := errors.New("no")
	var at string
	err := daemon.Within(t.Context(), app.Options{Paths: paths, Note: note}, func(d *client.Client) error {
		at = d.Address()
		agents, err := d.Agents(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"grapnel", "helper"}, names(agents))
		return failed
	})
	require.ErrorIs(t, err, failed)
	assert.NoDirExists(t, filepath.Dir(at))
}

func TestSocket(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	got, err := daemon.Socket("", app.Paths{State: "/state"}, none)
	require.NoError(t, err)
	assert.Equal(t, "/state/run/grapnel.sock", got)
	got, err = daemon.Socket("s", app.Paths{}, none)
	require.NoError(t, err)
	assert.True(t, filepath.IsAbs(got), got)
}

// A daemon runs what is scheduled, also what an event of its own turns asks for, and only the daemon does.
func TestADaemonRunsWhatIsScheduled(t *testing.T) {
	t.Parallel()
	paths, at := project(t), socket(t)
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, "model.yaml"), []byte("rules: [{when: always, say: Hi.}]"), 0o600))
	stores, err := app.OpenStores(t.Context(), paths)
	require.NoError(t, err)
	schedules, err := stores.Schedules(t.Context(), note)
	require.NoError(t, err)
	defer func() { assert.NoError(t, schedules.OnClose(context.Background())) }()
	on, err := schedule.ParseOn("turn_end agent=helper stop=completed")
	require.NoError(t, err)
	_, err = schedules.Add(t.Context(), schedule.Entry{Name: "after", Agent: "helper", Prompt: "Go on.", On: on})
	require.NoError(t, err)

	d, err := daemon.Open(t.Context(), daemon.Options{Socket: at, App: app.Options{Paths: paths, Note: note}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	c := client.New(at, nil)
	conv, err := c.Conversation(t.Context(), "helper", "ann")
	require.NoError(t, err)
	done := func() (done []schedule.Run) {
		runs, err := schedules.Runs(t.Context(), "after")
		require.NoError(t, err)
		for _, r := range runs {
			if r.Status == schedule.Completed {
				done = append(done, r)
			}
		}
		return done
	}
	turns := 0
	require.Eventually(t, func() bool { // the daemon looks for new schedules once a second
		turn, err := c.Send(t.Context(), conv.ID, "Hello.")
		require.NoError(t, err)
		turns++
		for _, err := range c.Follow(t.Context(), turn) {
			require.NoError(t, err)
		}
		return len(done()) > 0
	}, time.Minute, 100*time.Millisecond)
	run := done()[0]
	messages, err := c.Messages(t.Context(), run.Conversation)
	require.NoError(t, err)
	assert.Contains(t, messages[0].Text(), "[This run was begun by an event: event=\"turn_end\" agent=\"helper\"")
	assert.Contains(t, messages[0].Text(), "Go on.")
	runs, err := schedules.Runs(t.Context(), "after")
	require.NoError(t, err)
	assert.LessOrEqual(t, len(runs), turns, "its own turns begin no run")
	stop()
	require.NoError(t, <-ended)
}
