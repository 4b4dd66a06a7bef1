package mcp_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// remote is an HTTP endpoint on this machine, by the library's server, with what
// a test puts in front of it.
type remote struct {
	*httptest.Server
	server *sdk.Server

	mu       sync.Mutex
	o        *sdk.StreamableHTTPOptions
	handler  http.Handler
	front    func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	requests []*http.Request
	slow     chan struct{} // has an element for each call of slow that has begun
	going    chan struct{} // closed: calls of slow return
	heard    chan struct{} // has an element for each call of slow that was cancelled
}

// newRemote starts an endpoint; nil options are those of a server with sessions.
func newRemote(t testing.TB, o *sdk.StreamableHTTPOptions) *remote {
	t.Helper()
	r := &remote{o: o, slow: make(chan struct{}, 100), going: make(chan struct{}), heard: make(chan struct{}, 100)}
	r.server = sdk.NewServer(&sdk.Implementation{Name: "remote", Version: "1"}, nil)
	sdk.AddTool(r.server, &sdk.Tool{Name: "echo", Description: "Says it again."},
		func(_ context.Context, _ *sdk.CallToolRequest, in textInput) (*sdk.CallToolResult, any, error) {
			return text(in.Text)
		})
	type none struct{}
	sdk.AddTool(r.server, &sdk.Tool{Name: "who", Description: "Says who calls."},
		func(_ context.Context, req *sdk.CallToolRequest, _ none) (*sdk.CallToolResult, any, error) {
			return text(req.Extra.Header.Get("X-Key"))
		})
	sdk.AddTool(r.server, &sdk.Tool{Name: "slow", Description: "Takes its time."},
		func(ctx context.Context, _ *sdk.CallToolRequest, _ none) (*sdk.CallToolResult, any, error) {
			r.slow <- struct{}{}
			select {
			case <-ctx.Done():
				r.heard <- struct{}{}
			case <-r.going:
			}
			return text("done")
		})
	r.forget()
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() {
		select {
		case <-r.going:
		default:
			close(r.going)
		}
		r.CloseClientConnections()
		r.Close()
		for s := range r.server.Sessions() {
			_ = s.Close()
		}
	})
	return r
}

// forget makes the endpoint one that knows no session.
func (r *remote) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return r.server }, r.o)
}

// putFront puts f in front of the server; nil takes it away.
func (r *remote) putFront(f func(w http.ResponseWriter, req *http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.front = f
}

func (r *remote) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	front, handler := r.front, r.handler
	r.requests = append(r.requests, req)
	r.mu.Unlock()
	if front == nil || !front(w, req) {
		handler.ServeHTTP(w, req)
	}
}

// seen returns the requests with the method so far.
func (r *remote) seen(method string) []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*http.Request
	for _, req := range r.requests {
		if req.Method == method {
			out = append(out, req)
		}
	}
	return out
}

// die ends the endpoint as a process would end that is killed.
func (r *remote) die() {
	r.Config.SetKeepAlivesEnabled(false)
	_ = r.Listener.Close()
	r.CloseClientConnections()
}

// declare declares the endpoint under a name, with the key as its credentials.
func (r *remote) declare(name, key string) mcp.Server {
	s := mcp.Server{Name: name, URL: r.URL + "/mcp"}
	if key != "" {
		s.Headers = map[string]string{"Authorization": "Bearer " + key, "X-Key": key}
	}
	return s
}

// isCall reports whether the request is a call of the tool.
func isCall(req *http.Request, tool string) bool {
	if req.Method != http.MethodPost {
		return false
	}
	body, err := peek(req)
	return err == nil && strings.Contains(body, `"tools/call"`) && strings.Contains(body, `"name":"`+tool+`"`)
}

// newRemoteMCP returns the subsystem with the endpoint as server r, connected.
func newRemoteMCP(t testing.TB, r *remote, o *mcp.Options) *mcp.MCP {
	t.Helper()
	m := newMCP(t, o, r.declare("r", "k"))
	build(t, m, "")
	require.Equal(t, mcp.StateConnected, m.Status()[0].State, m.Status()[0].Reason)
	return m
}

// freeAddr is an address at which nobody listens.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// hang keeps a request waiting until its client leaves or the test ends.
func hang(t testing.TB) func(w http.ResponseWriter, req *http.Request) bool {
	t.Helper()
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	return func(_ http.ResponseWriter, req *http.Request) bool {
		_, _ = peek(req) // so that the server notices when the client leaves
		select {
		case <-req.Context().Done():
		case <-end:
		case <-time.After(time.Minute):
		}
		return true
	}
}

func status(code int, body string) func(w http.ResponseWriter, req *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
		return true
	}
}
