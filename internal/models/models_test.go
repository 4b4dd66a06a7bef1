package models

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// env returns a look-up of these variables.
func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestAModelOfAnOpenAICompatibleServer(t *testing.T) {
	var body, auth string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		body, auth = string(data), r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	m := New(t.TempDir())
	m.getenv = env(map[string]string{"OPENAI_BASE_URL": server.URL + "/v1", "OPENAI_API_KEY": "sk-canary"})
	reply, err := provider.Collect(m.Stream(t.Context(), message.ModelRequest{
		Model: message.Model{Name: "openai:small"}, Messages: message.MessagesOf(message.UserText("hi")),
	}))
	require.NoError(t, err)
	assert.Equal(t, "Hello", reply.Text())
	assert.Contains(t, body, `"model":"small"`)
	assert.Equal(t, "Bearer sk-canary", auth)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestModelsThatAreNotThere(t *testing.T) {
	m := New(t.TempDir())
	m.getenv = env(nil)
	for id, want := range map[string]string{
		"":             "no model is configured",
		"gpt-5":        "write script:FILE or openai:NAME",
		"openai:":      "write script:FILE or openai:NAME",
		"script:":      "write script:FILE or openai:NAME",
		"script:gone":  "gone",
		"openai:small": "OPENAI_API_KEY",
	} {
		_, err := m.Find(id)
		require.ErrorContains(t, err, want, id)
	}
}

func TestAKeyFromAFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	good := write("good", " sk-canary\n", 0o400)
	getenv, err := withKeyFile(env(map[string]string{"OPENAI_API_KEY_FILE": good, "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}))
	require.NoError(t, err)
	assert.Equal(t, "sk-canary", getenv("OPENAI_API_KEY"))
	assert.Equal(t, "http://127.0.0.1:1/v1", getenv("OPENAI_BASE_URL"))
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for path, want := range map[string]string{
		write("open", "sk-canary", 0o644):                 "chmod 600",
		write("empty", "\n", 0o600):                       "a key in one line",
		write("lines", "sk-canary\nother\n", 0o600):       "a key in one line",
		write("large", strings.Repeat("x", 17000), 0o600): "more than 16384 bytes",
		filepath.Join(dir, "none"):                        "does not exist",
		dir:                                               "no regular file",
		pipe:                                              "no regular file",
	} {
		_, err := withKeyFile(env(map[string]string{"OPENAI_API_KEY_FILE": path}))
		require.ErrorContains(t, err, want, path)
		assert.NotContains(t, err.Error(), "canary")
	}
	_, err = withKeyFile(env(map[string]string{"OPENAI_API_KEY_FILE": good, "OPENAI_API_KEY": "sk-other"}))
	require.ErrorContains(t, err, "unset one of them")
}

func TestTheContextWindowOfAModel(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "small.yaml"), []byte("context_window: 8000\nrules:\n  - {say: hi}\n"), 0o600))
	m := New(dir)
	m.getenv = env(map[string]string{"OPENAI_API_KEY": "k", "OPENAI_CONTEXT_WINDOW": "32768"})
	for id, want := range map[string]int{"script:small.yaml": 8000, "openai:small": 32768, "script:gone.yaml": 0} {
		assert.Equal(t, want, m.ContextWindow(id), id)
	}
}
