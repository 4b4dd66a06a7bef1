package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// small mounts a file system of 8 MiB.
func small(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=0700"); err != nil {
		needs.Lacking(t, "a small file system needs root: "+err.Error())
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// fill writes a file until nothing more fits.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	for _, n := range []int{64 << 10, 4 << 10, 512} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
	require.NoError(t, f.Close())
}

// TestAFullDiskStopsTurnsAndPasses: a daemon whose state is on a full file system refuses turns with
// an error that says so, and goes on without a restart when there is room again. What was
// acknowledged before is there.
func TestAFullDiskStopsTurnsAndPasses(t *testing.T) {
	t.Parallel()
	state, project := small(t), t.TempDir()
	model := filepath.Join(project, "model.yaml")
	require.NoError(t, os.WriteFile(model, []byte("rules: [{when: always, say: Hello.}]"), 0o600))
	socket := filepath.Join(state, "s")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cmd := exec.CommandContext(ctx, "grapnel", "serve", "--sandbox", "off", "--dir", project, "--model", "script:"+model, "--socket", socket)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), "GRAPNEL_HOME="+state, "HOME="+project)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	require.NoError(t, cmd.Start())
	c := client.New(socket, nil)
	require.Eventually(t, func() bool { _, err := c.Health(t.Context()); return err == nil }, time.Minute, 20*time.Millisecond)
	conv, err := c.Conversation(t.Context(), "", "ann")
	require.NoError(t, err)
	send := func(text string) error {
		turn, err := c.Send(t.Context(), conv.ID, text)
		if err != nil {
			return err
		}
		for item, err := range c.Follow(t.Context(), turn) {
			if err != nil {
				return err
			}
			if item.Event.Kind == event.Error {
				return errors.New(item.Event.Text)
			}
		}
		return nil
	}
	require.NoError(t, send("before"))

	fill(t, filepath.Join(state, "filler"))
	var refused error
	told := 0
	for ; refused == nil && told < 500; told++ { // what the log of the database still holds may fit
		refused = send(strings.Repeat("x", 100_000))
	}
	require.Error(t, refused)
	assert.Equal(t, wire.CodeStorage, client.CodeOf(refused), "%v", refused)
	require.ErrorContains(t, refused, "free some")
	acknowledged, err := c.Messages(t.Context(), conv.ID)
	require.NoError(t, err, "reading goes on")

	require.NoError(t, os.Remove(filepath.Join(state, "filler")))
	require.NoError(t, send("after"), "without a restart")
	ms, err := c.Messages(t.Context(), conv.ID)
	require.NoError(t, err)
	require.Greater(t, len(ms), len(acknowledged))
	assert.Equal(t, acknowledged, ms[:len(acknowledged)], "nothing is lost")
	assert.Equal(t, "before", ms[0].Text())
	assert.Equal(t, "after", ms[len(ms)-2].Text())
	stop()
	var exited *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exited) && !errors.Is(err, context.Canceled) {
		require.NoError(t, err)
	}
}
