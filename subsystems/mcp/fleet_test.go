//go:build unix

package mcp_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/node"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// The reference servers, which nobody here wrote.

func TestServerEverything(t *testing.T) {
	t.Parallel()
	program := node.Require(t, "mcp-server-everything")
	m := newMCP(t, &mcp.Options{StopGrace: 500 * time.Millisecond}, mcp.Server{Name: "all", Command: program, Args: []string{"stdio"}})
	build(t, m, "")
	status := m.Status()[0]
	require.Equal(t, mcp.StateConnected, status.State, "%+v", status)
	assert.Empty(t, status.Refused, "no schema of the reference server is refused")
	assert.Subset(t, status.Tools, []string{
		"mcp__all__echo", "mcp__all__get-annotated-message", "mcp__all__get-resource-links", "mcp__all__get-resource-reference",
		"mcp__all__get-structured-content", "mcp__all__get-sum", "mcp__all__get-tiny-image",
		"mcp__all__trigger-long-running-operation",
	})

	assert.Equal(t, message.ToolResult{Content: message.ListOf(message.TextBlock("Echo: grüß")), Trust: message.TrustExternal},
		run(t, m, "mcp__all__echo", `{"message":"grüß"}`))
	assert.Contains(t, run(t, m, "mcp__all__get-sum", `{"a":40,"b":2}`).Text(), "42")

	image := run(t, m, "mcp__all__get-tiny-image", "{}").Content
	var kinds []message.BlockKind
	for _, b := range image.All() {
		kinds = append(kinds, b.Kind)
		if b.Kind == message.BlockImage {
			assert.Equal(t, "image/png", b.MIME)
			assert.NotEmpty(t, b.Data)
		}
	}
	assert.Contains(t, kinds, message.BlockImage)

	links := run(t, m, "mcp__all__get-resource-links", `{"count":2}`).Content
	uris := 0
	for _, b := range links.All() {
		if b.Kind == message.BlockResource && b.URI != "" {
			uris++
		}
	}
	assert.Equal(t, 2, uris)

	structured := run(t, m, "mcp__all__get-structured-content", `{"location":"New York"}`).Content
	require.Equal(t, 1, structured.Len(), "what is given twice is shown once")
	assert.Equal(t, message.BlockJSON, structured.At(0).Kind)
	assert.Contains(t, string(structured.At(0).JSON), `"temperature":`)

	var mu sync.Mutex
	var lines []string
	env := hook.Env{}.WithProgress(func(line string) { mu.Lock(); defer mu.Unlock(); lines = append(lines, line) })
	r := bind(t, m, "mcp__all__trigger-long-running-operation", `{"duration":0.2,"steps":2}`).Runner().Run(t.Context(), env)
	assert.Empty(t, r.Failure, r.Text())
	mu.Lock() // the last report may meet the result and is dropped then
	defer mu.Unlock()
	require.NotEmpty(t, lines)
	assert.Equal(t, "1 of 2", lines[0])

	bad := bind(t, m, "mcp__all__get-sum", `{"a":"x","b":2}`).Err()
	require.NotNil(t, bad)
	assert.Equal(t, "a", bad.Path)
}

func TestServerFilesystem(t *testing.T) {
	t.Parallel()
	program := node.Require(t, "mcp-server-filesystem")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	m := newMCP(t, &mcp.Options{Dir: dir, StopGrace: 500 * time.Millisecond},
		mcp.Server{Name: "files", Command: program, Args: []string{dir}})
	build(t, m, "")
	status := m.Status()[0]
	require.Equal(t, mcp.StateConnected, status.State, "%+v", status)
	assert.Empty(t, status.Refused)
	for _, tool := range m.Schema() {
		assert.False(t, tool.Annotations.ReadOnly, "%s: the server calls some of its tools read-only", tool.Name)
	}

	path := filepath.Join(dir, "log.txt")
	r := run(t, m, "mcp__files__write_file", message.JSON(`{"path":"`+path+`","content":"wind 7"}`))
	require.Empty(t, r.Failure, r.Text())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "wind 7", string(data))
	assert.Contains(t, run(t, m, "mcp__files__read_text_file", message.JSON(`{"path":"`+path+`"}`)).Text(), "wind 7")

	r = run(t, m, "mcp__files__read_text_file", `{"path":"/etc/passwd"}`)
	assert.Equal(t, message.FailOperation, r.Failure, "is_error is kept")
	assert.Contains(t, r.Text(), "Access denied")

	crash(t, m, 0)
	assert.Contains(t, run(t, m, "mcp__files__read_text_file", message.JSON(`{"path":"`+path+`"}`)).Text(), "wind 7", "it is started again")
}

func TestServerEverythingOverHTTP(t *testing.T) {
	t.Parallel()
	server := node.Serve(t, "mcp-server-everything", "streamableHttp")
	host := &recorder{}
	m := newMCP(t, &mcp.Options{StopGrace: 500 * time.Millisecond}, mcp.Server{Name: "all", URL: "http://" + server.Addr + "/mcp"})
	require.NoError(t, m.OnOpen(t.Context(), host))
	build(t, m, "")
	status := m.Status()[0]
	require.Equal(t, mcp.StateConnected, status.State, "%+v", status)
	assert.Empty(t, status.Refused, "no schema of the reference server is refused")
	assert.Greater(t, len(status.Tools), 8)
	assert.Equal(t, "Echo: grüß", run(t, m, "mcp__all__echo", `{"message":"grüß"}`).Text())
	assert.Contains(t, run(t, m, "mcp__all__get-sum", `{"a":40,"b":2}`).Text(), "42")

	var mu sync.Mutex
	var lines []string
	env := hook.Env{}.WithProgress(func(line string) { mu.Lock(); defer mu.Unlock(); lines = append(lines, line) })
	r := bind(t, m, "mcp__all__trigger-long-running-operation", `{"duration":0.2,"steps":2}`).Runner().Run(t.Context(), env)
	assert.Empty(t, r.Failure, r.Text())
	mu.Lock()
	require.NotEmpty(t, lines)
	assert.Equal(t, "1 of 2", lines[0])
	mu.Unlock()

	// Killed in the middle of a call whose stream could be resumed.
	inFlight := callAsync(t, m, "mcp__all__trigger-long-running-operation", `{"duration":30,"steps":300}`)
	select {
	case r := <-inFlight:
		t.Fatalf("it ended at once: %s", r.Text())
	case <-time.After(300 * time.Millisecond): // until the stream is open
	}
	server.Kill()
	assert.Equal(t, message.FailUnreachable, (<-inFlight).Failure)
	eventually(t, "the loss is told", func() bool { return m.Status()[0].State == mcp.StateLost })
	assert.Equal(t, message.FailUnreachable, run(t, m, "mcp__all__echo", `{"message":"x"}`).Failure)
}

// A restarted server answers calls of sessions that it does not know in a way of
// its own.
func TestServerEverythingForgetsTheSession(t *testing.T) {
	t.Parallel()
	server := node.Serve(t, "mcp-server-everything", "streamableHttp")
	to, err := url.Parse("http://" + server.Addr)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = &http.Transport{}
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	proxy.FlushInterval = -1
	r := newRemote(t, nil)
	forget := false
	r.putFront(func(w http.ResponseWriter, req *http.Request) bool {
		if forget && isCall(req, "echo") {
			forget = false
			req.Header.Set("Mcp-Session-Id", "of-another-life")
		}
		proxy.ServeHTTP(w, req)
		return true
	})
	m := newMCP(t, &mcp.Options{StopGrace: 500 * time.Millisecond}, r.declare("all", ""))
	t.Cleanup(proxy.Transport.(*http.Transport).CloseIdleConnections)
	build(t, m, "")
	require.Equal(t, mcp.StateConnected, m.Status()[0].State, m.Status()[0].Reason)
	forget = true
	assert.Equal(t, "Echo: x", run(t, m, "mcp__all__echo", `{"message":"x"}`).Text())
	assert.False(t, forget)
}
