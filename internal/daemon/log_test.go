package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
)

// written is a file that many write to.
type written struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

func TestWrongLogs(t *testing.T) {
	t.Parallel()
	_, err := daemon.NewLog(daemon.LogOptions{Level: "loud"})
	require.EqualError(t, err, `--log-level "loud" is no level; write debug, info, warn or error`)
	_, err = daemon.NewLog(daemon.LogOptions{Form: "xml"})
	require.EqualError(t, err, `--log-format "xml" is not known; write plain, text or json`)
}

// TestForms: each form has the same sentences, masked, of the levels that are wanted.
func TestForms(t *testing.T) {
	t.Parallel()
	mask := func(text string) string { return strings.ReplaceAll(text, "secret", "…") }
	for form, want := range map[string]string{"": "a … here\n", "text": `level=WARN msg="a … here"`, "json": `"level":"WARN","msg":"a … here"}`} {
		for _, level := range []string{"", "debug", "warn", "error"} {
			var out written
			l, err := daemon.NewLog(daemon.LogOptions{Level: level, Form: form, To: &out, Mask: mask, Note: func(text string) { _, _ = out.Write([]byte(text + "\n")) }})
			require.NoError(t, err)
			l.Note("a secret here")
			if level == "error" {
				assert.Empty(t, out.String())
				continue
			}
			assert.Contains(t, out.String(), want)
		}
	}
}

// TestRequestsAreLogged says who asked for what, how that ended and how long it took, while somebody wants to know; and never what
// a client sent: neither its token nor the words of its request.
func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	paths := project(t)
	token, err := access.OpenTokens(filepath.Join(paths.State, "tokens.json")).Create(access.Token{Name: "phone", Scopes: access.All()})
	require.NoError(t, err)
	var out written
	l, err := daemon.NewLog(daemon.LogOptions{Form: daemon.LogJSON, To: &out})
	require.NoError(t, err)
	at := socket(t)
	d, err := daemon.Open(t.Context(), daemon.Options{Socket: at, Listen: daemon.Listen{Address: "127.0.0.1:0"}, Log: l, App: app.Options{Paths: paths, Note: l.Note}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	c := client.New(at, nil)
	phone := client.New(d.URLs()[0], &client.Options{Token: token})
	level, err := phone.LogLevel(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "info", level)
	assert.NotContains(t, out.String(), "/v1/log")
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(phone.SetLogLevel(t.Context(), "loud")))
	require.NoError(t, phone.SetLogLevel(t.Context(), "debug"))

	const canary = "canary-ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
	conv, err := phone.Conversation(t.Context(), "helper", canary)
	require.NoError(t, err)
	turn, err := phone.Send(t.Context(), conv.ID, "say "+canary)
	require.NoError(t, err)
	for _, err := range phone.Follow(t.Context(), turn) {
		require.NoError(t, err)
	}
	_, err = phone.Search(t.Context(), client.Query{Text: canary})
	require.NoError(t, err)
	_, err = phone.Agent(t.Context(), canary)
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	for _, path := range []string{"/" + canary, "/v1/conversations/" + canary, "/enter?code=" + canary} {
		status, _ := get(t, c, http.MethodGet, path, "")
		assert.Equal(t, http.StatusNotFound, status, path)
	}
	status, _ := get(t, c, canary, "/v1/health", "")
	assert.Equal(t, http.StatusMethodNotAllowed, status)
	wrong := client.New(d.URLs()[0], &client.Options{Token: canary})
	_, err = wrong.Health(t.Context())
	assert.Equal(t, wire.CodeUnauthorized, client.CodeOf(err))
	require.NoError(t, phone.SetLogLevel(t.Context(), "warn"))
	_, err = phone.Health(t.Context())
	require.NoError(t, err)
	stop()
	require.NoError(t, <-ended)

	text := out.String()
	assert.NotContains(t, text, "canary")
	assert.NotContains(t, text, token)
	assert.NotContains(t, text, conv.ID)
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		var one struct {
			Level, Msg, Method, Route, Token string
			Status                           int
			Ms                               *float64
		}
		require.NoError(t, json.Unmarshal([]byte(line), &one), line)
		if one.Msg == "request" {
			assert.Equal(t, "DEBUG", one.Level)
			require.NotNil(t, one.Ms)
			seen[strings.Join([]string{one.Method, one.Route, http.StatusText(one.Status), one.Token}, " ")] = true
		}
	}
	for _, want := range []string{
		"POST /v1/conversations/{id}/messages Accepted phone", "GET /v1/conversations/{id}/events OK phone", "GET /v1/search OK phone",
		"GET /v1/agents/{agent} Not Found phone", "GET  Not Found ", "GET /v1/conversations/{id} Not Found ", "other  Method Not Allowed ",
		"GET /v1/health Unauthorized ",
	} {
		assert.True(t, seen[want], "%s of %v", want, seen)
	}
	assert.False(t, seen["GET /v1/health OK phone"], "nobody wants to know any more")
	assert.Contains(t, text, "the level of the log is debug now")
}
