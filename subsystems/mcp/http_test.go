package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// peek reads the body of a request and leaves it to be read.
func peek(req *http.Request) (string, error) {
	data, err := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(data))
	return string(data), err
}

// callAsync begins a call and returns where its result will be.
func callAsync(t testing.TB, m *mcp.MCP, tool string, args message.JSON) <-chan message.ToolResult {
	t.Helper()
	inv := bind(t, m, tool, args)
	require.Nil(t, inv.Err())
	out := make(chan message.ToolResult, 1)
	go func() { out <- inv.Runner().Run(context.Background(), &hook.Env{}) }()
	return out
}

func TestHTTPServer(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*sdk.StreamableHTTPOptions{
		"sessions":      nil,
		"sessions json": {JSONResponse: true},
		"stateless":     {Stateless: true},
		"resumable":     {EventStore: sdk.NewMemoryEventStore(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, o)
			host := &recorder{}
			m := newMCP(t, nil, r.declare("r", "k3y"))
			require.NoError(t, m.OnOpen(t.Context(), host))
			assert.Empty(t, r.seen(http.MethodPost), "declaring connects nothing")
			build(t, m, "")
			require.Equal(t, mcp.StateConnected, m.Status()[0].State, m.Status()[0].Reason)
			assert.Zero(t, m.Status()[0].Process)
			assert.Equal(t, []string{"mcp__r__echo", "mcp__r__slow", "mcp__r__who"}, names(m))
			for range 3 {
				assert.Equal(t, message.ToolResult{Content: message.ListOf(message.TextBlock("grüß")), Trust: message.TrustExternal},
					run(t, m, "mcp__r__echo", `{"text":"grüß"}`))
			}
			assert.Equal(t, "k3y", run(t, m, "mcp__r__who", "{}").Text())
			require.NoError(t, m.OnClose(t.Context()))
			for _, req := range append(r.seen(http.MethodPost), append(r.seen(http.MethodGet), r.seen(http.MethodDelete)...)...) {
				assert.Equal(t, "Bearer k3y", req.Header.Get("Authorization"), "%s", req.Method)
			}
			if o == nil || !o.Stateless {
				assert.Len(t, r.seen(http.MethodDelete), 1, "the session is ended")
			}
			assert.Equal(t, []string{"server_connected r"}, host.texts())
		})
	}
}

func TestSessionThatIsForgottenIsOpenedAgain(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"404":               nil, // the library's own answer
		"400 without id":    status(400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`),
		"404 with other id": status(404, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`),
		"400 in words":      status(400, "no such session"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, nil)
			m := newRemoteMCP(t, r, nil)
			host := &recorder{}
			require.NoError(t, m.OnOpen(t.Context(), host))
			old := r.seen(http.MethodGet)[0].Header.Get("Mcp-Session-Id")
			require.NotEmpty(t, old)
			if answer == nil {
				r.forget()
			} else {
				r.putFront(func(w http.ResponseWriter, req *http.Request) bool {
					return req.Header.Get("Mcp-Session-Id") == old && answer(w, req)
				})
			}
			assert.Equal(t, "x", run(t, m, "mcp__r__echo", `{"text":"x"}`).Text(), "the call was not made, so it is made again")
			assert.Equal(t, mcp.StateConnected, m.Status()[0].State)
			assert.Equal(t, []string{"server_lost r: it has forgotten the session", "server_connected r"}, host.texts())
		})
	}
	t.Run("for ever", func(t *testing.T) {
		t.Parallel()
		r := newRemote(t, nil)
		m := newRemoteMCP(t, r, nil)
		calls := 0
		r.putFront(func(w http.ResponseWriter, req *http.Request) bool {
			if !isCall(req, "echo") {
				return false
			}
			calls++
			return status(404, "")(w, req)
		})
		assert.Equal(t, message.FailUnreachable, run(t, m, "mcp__r__echo", `{"text":"x"}`).Failure)
		assert.Equal(t, 2, calls, "once more, not without end")
	})
}

func TestRejectedCallsKeepTheConnection(t *testing.T) {
	t.Parallel()
	r := newRemote(t, nil)
	m := newRemoteMCP(t, r, nil)
	inFlight := callAsync(t, m, "mcp__r__slow", "{}")
	<-r.slow
	for code, want := range map[int]message.FailureKind{
		401: message.FailOperation, 403: message.FailOperation, 405: message.FailOperation, 413: message.FailOperation, 429: message.FailOperation,
		500: message.FailOperation, 502: message.FailUnreachable, 503: message.FailUnreachable, 504: message.FailUnreachable,
	} {
		r.putFront(func(w http.ResponseWriter, req *http.Request) bool {
			return isCall(req, "echo") && status(code, "you sent Bearer k")(w, req)
		})
		res := run(t, m, "mcp__r__echo", `{"text":"x"}`)
		assert.Equal(t, want, res.Failure, "%d", code)
		assert.Equal(t, fmt.Sprintf("the server r did not take the call: HTTP %d %s", code, http.StatusText(code)), res.Text())
	}
	r.putFront(nil)
	assert.Equal(t, "x", run(t, m, "mcp__r__echo", `{"text":"x"}`).Text())
	close(r.going)
	assert.Equal(t, "done", (<-inFlight).Text(), "other calls go on")
	assert.Len(t, r.seen(http.MethodGet), 1, "still the first session")
}

// The server's own error, whatever status it comes with, is its answer.
func TestErrorsOfTheProtocolAreAnswers(t *testing.T) {
	t.Parallel()
	r := newRemote(t, nil)
	m := newMCP(t, nil, r.declare("r", "secret-k3y"))
	build(t, m, "")
	for _, code := range []int{200, 400, 404, 500} {
		r.putFront(func(w http.ResponseWriter, req *http.Request) bool {
			if !isCall(req, "echo") {
				return false
			}
			body, _ := peek(req)
			id := body[strings.Index(body, `"id":`)+5:]
			id = id[:strings.IndexAny(id, ",}")]
			w.Header().Set("Content-Type", "application/json")
			return status(code, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32602,"message":"no, with secret-k3y"}}`)(w, req)
		})
		res := run(t, m, "mcp__r__echo", `{"text":"x"}`)
		assert.Equal(t, message.FailOperation, res.Failure, "%d", code)
		if code < 500 { // above, the library does not look
			assert.Equal(t, "no, with [hidden]", res.Text(), "what it was sent is not repeated")
		}
		assert.Equal(t, mcp.StateConnected, m.Status()[0].State)
	}
}

func TestEndpointsThatCannotBeConnected(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry-value"
	refused, slow, garbage := newRemote(t, nil), newRemote(t, nil), newRemote(t, nil)
	echo := func(w http.ResponseWriter, req *http.Request) bool { // as careless servers do
		return status(401, fmt.Sprintf("%v %s", req.Header, req.URL))(w, req)
	}
	refused.putFront(echo)
	slow.putFront(hang(t))
	garbage.putFront(func(w http.ResponseWriter, req *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		return status(200, `{"you sent": "`+req.Header.Get("Authorization")+`"`)(w, req)
	})
	answers := newRemote(t, nil)
	answers.putFront(func(w http.ResponseWriter, req *http.Request) bool {
		body, _ := peek(req)
		id := body[strings.Index(body, `"id":`)+5:]
		id = id[:strings.IndexAny(id, ",}")]
		w.Header().Set("Content-Type", "application/json")
		return status(200, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":1,"message":"bad key `+req.Header.Get("X-Key")+`"}}`)(w, req)
	})
	other := newRemote(t, nil)
	moved := newRemote(t, nil)
	moved.putFront(func(w http.ResponseWriter, req *http.Request) bool {
		http.Redirect(w, req, other.URL+"/mcp", http.StatusTemporaryRedirect)
		return true
	})
	gone := newRemote(t, nil)
	gone.URL = "http://" + freeAddr(t)
	var servers []mcp.Server
	for _, s := range []struct {
		name string
		r    *remote
	}{{"refused", refused}, {"slow", slow}, {"garbage", garbage}, {"answers", answers}, {"moved", moved}, {"gone", gone}} {
		d := s.r.declare(s.name, canary)
		d.URL += "?key=" + canary
		servers = append(servers, d)
	}
	host, place := &recorder{}, &recorder{}
	m := newMCP(t, &mcp.Options{ConnectTimeout: 3 * time.Second}, servers...)
	require.NoError(t, m.OnOpen(t.Context(), host))
	_, err := m.OnBuildAgent(t.Context(), agent("").WithHost(place))
	require.NoError(t, err)
	for i, want := range []string{
		"connect: HTTP 401 Unauthorized", "it did not answer within 3s", "connect: ", "connect: ",
		"connect: it redirects to another host, which is not followed", "connect: dial tcp " + strings.TrimPrefix(gone.URL, "http://") + ": connect: connection refused",
	} {
		st := m.Status()[i]
		assert.Equal(t, mcp.StateLost, st.State, st.Name)
		assert.Contains(t, st.Reason, want, st.Name)
	}
	assert.Contains(t, m.Status()[3].Reason, "bad key [hidden]")
	assert.Empty(t, other.seen(http.MethodPost), "nothing is sent to where a server points")
	everything := fmt.Sprintf("%+v %#v %v %v", m.Status(), m.Status(), host.texts(), place.texts())
	assert.NotContains(t, everything, canary)
}

func TestRedirectOnTheSameHostIsFollowed(t *testing.T) {
	t.Parallel()
	r := newRemote(t, nil)
	r.putFront(func(w http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path != "/mcp" {
			return false
		}
		http.Redirect(w, req, "/mcp/", http.StatusPermanentRedirect)
		return true
	})
	m := newRemoteMCP(t, r, nil)
	assert.Equal(t, "k", run(t, m, "mcp__r__who", "{}").Text(), "with its headers")
	r.putFront(func(w http.ResponseWriter, req *http.Request) bool {
		http.Redirect(w, req, "/mcp/", http.StatusFound)
		return true
	})
	res := run(t, m, "mcp__r__who", "{}")
	assert.Equal(t, message.FailOperation, res.Failure)
	assert.Contains(t, res.Text(), "a redirect that would lose the request")
}

func TestHangingCallEndsAtItsTime(t *testing.T) {
	t.Parallel()
	r := newRemote(t, nil)
	m := newRemoteMCP(t, r, &mcp.Options{CallTimeout: time.Second})
	stuck := hang(t)
	r.putFront(func(w http.ResponseWriter, req *http.Request) bool { return isCall(req, "echo") && stuck(w, req) })
	assert.Equal(t, message.FailTimeout, run(t, m, "mcp__r__echo", `{"text":"x"}`).Failure)
	assert.Equal(t, message.FailTimeout, run(t, m, "mcp__r__slow", "{}").Failure)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-r.slow
		<-r.slow
		cancel()
	}()
	assert.Equal(t, message.FailCancelled, runIn(t, ctx, m, "mcp__r__slow", "{}").Failure)
	assert.Equal(t, mcp.StateConnected, m.Status()[0].State)
	assert.Equal(t, "k", run(t, m, "mcp__r__who", "{}").Text())
	for range 2 {
		<-r.heard // the server hears of both
	}
}

// cut answers the calls of a tool with the beginning of a stream.
func cut(tool, events string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, req *http.Request) bool {
		if !isCall(req, tool) {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		fmt.Fprint(w, events)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // ends the TCP connection
	}
}

func TestStreamThatBreaksFailsItsCallOnly(t *testing.T) {
	t.Parallel()
	r := newRemote(t, nil)
	m := newRemoteMCP(t, r, nil)
	inFlight := callAsync(t, m, "mcp__r__slow", "{}")
	<-r.slow
	for _, events := range []string{"", ": hello\n\n", "data: {\"jsonrpc\":\"2.0\",\"met"} {
		r.putFront(cut("echo", events))
		res := run(t, m, "mcp__r__echo", `{"text":"x"}`)
		assert.Equal(t, message.FailUnreachable, res.Failure, "%q: %s", events, res.Text())
	}
	r.putFront(func(w http.ResponseWriter, req *http.Request) bool { // an answer that breaks off
		if !isCall(req, "echo") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		return status(200, `{"jsonrpc":"2.0","id":`)(w, req)
	})
	assert.Equal(t, message.FailUnreachable, run(t, m, "mcp__r__echo", `{"text":"x"}`).Failure)
	r.putFront(nil)
	assert.Equal(t, "x", run(t, m, "mcp__r__echo", `{"text":"x"}`).Text())
	close(r.going)
	assert.Equal(t, "done", (<-inFlight).Text())
	assert.Equal(t, mcp.StateConnected, m.Status()[0].State)
	assert.Len(t, r.seen(http.MethodGet), 1, "still the first session")
}

func TestServerThatDiesFailsItsCalls(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*sdk.StreamableHTTPOptions{
		"sessions": nil, "stateless": {Stateless: true}, "resumable": {EventStore: sdk.NewMemoryEventStore(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, other := newRemote(t, o), newRemote(t, o)
			m := newMCP(t, nil, r.declare("r", "k"), other.declare("o", "k"))
			host := &recorder{}
			build(t, m, "")
			require.NoError(t, m.OnOpen(t.Context(), host))
			var calls []<-chan message.ToolResult
			for range 4 {
				calls = append(calls, callAsync(t, m, "mcp__r__slow", "{}"))
				<-r.slow
			}
			inFlight := callAsync(t, m, "mcp__o__slow", "{}")
			<-other.slow
			r.die()
			for _, c := range calls {
				assert.Equal(t, message.FailUnreachable, (<-c).Failure)
			}
			eventually(t, "the loss is told", func() bool { return len(host.texts()) > 0 })
			assert.Contains(t, host.texts()[0], "server_lost r: it cannot be reached any more")
			assert.Equal(t, mcp.StateLost, m.Status()[0].State)
			assert.Contains(t, names(m), "mcp__r__echo", "its tools stay")
			assert.Equal(t, message.FailUnreachable, run(t, m, "mcp__r__echo", `{"text":"x"}`).Failure)
			close(other.going)
			assert.Equal(t, "done", (<-inFlight).Text())
		})
	}
}

func TestStreamIsResumed(t *testing.T) {
	t.Parallel()
	r := newRemote(t, &sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)})
	sdk.AddTool(r.server, &sdk.Tool{Name: "polled"}, func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		req.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		<-r.going
		return text("late")
	})
	m := newRemoteMCP(t, r, nil)
	polled := callAsync(t, m, "mcp__r__polled", "{}")
	eventually(t, "the stream is asked for again", func() bool {
		gets := r.seen(http.MethodGet)
		return gets[len(gets)-1].Header.Get("Last-Event-ID") != ""
	})
	close(r.going)
	assert.Equal(t, "late", (<-polled).Text())
}

func TestAnswersThatAreTooLong(t *testing.T) {
	t.Parallel()
	r := newRemote(t, &sdk.StreamableHTTPOptions{JSONResponse: true})
	m := newRemoteMCP(t, r, nil)
	r.putFront(func(w http.ResponseWriter, req *http.Request) bool {
		if !isCall(req, "echo") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		part := bytes.Repeat([]byte(" "), 1<<20)
		for range 40 {
			if _, err := w.Write(part); err != nil {
				break
			}
		}
		return true
	})
	assert.Equal(t, message.FailUnreachable, run(t, m, "mcp__r__echo", `{"text":"x"}`).Failure)
	assert.Equal(t, "k", run(t, m, "mcp__r__who", "{}").Text())
}

// A server that has no stream of its own, or only errors for it, is used without.
func TestServersWithoutAStream(t *testing.T) {
	t.Parallel()
	for _, code := range []int{400, 404, 405, 429, 500, 503} {
		r := newRemote(t, nil)
		r.putFront(func(w http.ResponseWriter, req *http.Request) bool {
			return req.Method == http.MethodGet && status(code, "")(w, req)
		})
		m := newRemoteMCP(t, r, nil)
		assert.Equal(t, "x", run(t, m, "mcp__r__echo", `{"text":"x"}`).Text(), "%d", code)
	}
}

func TestCloseDoesNotWaitForAServerThatHangs(t *testing.T) {
	t.Parallel()
	r := newRemote(t, nil)
	m := newRemoteMCP(t, r, &mcp.Options{StopGrace: 200 * time.Millisecond})
	inFlight := callAsync(t, m, "mcp__r__slow", "{}")
	<-r.slow
	stuck := hang(t)
	r.putFront(func(w http.ResponseWriter, req *http.Request) bool { return stuck(w, req) })
	require.NoError(t, m.OnClose(t.Context()))
	assert.Equal(t, message.FailUnreachable, (<-inFlight).Failure)
}
