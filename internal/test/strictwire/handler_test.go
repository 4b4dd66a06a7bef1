package strictwire_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// asking is a good request of each wire.
func asking() map[string]struct{ url, body string } {
	return map[string]struct{ url, body string }{
		"chat":      {"/v1/chat/completions", chat(oaUser, `,"stream":true`)},
		"responses": {"/v1/responses", respond(reUser, `,"stream":true`)},
		"messages":  {messagesPath, bare(anUser, `,"stream":true`)},
		"gemini":    {geminiPath, generate(geUser)},
	}
}

// Without a network a chunk is read when the model says it, not at the end.
func TestAnswersAreReadAsTheyAreMade(t *testing.T) {
	t.Parallel()
	for _, w := range strictwire.Wires() {
		synctest.Test(t, func(t *testing.T) {
			slow := provider.Func(func(context.Context, message.ModelRequest) message.ModelStream {
				return func(yield func(message.Chunk, error) bool) {
					for _, c := range joined(texts("now", "later"), finish(message.FinishStop, message.Usage{})) {
						if !yield(c, nil) {
							return
						}
						time.Sleep(time.Hour)
					}
				}
			})
			h := strictwire.New(w, slow, nil)
			ask := asking()[w.Name()]
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://strict.test"+ask.url, strings.NewReader(ask.body))
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer k")
			req.Header.Set("X-Goog-Api-Key", "k")
			req.Header.Set("Anthropic-Version", "2026-10-21")
			began := time.Now()
			resp, err := h.Client().Do(req)
			require.NoError(t, err)
			assert.Equal(t, "text/event-stream; charset=utf-8", resp.Header.Get("Content-Type"))
			seen := map[string]time.Duration{}
			lines := bufio.NewScanner(resp.Body)
			for lines.Scan() {
				for _, text := range []string{"now", "later"} {
					if strings.Contains(lines.Text(), `"`+text+`"`) && seen[text] == 0 {
						seen[text] = time.Since(began) + 1
					}
				}
			}
			require.NoError(t, lines.Err())
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, map[string]time.Duration{"now": time.Hour + 1, "later": 2*time.Hour + 1}, seen, "%s: a chunk waits for the next one", w.Name())
		})
	}
}

// Who leaves early, or cancels, releases the model behind.
func TestAClientMayLeave(t *testing.T) {
	t.Parallel()
	for _, w := range strictwire.Wires() {
		released := make(chan struct{}, 2)
		endless := provider.Func(func(context.Context, message.ModelRequest) message.ModelStream {
			return func(yield func(message.Chunk, error) bool) {
				defer func() { released <- struct{}{} }()
				for yield(message.Chunk{Kind: message.ChunkText, Text: "x"}, nil) {
					continue
				}
			}
		})
		h := strictwire.New(w, endless, nil)
		srv := serve(t, h)
		for _, base := range []struct {
			url string
			hc  *http.Client
		}{{"http://strict.test", h.Client()}, {srv.URL, srv.Client()}} {
			ctx, cancel := context.WithCancel(t.Context())
			ask := asking()[w.Name()]
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, base.url+ask.url, strings.NewReader(ask.body))
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer k")
			req.Header.Set("X-Goog-Api-Key", "k")
			req.Header.Set("Anthropic-Version", "2026-10-21")
			resp, err := base.hc.Do(req)
			require.NoError(t, err)
			_, err = io.ReadFull(resp.Body, make([]byte, 100))
			require.NoError(t, err)
			cancel()
			_, err = io.Copy(io.Discard, resp.Body)
			require.ErrorIs(t, err, context.Canceled)
			require.NoError(t, resp.Body.Close())
			<-released
		}
	}
}

// A model that ends without a finish, and one that fails like the network, cut the stream.
func TestAStreamIsCut(t *testing.T) {
	t.Parallel()
	for _, w := range strictwire.Wires() {
		ask := asking()[w.Name()]
		_, body := send(t, strictwire.New(w, scripted(texts("half")), nil), ask.url, ask.body, nil)
		for _, end := range []string{"[DONE]", "response.completed", "message_stop", "finishReason"} {
			assert.NotContains(t, body, end+`"`, w.Name())
		}
		assert.Contains(t, body, "half")

		reset := &script{answers: [][]message.Chunk{nil}, err: &provider.Error{Class: message.FailureNetwork, Err: errors.New("reset")}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://strict.test"+ask.url, strings.NewReader(ask.body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer k")
		req.Header.Set("X-Goog-Api-Key", "k")
		req.Header.Set("Anthropic-Version", "2026-10-21")
		resp, err := strictwire.New(w, reset, nil).Client().Do(req)
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, w.Name())
	}
}

func TestOnlyStreamsAreAnswered(t *testing.T) {
	t.Parallel()
	status, body := send(t, strictwire.New(strictwire.Messages(), says("x"), nil), messagesPath, bare(anUser), nil)
	assert.Equal(t, 501, status)
	assert.Contains(t, body, "set stream to true")
}

// What a prompt cache can use of 20 requests that each continue the one before, and of those
// that do not.
func TestThePrefixIsMeasured(t *testing.T) {
	t.Parallel()
	for _, w := range strictwire.Wires() {
		h := strictwire.New(w, says("x"), nil)
		body := func(n int, first string) string {
			var ms []string
			for i := range n {
				switch w.Name() {
				case "messages":
					ms = append(ms, `{"role":"user","content":"`+first+`"}`, an("assistant", anCached(fmt.Sprint(i), "5m")))
				case "gemini":
					ms = append(ms, geContent("user", `{"text":"`+first+`"}`), geContent("model", `{"text":"x"}`))
				default:
					ms = append(ms, `{"role":"user","content":"`+first+`"}`, `{"role":"assistant","content":"x"}`)
				}
			}
			all := strings.Join(ms, ",")
			if w.Name() == "messages" { // the breakpoint moves on, and the older ones go
				if at := strings.LastIndex(all, `,"cache_control"`); at >= 0 {
					all = strings.ReplaceAll(all[:at], `,"cache_control":{"type":"ephemeral","ttl":"5m"}`, "") + all[at:]
				}
				return bare(all+`,`+anUser, `,"stream":true`)
			}
			switch w.Name() {
			case "gemini":
				return generate(strings.TrimPrefix(all+","+geUser, ","))
			case "responses":
				return respond(strings.TrimPrefix(all+","+reUser, ","), `,"stream":true`)
			}
			return chat(strings.TrimPrefix(all+","+oaUser, ","), `,"stream":true`)
		}
		for n := 1; n <= 20; n++ {
			status, response := send(t, h, asking()[w.Name()].url, body(n, "hi"), nil)
			require.Equal(t, 200, status, response)
		}
		for i, r := range h.Requests()[1:] {
			assert.True(t, r.Prefix.Stable(), "%s: request %d: %+v", w.Name(), i+1, r.Prefix)
			assert.Equal(t, 2*i+3, r.Prefix.Before)
			assert.Greater(t, r.Prefix.Bytes, 20)
		}
		send(t, h, asking()[w.Name()].url, body(21, "ho"), nil)
		all := h.Requests()
		last := all[len(all)-1].Prefix
		assert.False(t, last.Stable())
		assert.Zero(t, last.Kept)
		assert.True(t, last.Tools && last.System)
	}
}

// Whatever a request is, the servers answer it, and in JSON.
func FuzzServers(f *testing.F) {
	for _, w := range allRows() {
		for _, r := range w.rows {
			if len(r.bad) < 4000 {
				f.Add(r.bad)
			}
		}
	}
	wires := strictwire.Wires()
	f.Fuzz(func(t *testing.T, body string) {
		for _, w := range wires {
			for _, r := range w.Broken("gemini-3-pro", []byte(body), "") {
				if r.Message == "" || r.Rule == "" || !strings.HasPrefix(r.Body, "{") {
					t.Fatalf("%s: %q: %+v", w.Name(), body, r)
				}
			}
		}
	})
}

// A result without an id answers the first call of its content that has no result yet.
func TestResultsWithoutIDsAnswerTheirOwnCalls(t *testing.T) {
	t.Parallel()
	var got []string
	model := provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
		calls := map[string]message.JSON{}
		for _, m := range req.Messages.All() {
			for _, b := range m.Content.All() {
				calls[b.CallID] = b.JSON
			}
			if m.Role == message.RoleTool {
				got = append(got, string(calls[m.CallID])+" "+m.Result.Text())
			}
		}
		return says("seen").Stream(ctx, req)
	})
	h := strictwire.New(strictwire.Gemini(), model, nil)
	call := func(n int) string { return fmt.Sprintf(`{"functionCall":{"name":"f","args":{"n":%d}}}`, n) }
	result := func(n int) string {
		return fmt.Sprintf(`{"functionResponse":{"name":"f","response":{"output":"r%d"}}}`, n)
	}
	body := `{"contents":[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[` + call(1) + `,` + call(2) + `]},` +
		`{"role":"user","parts":[` + result(1) + `,` + result(2) + `]}]}`
	status, response := send(t, h, "/v1beta/models/gemini-2.0-flash:streamGenerateContent?alt=sse", body, nil)
	require.Equal(t, http.StatusOK, status, response)
	assert.Equal(t, []string{`{"n":1} r1`, `{"n":2} r2`}, got)
}
