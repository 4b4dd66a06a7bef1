package main

import (
	"encoding/xml"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// knows checks that the command line is one that the program takes.
func knows(t *testing.T, words []string) {
	t.Helper()
	require.Equal(t, "/usr/local/bin/grapnel", words[0])
	cmd, rest, err := newCommand(os.Stdin, os.Stdout, os.Stderr, os.Getenv).root().Find(words[1:])
	require.NoError(t, err)
	require.Equal(t, "serve", cmd.Name())
	require.NoError(t, cmd.ParseFlags(rest))
	require.Empty(t, cmd.Flags().Args())
}

// TestSystemdUnits: systemd finds nothing wrong with the units, and the program knows the flags in them.
func TestSystemdUnits(t *testing.T) {
	t.Parallel()
	service := source(t, "dist/grapnel.service")
	start := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(service)
	require.NotNil(t, start)
	knows(t, strings.Fields(start[1]))
	analyze := needs.Program(t, "systemd-analyze")
	dir := t.TempDir()
	self, err := os.Executable() // a program that is there
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "grapnel.service"), []byte(strings.Replace(service, "/usr/local/bin/grapnel", self, 1)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "grapnel.socket"), []byte(source(t, "dist/grapnel.socket")), 0o600))
	cmd := exec.CommandContext(t.Context(), analyze, "verify", "--user", "--man=no", "--recursive-errors=no", filepath.Join(dir, "grapnel.service"), filepath.Join(dir, "grapnel.socket"))
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.NotContains(t, string(out), "grapnel.s", "what systemd warns of")
}

// TestLaunchdUnit: the property list is XML with a value for each key, and the program knows the flags in it.
func TestLaunchdUnit(t *testing.T) {
	t.Parallel()
	type node struct {
		XMLName xml.Name
		Text    string `xml:",chardata"`
		Nodes   []node `xml:",any"`
	}
	var list struct {
		Dict node `xml:"dict"`
	}
	require.NoError(t, xml.Unmarshal([]byte(source(t, "dist/com.grapnel.daemon.plist")), &list))
	require.Zero(t, len(list.Dict.Nodes)%2)
	var words []string
	values := map[string]node{}
	for i := 0; i < len(list.Dict.Nodes); i += 2 {
		key, value := list.Dict.Nodes[i], list.Dict.Nodes[i+1]
		require.Equal(t, "key", key.XMLName.Local)
		require.Contains(t, []string{"string", "array", "true", "dict", "integer"}, value.XMLName.Local)
		values[key.Text] = value
	}
	assert.Equal(t, "com.grapnel.daemon", values["Label"].Text)
	for _, n := range values["ProgramArguments"].Nodes {
		words = append(words, n.Text)
	}
	knows(t, words)
}

// TestSocketActivation: a daemon takes over the socket that the service manager has made, and leaves it there when it ends; it does
// not take one of another path.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	start := func(socket string) (*exec.Cmd, io.Reader, string) {
		dir := filepath.Join(s.dir, "run")
		require.NoError(t, os.MkdirAll(dir, 0o700))
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socket), Net: "unix"})
		require.NoError(t, err)
		ln.SetUnlinkOnClose(false)
		f, err := ln.File()
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"`, "sh", "grapnel", "serve", "--dir", filepath.Join(s.dir, "project"),
			"--model", "script:"+filepath.Join(s.dir, "model.yaml"), "--socket", filepath.Join(dir, "s"))
		cmd.Env = append(os.Environ(), "GRAPNEL_HOME="+s.getenv("GRAPNEL_HOME"))
		cmd.ExtraFiles = []*os.File{f}
		out, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		require.NoError(t, f.Close())
		require.NoError(t, ln.Close())
		return cmd, out, filepath.Join(dir, socket)
	}
	cmd, out, at := start("s")
	c := client.New(at, &client.Options{Named: true}) // its request waits in the socket until the daemon takes it
	conv, err := c.Conversation(t.Context(), "", "ann")
	require.NoError(t, err)
	assert.NotEmpty(t, conv.ID)
	health, err := c.Health(t.Context())
	require.NoError(t, err)
	assert.Equal(t, cmd.Process.Pid, health.PID)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_, _ = io.Copy(io.Discard, out)
	require.NoError(t, cmd.Wait())
	assert.FileExists(t, at)

	begun := time.Now()
	cmd, out, at = start("other")
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	var failed *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &failed)
	assert.Equal(t, exitWrong, failed.ExitCode())
	assert.Contains(t, string(text), "the service manager listens on "+at+", and the daemon's socket is ")
	assert.Less(t, time.Since(begun), time.Minute)
}
