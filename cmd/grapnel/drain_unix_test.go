//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/access"
)

const deafModel = `
rules:
  - when: {user: {contains: hang}, step: 1}
    calls: [{tool: bash, args: {command: "trap '' TERM INT HUP; echo $$ >started.new; mv started.new started; while :; do sleep 0.1; done"}}]
  - {when: always, say: It is over.}
`

// TestServeEndsThoughACommandHangs: told to end, the process waits for the grace period, also for a command that no signal but the last
// one ends and with a client over TCP, and leaves nothing behind.
func TestServeEndsThoughACommandHangs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "model.yaml"), []byte(deafModel), 0o600))
	project := filepath.Join(s.dir, "project")
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "state"), 0o700))
	token, err := access.OpenTokens(filepath.Join(s.dir, "state", "tokens.json")).Create(access.Token{Name: "phone", Scopes: access.All()})
	require.NoError(t, err)
	const grace = time.Second
	cmd := exec.CommandContext(t.Context(), "grapnel", "serve", "--dir", project, "--model", "script:"+filepath.Join(s.dir, "model.yaml"),
		"--listen", "127.0.0.1:0", "--grace", grace.String(), "--sandbox", "off", "--set", "Policy=off", "--set", "Secure=off")
	cmd.Env = append(os.Environ(), "GRAPNEL_HOME="+s.getenv("GRAPNEL_HOME"), "XDG_RUNTIME_DIR=")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var head strings.Builder
	url := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)
	for buf := make([]byte, 1); !strings.HasSuffix(head.String(), "\n") || url.FindString(head.String()) == ""; {
		_, err := io.ReadFull(out, buf)
		require.NoError(t, err)
		head.Write(buf)
	}
	phone := client.New(url.FindString(head.String()), &client.Options{Token: token})
	conv, err := phone.Conversation(t.Context(), "", "ann")
	require.NoError(t, err)
	turn, err := phone.Send(t.Context(), conv.ID, "hang")
	require.NoError(t, err)
	var pid int
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(filepath.Join(project, "started"))
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		}
		return err == nil
	}, 30*time.Second, 5*time.Millisecond)

	begun := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var stop hook.StopReason
	for item, err := range phone.Follow(t.Context(), turn) {
		if err != nil {
			break
		}
		if item.Event.Kind == event.TurnEnd {
			stop = item.Event.Detail().Stop
		}
	}
	_, _ = io.Copy(io.Discard, out)
	require.NoError(t, cmd.Wait())
	took := time.Since(begun)
	assert.Equal(t, hook.StopCancelled, stop)
	assert.GreaterOrEqual(t, took, grace)
	assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "the command is gone")
	assert.NoFileExists(t, s.client.Address())
	_, err = phone.Health(t.Context())
	assert.ErrorIs(t, err, client.ErrNotRunning)
}
