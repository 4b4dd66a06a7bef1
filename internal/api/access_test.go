package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/store"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
)

// TestAccess: every combination of what a browser could send, on every kind of
// request. Only a client of the socket gets through, and what is refused has no
// effect.
func TestAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	hosts := map[string]bool{
		"grapnel": true, "localhost": true, "": false, "127.0.0.1": false, "[::1]": false, "localhost:80": false,
		"grapnel.example.org": false, "evil.example": false, "GRAPNEL": false, "0.0.0.0": false,
	}
	origins := []string{"", "null", "http://localhost", "http://grapnel", "https://evil.example"}
	referers := []string{"", "http://localhost/", "https://evil.example/x"}
	sites := []string{"", "none", "same-origin", "cross-site"}
	requests := []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/v1/health", "", 200},
		{"GET", "/v1/agents", "", 200},
		{"POST", "/v1/conversations", `{"sender":"intruder"}`, 200},
		{"DELETE", "/v1/agents/nobody", "", 404},
		{"POST", "/v1/conversations/none/messages", `{"text":"hello"}`, 404},
		{"PUT", "/v1/agents", "", 405},
		{"HEAD", "/v1/health", "", 405},
		{"OPTIONS", "/v1/agents", "", 405},
	}
	rows, refused := 0, 0
	for host, good := range hosts {
		for _, origin := range origins {
			for _, referer := range referers {
				for _, site := range sites {
					for _, r := range requests {
						req := httptest.NewRequestWithContext(t.Context(), r.method, "http://grapnel"+r.path, strings.NewReader(r.body))
						req.Host = host
						req.Header.Set("Content-Type", "application/json")
						for name, value := range map[string]string{"Origin": origin, "Referer": referer, "Sec-Fetch-Site": site} {
							if value != "" {
								req.Header.Set(name, value)
							}
						}
						want := r.want
						if !good || origin != "" || referer != "" || site != "" {
							want = http.StatusForbidden
							refused++
							req.Body = io.NopCloser(strings.NewReader(`{"sender":"refused"}`))
						}
						out := httptest.NewRecorder()
						w.server.ServeHTTP(out, req)
						require.Equal(t, want, out.Code, "%s %s host %q origin %q referer %q site %q", r.method, r.path, host, origin, referer, site)
						require.Empty(t, out.Header().Get("Access-Control-Allow-Origin"))
						rows++
					}
				}
			}
		}
	}
	assert.Greater(t, rows, 4000)
	assert.Less(t, refused, rows)
	all, err := w.store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, store.Key{Agent: "helper", Sender: "intruder"}, all[0].Key, "what was refused has made nothing")

	t.Log("a header without a value is one")
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", w.socket())
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprint(conn, "GET /v1/health HTTP/1.1\r\nHost: grapnel\r\nOrigin:\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusForbidden, resp.StatusCode)
}

// TestGetChangesNothing: every path with GET leaves the store as it is.
func TestGetChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	before, err := w.store.List(t.Context())
	require.NoError(t, err)
	for _, r := range w.server.Routes() {
		if strings.HasSuffix(r.Path, "/events") {
			continue // these do not end; they only read a ring
		}
		path := strings.NewReplacer("{id}", conv.ID, "{agent}", "helper", "{event}", "1-9999").Replace(r.Path)
		out := httptest.NewRecorder()
		w.server.ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), "GET", "http://grapnel"+path+"?stream=1&agent=helper&q=x", strings.NewReader(`{"text":"x"}`)))
		assert.Contains(t, []int{200, 404, 405}, out.Code, path) // 404: there is no such event
	}
	after, err := w.store.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.Equal(t, []string{"helper"}, w.rt.Agents())
}

// TestStrict: what is wrong with a request is said, and nothing happens.
func TestStrict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	messages := "/v1/conversations/" + conv.ID + "/messages"
	tests := []struct {
		name, path, kind, body string
		status                 int
		says                   string
	}{
		{"no JSON", messages, "application/json", `hello`, 400, "the body"},
		{"empty", messages, "application/json", ``, 400, "the body"},
		{"unknown member", messages, "application/json", `{"text":"x","txt":"y"}`, 400, "txt"},
		{"other case", messages, "application/json", `{"Text":"x"}`, 400, "Text"},
		{"twice", messages, "application/json", `{"text":"x","text":"y"}`, 400, "duplicate"},
		{"another kind", messages, "application/json", `{"text":1}`, 400, "/text"},
		{"more behind", messages, "application/json", `{"text":"x"}{}`, 400, "the body"},
		{"no UTF-8", messages, "application/json", "{\"text\":\"\xff\"}", 400, "UTF-8"},
		{"lone surrogate", messages, "application/json", `{"text":"\ud800"}`, 400, "surrogate"},
		{"blank", messages, "application/json", `{"text":" \n"}`, 400, "text is empty"},
		{"stream is no flag", messages + "?stream=yes", "application/json", `{"text":"x"}`, 400, "stream"},
		{"a form", messages, "application/x-www-form-urlencoded", `text=x`, 415, "application/json"},
		{"plain text", messages, "text/plain", `{"text":"x"}`, 415, "application/json"},
		{"no type", messages, "", `{"text":"x"}`, 415, "application/json"},
		{"too long", messages, "application/json", `{"text":"` + strings.Repeat("x", 9<<20) + `"}`, 413, "text is longer than"},
		{"far too long", messages, "application/json", `{"text":"` + strings.Repeat("x", 33<<20) + `"}`, 413, "the body is longer than"},
		{"a file without a name", messages, "application/json", `{"text":"x","files":[{"name":"","data":"eA=="}]}`, 400, "files[0] has no name"},
		{"a file that is nothing", messages, "application/json", `{"text":"x","files":[{"name":"f","data":""}]}`, 400, "files[0]: f is empty"},
		{"a file of no kind", messages, "application/json", `{"text":"x","files":[{"name":"f","data":"AAEC"}]}`, 400, "files[0]: f is neither text nor"},
		{"a file that is no base64", messages, "application/json", `{"text":"x","files":[{"name":"f","data":"?"}]}`, 400, "base64"},
		{"many files", messages, "application/json", `{"text":"x","files":[` + strings.Repeat(`{"name":"f","data":"eA=="},`, 20) + `{"name":"f","data":"eA=="}]}`, 400, "at most 20"},
		{"no conversation", "/v1/conversations/x/messages", "application/json", `{"text":"x"}`, 404, "GET /v1/conversations lists them"},
		{"no agent", "/v1/conversations", "application/json", `{"agent":"x"}`, 404, "the registered agents are helper"},
		{"no path", "/v1/nope", "application/json", `{}`, 404, "docs/openapi.yaml"},
		{"no method", "/v1/health", "application/json", `{}`, 405, "it has GET"},
		{"agent without a name", "/v1/agents", "application/json", `{}`, 400, "name"},
		{"agent with a bad name", "/v1/agents", "application/json", `{"name":"../x"}`, 400, "name"},
		{"agent with a bad tool", "/v1/agents", "application/json", `{"name":"x","tools":["nope"]}`, 400, "nope"},
		{"agent with a bad time", "/v1/agents", "application/json", `{"name":"x","limits":{"time":"5"}}`, 400, "limits.time"},
		{"agent with negative limits", "/v1/agents", "application/json", `{"name":"x","limits":{"steps":-1}}`, 400, "limits"},
		{"agent with a section that is none", "/v1/agents", "application/json", `{"name":"x","sections":{"box":3}}`, 400, "sections.box"},
		{"reply with an unknown member", "/v1/inquiries/x", "application/json", `{"given":[{"txt":"y"}]}`, 400, "txt"},
		{"reply to nothing", "/v1/inquiries/a%2Fb", "application/json", `{"given":[]}`, 404, `no inquiry \"a/b\" waits`},
		{"fork without anything", "/v1/conversations/x/fork", "application/json", `{"turn":1}`, 400, "turn"},
		{"import of another kind", "/v1/import", "application/json", `{}`, 415, "application/jsonl"},
		{"answer to nothing", "/v1/asks/x", "application/json", `{"answer":"approve"}`, 404, "no ask"},
		{"answer of no kind", "/v1/asks/x", "application/json", `{"answer":"maybe"}`, 400, "approve, refuse or modify"},
		{"modify without arguments", "/v1/asks/x", "application/json", `{"answer":"modify"}`, 400, "args"},
		{"modify with a list", "/v1/asks/x", "application/json", `{"answer":"modify","args":[]}`, 400, "args"},
		{"approve with arguments", "/v1/asks/x", "application/json", `{"answer":"approve","args":{}}`, 400, "args"},
		{"approve with a reason", "/v1/asks/x", "application/json", `{"answer":"approve","reason":"x"}`, 400, "reason"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://grapnel"+tt.path, strings.NewReader(tt.body))
			require.NoError(t, err)
			if tt.kind != "" {
				req.Header.Set("Content-Type", tt.kind)
			}
			resp, err := over(w.client.Address()).RoundTrip(req)
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, tt.status, resp.StatusCode, "%s", body)
			assert.Contains(t, string(body), tt.says)
			assert.NotContains(t, string(body), "wire.", "types of ours are nobody's business")
		})
	}
	messagesNow, err := w.client.Messages(t.Context(), conv.ID)
	require.NoError(t, err)
	assert.Empty(t, messagesNow)
	assert.Equal(t, []string{"helper"}, w.rt.Agents())
}

// TestFilesOfAMessage reach the model as blocks, and the conversation keeps them.
func TestFilesOfAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	turn, err := w.client.SendMessage(t.Context(), conv.ID, wire.NewMessage{Text: "What is this?", Files: []wire.File{
		{Name: "dir/a.png", Data: []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")}, {Name: "notes.md", Data: []byte("# Notes")},
	}})
	require.NoError(t, err)
	require.NotEmpty(t, turn.ID)
	require.Eventually(t, func() bool {
		ms, err := w.client.Messages(t.Context(), conv.ID)
		return err == nil && len(ms) == 2
	}, time.Minute, 10*time.Millisecond)
	ms, err := w.client.Messages(t.Context(), conv.ID)
	require.NoError(t, err)
	assert.Equal(t, []message.Block{
		message.TextBlock("What is this?"),
		{Kind: message.BlockImage, MIME: "image/png", Name: "a.png", Data: "iVBORw0KGgoAAAANSUhEUg=="},
		{Kind: message.BlockText, Name: "notes.md", Text: "The file notes.md:\n\n# Notes"},
	}, ms[0].Content.Slice())
}
