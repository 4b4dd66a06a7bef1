package mcp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// testServer declares the test binary as a server of one kind. Servers of
// different names do not share a process.
func testServer(t testing.TB, name, mode string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	// A program built with -race sleeps for a second before it ends, unless told.
	return mcp.Server{Name: name, Command: self, Env: map[string]string{envMode: mode, "TEST_NAME": name, "GORACE": "atexit_sleep_ms=0"}}
}

// newMCP returns the subsystem with the servers; it is closed with the test.
func newMCP(t testing.TB, o *mcp.Options, servers ...mcp.Server) *mcp.MCP {
	t.Helper()
	m, err := mcp.New(mcp.Config{Servers: servers}, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.OnClose(context.Background())) })
	return m
}

// build builds an agent with the section, "" for none.
func build(t testing.TB, m *mcp.MCP, section message.JSON) hook.AgentConfig {
	t.Helper()
	cfg, err := m.OnBuildAgent(t.Context(), agent(section))
	require.NoError(t, err)
	return cfg
}

func agent(section message.JSON) hook.AgentConfig {
	cfg := hook.AgentConfig{Name: "a"}
	if section != "" {
		cfg = cfg.WithSection("mcp", section)
	}
	return cfg
}

// run binds and runs a call.
func run(t testing.TB, m *mcp.MCP, tool string, args message.JSON) message.ToolResult {
	t.Helper()
	return runIn(t, t.Context(), m, tool, args)
}

func runIn(t testing.TB, ctx context.Context, m *mcp.MCP, tool string, args message.JSON) message.ToolResult {
	t.Helper()
	inv := bind(t, m, tool, args)
	require.Nil(t, inv.Err())
	return inv.Runner().Run(ctx, &hook.Env{})
}

func bind(t testing.TB, m *mcp.MCP, tool string, args message.JSON) hook.Invocation {
	t.Helper()
	call := hook.NewToolCall(hook.ToolCallData{ID: "1", Tool: message.Tool{Name: tool}, Args: args})
	inv, mine := m.Dispatch(t.Context(), call)
	require.True(t, mine, "%s is not bound", tool)
	return inv
}

func names(m *mcp.MCP) []string {
	var out []string
	for _, tool := range m.Schema() {
		out = append(out, tool.Name)
	}
	return out
}

// starts returns the process ids that a server wrote to its file.
func starts(t testing.TB, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Fields(string(data))
}

func startsFile(t testing.TB, s *mcp.Server) string {
	t.Helper()
	s.Env[envFile] = filepath.Join(t.TempDir(), "starts")
	return s.Env[envFile]
}

// eventually waits for something that another process does. It starts no
// goroutine, so that ok may count them.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "not within a minute: %s", what)
	}
}

// recorder is a host that keeps what it is told.
type recorder struct {
	hook.NoHost
	mu     sync.Mutex
	events []hook.Event
}

func (r *recorder) Emit(_ context.Context, ev hook.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, ev)
}

// texts returns kind and text of the events.
func (r *recorder) texts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, ev := range r.events {
		out = append(out, string(ev.Kind)+" "+ev.Text)
	}
	return out
}
