package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// consoleOf returns the commands of the console blocks of a page that have a word.
func consoleOf(t *testing.T, name, word string) []string {
	t.Helper()
	var out []string
	for _, b := range blocks(page(t, name)) {
		if b.language != "console" || !strings.Contains(b.body, word) {
			continue
		}
		for line := range strings.Lines(b.body) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				out = append(out, strings.TrimSpace(command))
			}
		}
	}
	require.NotEmpty(t, out, "%s has no console block with %s", name, word)
	return out
}

// awaitLine starts a daemon and returns when it has said where it serves so many times. The test's end interrupts it.
func awaitLine(t *testing.T, cmd *exec.Cmd, times int) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(os.Interrupt))
		assert.NoError(t, cmd.Wait())
	})
	lines := bufio.NewScanner(out)
	for range times {
		require.True(t, lines.Scan(), "the daemon has ended")
		require.Contains(t, lines.Text(), "grapnel: serving ")
	}
}

// TestCurl: the lines of the README show a turn as events.
func TestCurl(t *testing.T) {
	t.Parallel()
	needs.Program(t, "curl")
	s := newSite(t)
	run := filepath.Join(s.dir, "run")
	require.NoError(t, os.Mkdir(run, 0o700))
	env := append(os.Environ(), "GRAPNEL_HOME="+s.getenv("GRAPNEL_HOME"), "XDG_RUNTIME_DIR="+run)
	serve := exec.CommandContext(context.WithoutCancel(t.Context()), "grapnel", "serve", "--model", "script:"+filepath.Join(s.dir, "model.yaml"))
	serve.Dir, serve.Env = filepath.Join(s.dir, "project"), env
	awaitLine(t, serve, 1)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Join(consoleOf(t, "README.md", "curl"), "\n"))
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), `"kind":"turn_start"`)
	assert.Contains(t, string(out), `"kind":"turn_end"`)
	assert.Contains(t, string(out), "This is turn one.")
}

// TestTwoNetworks: the two commands of docs/daemon.md, each in a network of its own between which there is one wire.
func TestTwoNetworks(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	needs.Program(t, "ip")
	here, there := fmt.Sprintf("grapnel-s%d", os.Getpid()), fmt.Sprintf("grapnel-c%d", os.Getpid())
	ip := func(args string) ([]byte, error) {
		return exec.CommandContext(context.WithoutCancel(t.Context()), "ip", strings.Fields(args)...).CombinedOutput()
	}
	for _, name := range []string{here, there} {
		if out, err := ip("netns add " + name); err != nil {
			needs.Lacking(t, "this machine makes no networks: "+strings.TrimSpace(string(out)))
		}
		t.Cleanup(func() { _, _ = ip("netns del " + name) })
	}
	if out, err := ip("-n " + here + " link add wire type veth peer name wire netns " + there); err != nil {
		needs.Lacking(t, "this machine makes no wires between networks: "+strings.TrimSpace(string(out)))
	}
	for _, args := range []string{
		"-n " + here + " addr add 192.0.2.1/24 dev wire", "-n " + there + " addr add 192.0.2.2/24 dev wire",
		"-n " + here + " link set wire up", "-n " + there + " link set wire up",
	} {
		out, err := ip(args)
		require.NoError(t, err, "%s", out)
	}

	s := newSite(t)
	project, laptop := filepath.Join(s.dir, "project"), t.TempDir()
	home := t.TempDir()
	keys := filepath.Join(home, ".grapnel", "keys")
	require.NoError(t, os.MkdirAll(keys, 0o700))
	require.NoError(t, writeCertificate(filepath.Join(keys, "cert.pem"), filepath.Join(keys, "key.pem"), "192.0.2.1"))
	ca, err := os.ReadFile(filepath.Join(keys, "cert.pem"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(laptop, "ca.pem"), ca, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(laptop, "token"), []byte(s.in("project", "token", "create", "laptop")), 0o600))
	commands := consoleOf(t, "docs/daemon.md", "192.0.2.1")
	require.Len(t, commands, 2)
	in := func(network, dir, command string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "ip", "netns", "exec", network, "sh", "-c", "exec "+command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GRAPNEL_HOME="+filepath.Join(dir, ".state"), "XDG_RUNTIME_DIR=")
		return cmd
	}
	serve := in(here, project, commands[0]+" --model script:"+filepath.Join(s.dir, "model.yaml"))
	serve.Env = append(serve.Env, "GRAPNEL_HOME="+s.getenv("GRAPNEL_HOME"), "HOME="+home)
	awaitLine(t, serve, 2)
	out, err := in(there, laptop, commands[1]).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "This is turn one.")
	out, err = in(there, laptop, strings.Replace(commands[1], "--ca ca.pem", "", 1)).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "certificate is not trusted")
}
