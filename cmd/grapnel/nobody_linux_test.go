package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// grapnelVisitor is a client that obeys nothing: it sends one request, and prints the status and the body, or why it could not:
// grapnel-visitor METHOD URL TOKEN BODY. A URL that begins with a slash is for the socket in $VISITOR_SOCKET.
func grapnelVisitor() {
	method, url, token, body := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	transport := &http.Transport{}
	if socket := os.Getenv("VISITOR_SOCKET"); strings.HasPrefix(url, "/") {
		url = "http://grapnel" + url
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	defer resp.Body.Close()
	fmt.Print(resp.StatusCode, " ")
	_, _ = io.Copy(os.Stdout, resp.Body)
}

// nobody is the user that owns nothing.
const nobody = 65534

// asNobody starts this program under another name as another user, and returns what it prints.
type asNobody struct {
	t   *testing.T
	dir string
	env []string
}

func newNobody(t *testing.T) *asNobody {
	t.Helper()
	needs.Root(t)
	dir, err := os.MkdirTemp("", "grapnel-nobody-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	self, err := os.Executable()
	require.NoError(t, err)
	data, err := os.ReadFile(self)
	require.NoError(t, err)
	for _, name := range []string{"grapnel-visitor", "grapnel"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o755))
	}
	return &asNobody{t: t, dir: dir}
}

func (n *asNobody) run(name string, args ...string) string {
	n.t.Helper()
	cmd := exec.CommandContext(n.t.Context(), filepath.Join(n.dir, name), args...)
	cmd.Dir, cmd.Env = "/", append([]string{"HOME=/nonexistent"}, n.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out)
}

// overTCP starts a daemon of the site with a door, and returns its URL.
func (s *site) overTCP(args ...string) string {
	t := s.t
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "grapnel", append([]string{
		"serve", "--dir", filepath.Join(s.dir, "project"), "--model", "script:" + filepath.Join(s.dir, "model.yaml"), "--listen", "127.0.0.1:0",
	}, args...)...)
	cmd.Env = append(os.Environ(), "GRAPNEL_HOME="+s.getenv("GRAPNEL_HOME"), "XDG_RUNTIME_DIR=")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(os.Interrupt))
		assert.NoError(t, cmd.Wait())
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at := servedAt.FindStringSubmatch(lines.Text() + "\n"); at != nil {
			return at[1]
		}
	}
	require.Fail(t, "the daemon does not say where it listens")
	return ""
}

// in runs a command of the owner in a directory of the site, and returns its output.
func (s *site) in(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "grapnel", args...)
	cmd.Dir = filepath.Join(s.dir, dir)
	cmd.Env = append(os.Environ(), "GRAPNEL_HOME="+s.getenv("GRAPNEL_HOME"), "XDG_RUNTIME_DIR=")
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	require.NoError(s.t, err, "%s", &wrong)
	return strings.TrimSpace(string(out))
}

// TestAnotherUser: a process of another user has no socket, and over TCP what its token says and no more.
func TestAnotherUser(t *testing.T) {
	t.Parallel()
	n := newNobody(t)
	s := newSite(t)
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "theirs"), 0o700))
	s.in("theirs", "run", "--model", "script:"+filepath.Join(s.dir, "model.yaml"), "hello")
	var theirs []wire.Conversation
	require.NoError(t, json.Unmarshal([]byte(s.in("theirs", "conversations", "--json")), &theirs))
	require.Len(t, theirs, 1)
	url := s.overTCP()
	talker := s.in("project", "token", "create", "talker", "--scope", "read,converse")

	n.env = []string{"VISITOR_SOCKET=" + s.socket()}
	assert.Contains(t, n.run("grapnel-visitor", "GET", "/v1/health", "", ""), "connect: permission denied")
	ways := []string{s.socket(), filepath.Join(s.dir, "state", "run"), filepath.Join(s.dir, "state"), s.dir}
	for _, path := range ways { // the server looks for itself
		require.NoError(t, os.Chmod(path, 0o777))
	}
	assert.Contains(t, n.run("grapnel-visitor", "GET", "/v1/health", "", ""), "403 ")
	assert.Contains(t, n.run("grapnel-visitor", "GET", "/v1/health", talker, ""), "the socket belongs to another user")
	for _, path := range ways {
		require.NoError(t, os.Chmod(path, 0o700))
	}

	for _, token := range []string{"", "x", talker[:len(talker)-1] + "0"} {
		assert.Contains(t, n.run("grapnel-visitor", "GET", url+"/v1/health", token, ""), "401 ")
		assert.Contains(t, n.run("grapnel-visitor", "POST", url+"/v1/conversations", token, "{}"), "401 ")
	}
	n.env = []string{"GRAPNEL_TOKEN=" + talker}
	assert.Contains(t, n.run("grapnel", "ask", "--server", url, "hello"), "This is turn")
	assert.Contains(t, n.run("grapnel-visitor", "GET", url+"/v1/conversations/"+theirs[0].ID, talker, ""), "404 ")
	assert.Contains(t, n.run("grapnel-visitor", "POST", url+"/v1/conversations/"+theirs[0].ID+"/messages", talker, `{"text":"hello"}`), "404 ")
	assert.Contains(t, n.run("grapnel-visitor", "GET", url+"/v1/conversations?all=1", talker, ""), "403 ")

	conv, err := s.client.Conversation(t.Context(), "", "ann")
	require.NoError(t, err)
	assert.Contains(t, n.run("grapnel-visitor", "POST", url+"/v1/conversations/"+conv.ID+"/messages", talker, `{"text":"write it"}`), "202 ")
	var asks []wire.Ask
	require.Eventually(t, func() bool {
		asks, err = s.client.Asks(t.Context(), conv.ID)
		return err == nil && len(asks) == 1
	}, patience, poll)
	assert.Contains(t, n.run("grapnel-visitor", "GET", url+"/v1/asks", talker, ""), asks[0].ID)
	said := n.run("grapnel-visitor", "POST", url+"/v1/asks/"+asks[0].ID, talker, `{"answer":"approve"}`)
	assert.Contains(t, said, "403 ")
	assert.Contains(t, said, "this needs the scope approve, and the token talker has read,converse")
	asks, err = s.client.Asks(t.Context(), conv.ID)
	require.NoError(t, err)
	require.Len(t, asks, 1, "it still waits")
	require.NoError(t, s.client.Answer(t.Context(), asks[0].ID, wire.Answer{Answer: wire.AnswerRefuse}))
	assert.NoFileExists(t, filepath.Join(s.dir, "project", "new.txt"))
}
