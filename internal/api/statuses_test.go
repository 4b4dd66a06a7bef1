package api_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// bodies are requests that are right but for the name in their path.
var bodies = map[string]string{
	"/v1/agents/{agent}": `{"name":"nobody"}`, "/v1/conversations/{id}/messages": `{"text":"x"}`, "/v1/conversations/{id}/calls/{call}": `{"text":"x"}`,
	"/v1/asks/{id}": `{"answer":"approve"}`, "/v1/inquiries/{id}": `{"given":[]}`,
	"/v1/jobs/{job}": `{"change":"cancel"}`, "/v1/memories/{memory}": `{"approve":true}`,
}

// TestStatuses: every operation on a thing that is not there is answered with 404, and every body that is none with 400, 413 and 415.
func TestStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	send := func(method, path, media, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://grapnel"+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", media)
		resp, err := over(w.client.Address()).RoundTrip(req)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	const asJSON = "application/json"
	for _, r := range w.server.Routes() {
		at := fmt.Sprintf("%s %s", r.Method, r.Path)
		op := w.contract.spec.Paths.Value(r.Path).GetOperation(r.Method)
		path := strings.NewReplacer("{id}", "nobody", "{agent}", "nobody", "{call}", "nobody", "{event}", "1-1", "{job}", "4711", "{memory}", "w4711", "{schedule}", "nobody", "{turn}", "nobody", "{file}", "nobody.js").Replace(r.Path)
		if path != r.Path {
			body := bodies[r.Path]
			if body == "" {
				body = "{}"
			}
			assert.Equal(t, 404, send(r.Method, path, asJSON, body), at)
		}
		if op.RequestBody == nil || op.RequestBody.Value.Content.Get(asJSON) == nil || !op.RequestBody.Value.Required {
			continue
		}
		assert.Equal(t, 400, send(r.Method, path, asJSON, `{"nonsense":1}`), at)
		assert.Equal(t, 415, send(r.Method, path, "text/plain", `{}`), at)
	}
}

// TestTooMany: requests without a token that counts are answered with 429 at last, and with a time to wait.
func TestTooMany(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	for range 1000 {
		if d.status(request{method: "GET", path: "/v1/health", header: http.Header{"Authorization": {"Bearer x"}}}) == 429 {
			return
		}
	}
	assert.Fail(t, "nobody was refused")
}

// TestMembersOfRequests: what requests seldom have is accepted as the document says.
func TestMembersOfRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.client.CreateAgent(t.Context(), wire.NewAgent{
		Name: "whole", Description: "Has everything.", Model: "script:x", Limits: wire.Limits{Steps: 1, Tokens: 2, MaxTokens: 3, Time: "4s"},
		Format: message.ResponseFormat{JSON: true}, ToolChoice: message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "echo"},
	})
	require.NoError(t, err)
	agents, err := w.client.Agents(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "script:x", agents[1].Model)
	agent, err := w.client.Agent(t.Context(), "whole")
	require.NoError(t, err)
	assert.Equal(t, []wire.Command{{Name: "undo", Argument: "[TURNS]", Help: "Undo."}, {Name: "knots", Skill: true}}, agent.Commands)
	conv := w.conversation("ann")
	_, err = w.client.SendMessage(t.Context(), conv.ID, wire.NewMessage{
		Text: "x", Model: message.Model{ContextWindow: 1000, TopP: message.Some(0.5)},
	})
	require.NoError(t, err)
}

// TestWhatTheDaemonCountsAndLogs: the metrics are those of who counts, and the level of the log is changed.
func TestWhatTheDaemonCountsAndLogs(t *testing.T) {
	t.Parallel()
	var level slog.LevelVar
	w := newWorld(t, &worldOptions{api: api.Options{Level: &level, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, "turns 1\n")
	})}})
	assert.Equal(t, http.StatusOK, w.answer(http.MethodGet, "/metrics"))
	now, err := w.client.LogLevel(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "info", now)
	require.NoError(t, w.client.SetLogLevel(t.Context(), "debug"))
	now, err = w.client.LogLevel(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "debug", now)
	assert.Equal(t, slog.LevelDebug, level.Level())
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(w.client.SetLogLevel(t.Context(), "loud")))
}

// full is a store whose disk is full.
type full struct{ store.Store }

func (full) Conversation(context.Context, store.Key) (store.Record, error) {
	return store.Record{}, fmt.Errorf("conversation: %w", store.ErrFull)
}

// TestAFullStore: what cannot be stored is answered with 507, and says what to do.
func TestAFullStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &worldOptions{store: full{mem.New(nil)}})
	_, err := w.client.Conversation(t.Context(), "helper", "ann")
	assert.Equal(t, wire.CodeStorage, client.CodeOf(err))
	assert.ErrorContains(t, err, "free some")
}
