package api_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/api"
)

// posts sends a body past the client, and returns the status.
func (w *world) posts(path, body string) int {
	w.t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", w.socket())
	}}}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://grapnel"+path, bodyOf(body))
	require.NoError(w.t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Body.Close())
	return resp.StatusCode
}

// TestABodyIsAnObject: null says nothing, and makes no conversation.
func TestABodyIsAnObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, body := range []string{"null", " null\n", "[]", "1", `"x"`, "", "{}{}"} {
		assert.Equal(t, http.StatusBadRequest, w.posts("/v1/conversations", body), body)
	}
	all, err := w.store.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
	assert.Less(t, w.posts("/v1/conversations", "{}"), 300)
}

// TestAnAgentOfAClientGetsTheModelOfTheDaemon unless it names one.
func TestAnAgentOfAClientGetsTheModelOfTheDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &worldOptions{api: api.Options{Model: "script:answers.yaml"}})
	assert.Equal(t, http.StatusCreated, w.posts("/v1/agents", `{"name":"plain","description":"d","instructions":"i"}`))
	assert.Equal(t, http.StatusCreated, w.posts("/v1/agents", `{"name":"own","description":"d","instructions":"i","model":"other"}`))
	for name, want := range map[string]string{"plain": "script:answers.yaml", "own": "other"} {
		a, err := w.rt.Agent(name)
		require.NoError(t, err)
		assert.Equal(t, want, a.Config().Model.Name)
	}
}
