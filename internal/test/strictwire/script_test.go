package strictwire_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// script is a model that gives its answers in order, and the last one for good. err ends an
// answer in place of a finish.
type script struct {
	mu      sync.Mutex
	answers [][]message.Chunk
	err     error
	asked   []message.ModelRequest
}

func scripted(answers ...[]message.Chunk) *script { return &script{answers: answers} }

// Stream implements provider.Provider.
func (s *script) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	chunks := s.answers[min(len(s.asked), len(s.answers)-1)]
	s.asked = append(s.asked, req)
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		if s.err != nil {
			yield(message.Chunk{}, s.err)
		}
	}
}

func (s *script) last() message.ModelRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[len(s.asked)-1]
}

func texts(pieces ...string) (out []message.Chunk) {
	for _, p := range pieces {
		out = append(out, message.Chunk{Kind: message.ChunkText, Text: p})
	}
	return out
}

func thinks(pieces ...string) (out []message.Chunk) {
	for _, p := range pieces {
		out = append(out, message.Chunk{Kind: message.ChunkReasoning, Text: p})
	}
	return out
}

// interleaved returns two calls whose arguments are streamed at the same time.
func interleaved(tool, first, second string) []message.Chunk {
	arg := func(i int, s string) message.Chunk {
		return message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: s}
	}
	return []message.Chunk{
		{Kind: message.ChunkCallStart, Index: 0, CallID: "a", Tool: tool}, arg(0, first[:3]),
		{Kind: message.ChunkCallStart, Index: 1, CallID: "b", Tool: tool}, arg(1, second[:3]), arg(0, first[3:]), arg(1, second[3:]),
		{Kind: message.ChunkCallEnd, Index: 1}, {Kind: message.ChunkCallEnd, Index: 0},
	}
}

func directive(d strictwire.Directive) []message.Chunk {
	return []message.Chunk{{Kind: message.ChunkMeta, Meta: provider.Meta("strictwire", d)}}
}

func finish(f message.FinishReason, u message.Usage) []message.Chunk {
	return []message.Chunk{{Kind: message.ChunkFinish, Finish: f, Usage: u}}
}

func joined(parts ...[]message.Chunk) (out []message.Chunk) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

const (
	pathA = `{"path":"a.txt"}`
	pathB = `{"path":"b.txt"}`
)

// thinkingTurn is an answer with reasoning and two calls, and the one behind their results.
func thinkingTurn(extra ...message.Chunk) *script {
	return scripted(
		joined(thinks("The user ", "wants two files."), extra, texts("I look."), interleaved("read", pathA, pathB),
			finish(message.FinishTools, message.Usage{Input: 100, Output: 40, CacheRead: 60, CacheWrite: 30, Reasoning: 8})),
		joined(thinks("Both are there."), texts("Do", "ne."), finish(message.FinishStop, message.Usage{})))
}

// serve runs the handler on loopback.
func serve(t *testing.T, h *strictwire.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// send posts a body with the headers of the wire; change may be nil.
func send(t *testing.T, h *strictwire.Handler, url, body string, change func(*http.Request)) (status int, response string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://strict.test"+url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer k")
	req.Header.Set("X-Goog-Api-Key", "k")
	req.Header.Set("Anthropic-Version", "2026-10-21")
	if change != nil {
		change(req)
	}
	resp, err := h.Client().Do(req)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(data)
}

// edited returns the body with a change of its root.
func edited(t *testing.T, body string, change func(root map[string]any)) string {
	t.Helper()
	var root map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &root))
	change(root)
	data, err := json.Marshal(root)
	require.NoError(t, err)
	return string(data)
}

// at returns the value below a JSON value: names of members and indices in turn.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v
}

// refused returns the rule that the newest request has broken; "" for none.
func refused(h *strictwire.Handler) string {
	all := h.Requests()
	if r := all[len(all)-1].Refusal; r != nil {
		return r.Rule
	}
	return ""
}
