package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/sse"
)

// partOf is what these tests read of an event.
type partOf struct {
	Kind    hook.EventKind `json:"kind"`
	Text    string         `json:"text"`
	Result  string         `json:"result"`
	Omitted int            `json:"omitted"`
	Full    string         `json:"full"`
	raw     []byte
}

// sent sends a message and returns the events of its turn as the stream has them.
func (w *world) sent(id, query, text string) (out []partOf) {
	w.t.Helper()
	body, err := json.Marshal(map[string]string{"text": text})
	require.NoError(w.t, err)
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://grapnel/v1/conversations/"+id+"/messages?stream=1"+query, strings.NewReader(string(body)))
	require.NoError(w.t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := over(w.client.Address()).RoundTrip(req)
	require.NoError(w.t, err)
	defer func() { assert.NoError(w.t, resp.Body.Close()) }()
	require.Equal(w.t, http.StatusOK, resp.StatusCode)
	parts := sse.NewReader(resp.Body, nil)
	for {
		p, err := parts.Next()
		if err != nil {
			require.ErrorIs(w.t, err, io.EOF)
			return out
		}
		if p.Data == nil {
			continue
		}
		part := partOf{raw: bytes.Clone(p.Data)} // the reader uses it again
		require.NoError(w.t, json.Unmarshal(p.Data, &part))
		out = append(out, part)
	}
}

// answer returns the status of a request without a body.
func (w *world) answer(method, path string) (status int) {
	w.t.Helper()
	status, _ = w.bare(method, path)
	return status
}

// whole reads the event behind the path.
func (w *world) whole(path string) (status int, data []byte) {
	w.t.Helper()
	return w.bare(http.MethodGet, path)
}

func (w *world) bare(method, path string) (status int, data []byte) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://grapnel"+path, nil)
	require.NoError(w.t, err)
	resp, err := over(w.client.Address()).RoundTrip(req)
	require.NoError(w.t, err)
	defer func() { assert.NoError(w.t, resp.Body.Close()) }()
	data, err = io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return resp.StatusCode, data
}

// TestLargePayloadsAreCutAndSaidWhereTheWholeIs: what a stream leaves out of an event is read with one request.
func TestLargePayloadsAreCutAndSaidWhereTheWholeIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	long := strings.Repeat("längér ", 3000)
	text := fmt.Sprintf(`call echo {"s":%q}`, long)
	cut := map[hook.EventKind]partOf{}
	for _, p := range w.sent(conv.ID, "", text) {
		assert.True(t, utf8.Valid(p.raw), p.Kind)
		if p.Kind == event.TextDelta {
			assert.Empty(t, p.Full, "the pieces of a reply stay whole")
			continue
		}
		assert.Less(t, len(p.raw), 3*2048+1000, p.Kind)
		if p.Full != "" {
			cut[p.Kind] = p
		}
	}
	for _, kind := range []hook.EventKind{event.TurnStart, event.CallStart, event.CallResult, event.TurnEnd} {
		p, ok := cut[kind]
		if !assert.True(t, ok, kind) {
			continue
		}
		assert.Greater(t, p.Omitted, 10_000, kind)
		status, data := w.whole(p.Full)
		require.Equal(t, http.StatusOK, status, "%s", data)
		assert.Contains(t, string(data), long, kind)
		ev, err := wire.DecodeEvent(data)
		require.NoError(t, err)
		assert.Equal(t, kind, ev.Kind)
	}
	for _, p := range w.sent(conv.ID, "&payload=whole", text) {
		assert.Empty(t, p.Full, p.Kind)
		assert.Zero(t, p.Omitted, p.Kind)
	}
	for path, want := range map[string]int{"/events/1-99999": 404, "/events/0-0": 400, "/events/x": 400} {
		status, data := w.whole("/v1/conversations/" + conv.ID + path)
		assert.Equal(t, want, status, "%s: %s", path, data)
	}
	status, _ := w.whole("/v1/conversations/nobody/events/1-1")
	assert.Equal(t, http.StatusNotFound, status)
}
