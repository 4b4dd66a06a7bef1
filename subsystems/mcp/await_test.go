//go:build unix

package mcp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// notices keeps what Options.Notice is told.
type notices struct {
	mu    sync.Mutex
	texts []string
}

func (n *notices) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts = append(n.texts, text)
}

func (n *notices) all() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.texts, "\n")
}

// lateServer is a server that answers once the file is there.
func lateServer(t testing.TB, name string) (s mcp.Server, open func()) {
	t.Helper()
	s = testServer(t, name, "late")
	gate := filepath.Join(t.TempDir(), "gate")
	s.Env[envGate] = gate
	return s, func() { require.NoError(t, os.WriteFile(gate, nil, 0o600)) }
}

func TestALateServerJoinsLater(t *testing.T) {
	t.Parallel()
	late, open := lateServer(t, "late")
	n, process, place := &notices{}, &recorder{}, &recorder{}
	m := newMCP(t, &mcp.Options{Patience: 1500 * time.Millisecond, Notice: n.add}, late, testServer(t, "ok", "tools"))
	require.NoError(t, m.OnOpen(t.Context(), process))
	build(t, m, `{"servers":["ok"]}`) // which waits for it, however long it takes
	_, err := m.OnBuildAgent(t.Context(), agent("").WithHost(place))
	require.NoError(t, err)
	assert.NotContains(t, names(m), "mcp__late__echo")
	assert.Contains(t, n.all(), "waiting for the MCP server late (1s so far)")
	assert.Contains(t, n.all(), "the MCP server late: it has not answered within 1.5s; agents have its tools from the turn after it does")
	assert.Contains(t, strings.Join(place.texts(), "\n"), "the tools of the MCP server late are missing: it has not answered within 1.5s")
	assert.Equal(t, mcp.StateConnecting, m.Status()[0].State)

	open()
	eventually(t, "it joins", func() bool { return strings.Contains(n.all(), "the MCP server late is connected now") })
	assert.Contains(t, names(m), "mcp__late__echo")
	assert.Contains(t, process.texts(), "server_connected late")
	assert.Equal(t, "x", run(t, m, "mcp__late__echo", `{"text":"x"}`).Text())
}

func TestALateServerThatDies(t *testing.T) {
	t.Parallel()
	late, _ := lateServer(t, "late")
	file := startsFile(t, &late)
	n := &notices{}
	m := newMCP(t, &mcp.Options{Patience: -1, Notice: n.add}, late)
	build(t, m, "")
	eventually(t, "it runs", func() bool { data, _ := os.ReadFile(file); return strings.Contains(string(data), "\n") })
	eventually(t, "it has spoken", func() bool { return m.Status()[0].Stderr != "" })
	var pid int
	_, err := fmt.Sscan(starts(t, file)[0], &pid)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	eventually(t, "the end is told", func() bool {
		return strings.Contains(n.all(), "the MCP server late is not there: it ended while it was started (signal 9 (killed)); the end of its stderr: server says hello")
	})
	assert.True(t, gone(pid))
}

// Deaf servers, however many, hold up neither each other nor one that answers, nor an
// agent that uses none of them.
func TestDeafServersHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	var servers []mcp.Server
	for i := range 10 {
		servers = append(servers, testServer(t, fmt.Sprintf("deaf%d", i), "hang"))
	}
	disabled := testServer(t, "off", "tools")
	disabled.Disabled, disabled.Refused = true, "it is disabled in the list of servers"
	file := startsFile(t, &disabled)
	m := newMCP(t, &mcp.Options{ConnectTimeout: time.Hour, Patience: time.Hour}, append(servers, testServer(t, "ok", "tools"), disabled)...)
	ctx, stop := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() {
		_, err := m.OnBuildAgent(ctx, agent(""))
		waiting <- err
	}()
	for i := range servers {
		eventually(t, "it is being started", func() bool { return m.Status()[i].State == mcp.StateConnecting })
	}
	build(t, m, `{"servers":[]}`)
	build(t, m, `{"tools":[]}`)
	build(t, m, `{"servers":["off"]}`)
	_, err := m.OnBuildAgent(t.Context(), hook.AgentConfig{Name: "b", Tools: []string{"read"}})
	require.NoError(t, err)
	build(t, m, `{"servers":["ok"]}`)
	assert.Equal(t, "x", run(t, m, "mcp__ok__echo", `{"text":"x"}`).Text())
	stop()
	require.ErrorIs(t, <-waiting, context.Canceled)

	off := m.Status()[len(servers)+1]
	assert.Equal(t, mcp.StateDisabled, off.State)
	assert.Equal(t, "it is disabled in the list of servers", off.Reason)
	assert.NoFileExists(t, file, "it was never started")
}

func TestARequiredServer(t *testing.T) {
	t.Parallel()
	late, open := lateServer(t, "late")
	late.Required = true
	exits := testServer(t, "exits", "exit")
	exits.Required = true
	n := &notices{}
	m := newMCP(t, &mcp.Options{Patience: time.Millisecond, Notice: n.add}, late, exits)
	built := make(chan error, 1)
	go func() {
		_, err := m.OnBuildAgent(t.Context(), agent(`{"servers":["late"]}`))
		built <- err
	}()
	eventually(t, "it is waited for", func() bool { return strings.Contains(n.all(), "waiting for the MCP server late (1s so far)") })
	select {
	case err := <-built:
		require.Fail(t, "it was not waited for", "%v", err)
	default:
	}
	open()
	require.NoError(t, <-built)
	assert.Contains(t, names(m), "mcp__late__echo")

	_, err := m.OnBuildAgent(t.Context(), agent(""))
	require.EqualError(t, err, `agent "a": the MCP server exits, which is required, is not there: it ended while it was started (exit status 3)`)
	assert.Contains(t, m.Status()[1].Reason, "no licence", "operators see more than the model may")

	// Who names a tool of a server cannot do without it either.
	slow, openSlow := lateServer(t, "slow")
	m = newMCP(t, &mcp.Options{Patience: time.Millisecond}, slow)
	time.AfterFunc(500*time.Millisecond, openSlow)
	_, err = m.OnBuildAgent(t.Context(), hook.AgentConfig{Name: "b", Tools: []string{"read", "mcp__slow__echo"}})
	require.NoError(t, err)
	assert.Contains(t, names(m), "mcp__slow__echo")
}

func TestTheEndOfStderrIsInTheReason(t *testing.T) {
	t.Parallel()
	read, err := mcp.Parse([]byte(`{"mcpServers":{"chatty":{"command":"x","env":{"SERVICE_TOKEN":"${USER_TOKEN}","PLACE":"port"}}}}`),
		func(name string) (string, bool) { return "value-of-the-user", name == "USER_TOKEN" })
	require.NoError(t, err)
	s := testServer(t, "chatty", "chatty")
	for name, value := range s.Env {
		read.Servers[0].Env[name] = value
	}
	read.Servers[0].Command = s.Command
	host := &recorder{}
	m := newMCP(t, nil, read.Servers...)
	require.NoError(t, m.OnOpen(t.Context(), host))
	build(t, m, "")
	want := "it ended while it was started (exit status 3); the end of its stderr: noise | noise | token=[hidden] refused | key [hidden] | \x1b]52;c;aGk=\a� of port"
	status := m.Status()[0]
	assert.Equal(t, want, status.Reason)
	assert.Len(t, status.Log, 24)
	assert.Equal(t, []string{"noise", "token=[hidden] refused", "key [hidden]", "\x1b]52;c;aGk=\a� of port"}, status.Log[20:])
	assert.WithinDuration(t, time.Now(), status.Since, time.Minute)
	assert.Contains(t, host.texts(), "server_lost chatty: "+want)
}

// TestThePlaceOfAServer: a reader sees what runs, and no secret of the entry.
func TestThePlaceOfAServer(t *testing.T) {
	t.Parallel()
	read, err := mcp.Parse([]byte(`{"mcpServers":{
		"local":{"command":"./serve","args":["--api-key","hunter2222","--token=hunter3333","--dir=/a/long/path/of/more/than/thirty/two/bytes","${USER_TOKEN}","-v","file.txt"],"disabled":true},
		"remote":{"url":"https://notes.example/mcp?key=hunter4444","disabled":true},
		"wrong":{"url":"https://ann:hunter5555@notes.example/mcp"}}}`),
		func(name string) (string, bool) { return "value-of-the-user", name == "USER_TOKEN" })
	require.NoError(t, err)
	got := map[string]string{}
	for _, st := range newMCP(t, nil, read.Servers...).Status() {
		got[st.Name] = st.Place
		assert.Equal(t, st.Name != "local", st.HTTP)
		assert.Zero(t, st.Since)
	}
	assert.Equal(t, map[string]string{
		"local":  "./serve --api-key [secret:10] --token=[secret:10] --dir=/a/long/path/of/more/than/thirty/two/bytes [hidden] -v file.txt",
		"remote": "https://notes.example/mcp?…",
		"wrong":  "https://ann:[secret:10]@notes.example/mcp",
	}, got)
}

// Not parallel: it looks at the heap of the whole process.
func TestAGigabyteOfStderr(t *testing.T) {
	needs.Time(t)
	m := newMCP(t, &mcp.Options{ConnectTimeout: time.Minute, Patience: time.Minute}, testServer(t, "flood", "flood"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	build(t, m, "")
	runtime.ReadMemStats(&after)
	reason := m.Status()[0].Reason
	assert.Contains(t, reason, "exit status 3")
	assert.True(t, strings.HasSuffix(reason, "stderr: the disk is full"), reason)
	assert.Less(t, len(reason), 1_000)
	assert.Equal(t, []string{"the disk is full"}, m.Status()[0].Log, "a line without its beginning may be a part of a secret")
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}
