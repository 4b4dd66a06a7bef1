package models_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/keys"
	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

const canary = "sk-canary-0123456789"

// env returns a look-up of these variables.
func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

// newModels returns models without the variables of this process.
func newModels(t *testing.T, o models.Options) *models.Models {
	t.Helper()
	if o.Getenv == nil {
		o.Getenv = env(nil)
	}
	o.File = "~/.grapnel/config.yaml"
	m := models.New(o)
	t.Cleanup(m.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return m
}

// server is a chat server that answers Hello, or with a status and a body.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	header http.Header
	status int
	refuse string
}

func newServer(t *testing.T, secure bool) *server {
	t.Helper()
	s := &server{}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bodies, s.header = append(s.bodies, string(data)), r.Header
		if s.status != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(s.status)
			_, _ = io.WriteString(w, s.refuse)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, hello(r.URL.Path))
	})
	if secure {
		s.Server = httptest.NewTLSServer(h)
	} else {
		s.Server = httptest.NewServer(h)
	}
	t.Cleanup(s.Close)
	return s
}

// hello is the answer of the wire that is asked at the path.
func hello(path string) string {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return `data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"small","usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n" +
			`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hello"}}` + "\n\n" +
			`data: {"type":"content_block_stop","index":0}` + "\n\n" +
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}` + "\n\n" +
			`data: {"type":"message_stop"}` + "\n\n"
	case strings.HasSuffix(path, "/models/small:streamGenerateContent"):
		return `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hello"}]},"finishReason":"STOP"}]}` + "\n\n"
	}
	return `data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
}

// ask asks the model and returns its text.
func ask(t *testing.T, m *models.Models, id string) (string, error) {
	t.Helper()
	reply, err := provider.Collect(m.Stream(t.Context(), message.ModelRequest{Model: message.Model{Name: id}, Messages: message.MessagesOf(message.UserText("hi"))}))
	return reply.Text(), err
}

// TestEveryVendor: each is reached at its address with its key, which its variables or the
// user's settings name.
func TestEveryVendor(t *testing.T) {
	t.Parallel()
	s := newServer(t, false)
	for _, name := range models.Names() {
		prefix := strings.ToUpper(name)
		if name == "azure" {
			prefix = "AZURE_OPENAI"
		}
		byEnv := newModels(t, models.Options{Getenv: env(map[string]string{prefix + "_BASE_URL": s.URL + "/v1", prefix + "_API_KEY": canary})})
		byFile := newModels(t, models.Options{
			Vendors: map[string]models.Settings{name: {BaseURL: s.URL + "/v1", Key: keys.Source{Env: "MINE"}, Header: http.Header{"X-Team": {"blue"}}}},
			Getenv:  env(map[string]string{"MINE": canary, prefix + "_BASE_URL": "http://127.0.0.1:1/v1", prefix + "_API_KEY": "another"}),
		})
		for _, m := range []*models.Models{byEnv, byFile} {
			model := "small:7b"
			switch name {
			case "azure":
				model = "gpt-4o" // others are asked over Responses, which this server does not speak
			case "anthropic", "gemini":
				model = "small"
			}
			text, err := ask(t, m, name+":"+model)
			require.NoError(t, err, name)
			assert.Equal(t, "Hello", text)
			if name != "gemini" { // its model is in the address
				assert.Contains(t, s.bodies[len(s.bodies)-1], `"model":"`+model+`"`)
			}
			bearer, _ := strings.CutPrefix(s.header.Get("Authorization"), "Bearer ")
			assert.Equal(t, canary, map[string]string{"azure": s.header.Get("Api-Key"), "gemini": s.header.Get("X-Goog-Api-Key")}[name]+bearer, name)
			ok, hint := m.Configured(name)
			assert.True(t, ok, hint)
		}
		assert.Equal(t, "blue", s.header.Get("X-Team"))
	}
}

// TestASecondNameOfAKey: Google's own programs read GOOGLE_API_KEY.
func TestASecondNameOfAKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, false)
	m := newModels(t, models.Options{Getenv: env(map[string]string{"GEMINI_BASE_URL": s.URL, "GOOGLE_API_KEY": canary})})
	text, err := ask(t, m, "gemini:small")
	require.NoError(t, err)
	assert.Equal(t, "Hello", text)
	assert.Equal(t, canary, s.header.Get("X-Goog-Api-Key"))
}

// TestAVendorOfTheUsersOwn has the wire of another one, and nothing of its variables.
func TestAVendorOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	s := newServer(t, false)
	m := newModels(t, models.Options{
		Getenv:  env(map[string]string{"OPENAI_API_KEY": canary, "OPENAI_BASE_URL": "http://127.0.0.1:1"}),
		Vendors: map[string]models.Settings{"lab": {Preset: "vllm", BaseURL: s.URL}, "open": {Preset: "openai"}, "odd": {Preset: "opnai"}, "far": {Preset: "azure"}},
	})
	text, err := ask(t, m, "lab:qwen")
	require.NoError(t, err)
	assert.Equal(t, "Hello", text)
	assert.Empty(t, s.header.Get("Authorization"))
	for id, want := range map[string]string{
		"open:x": "model open:x: no key: set vendors.open.key in ~/.grapnel/config.yaml (env, file, keyring or command)",
		"odd:x":  `model odd:x: there is no vendor "opnai"; did you mean openai?`,
		"far:x":  "model far:x: no address; set vendors.far.base_url in ~/.grapnel/config.yaml",
	} {
		assert.EqualError(t, m.Check(id), want)
	}
}

func TestModelsThatAreNotThere(t *testing.T) {
	t.Parallel()
	const vendors = "write VENDOR:NAME, the vendor being one of anthropic, azure, gemini, llamacpp, lmstudio, ollama, openai, openrouter, vllm, or script:FILE"
	m := newModels(t, models.Options{Root: t.TempDir()})
	for id, want := range map[string]string{
		"":             "no model is configured: name one with --model VENDOR:NAME or --model script:FILE, with `model:` in the agent's file or in ~/.grapnel/config.yaml",
		"gtp-5":        `there is no model "gtp-5"; ` + vendors,
		"gpt-5":        "model openai:gpt-5: no key: set OPENAI_API_KEY",
		"llama3:8b":    `there is no model "llama3:8b"; ` + vendors,
		"openai:":      vendors,
		"script:":      vendors,
		"script:gone":  "gone: does not exist",
		"openai:small": "model openai:small: no key: set OPENAI_API_KEY, or vendors.openai.key in ~/.grapnel/config.yaml (env, file, keyring or command)",
		"azure:small":  "model azure:small: no address; set AZURE_OPENAI_BASE_URL, or vendors.azure.base_url in ~/.grapnel/config.yaml",
	} {
		require.ErrorContains(t, m.Check(id), want, id)
		_, err := ask(t, m, id)
		require.ErrorContains(t, err, want, id)
		assert.Equal(t, id == "", errors.Is(err, models.ErrNone))
	}
}

// TestANameWithoutAVendor means the one model of that name, or the one whose vendor has a key.
func TestANameWithoutAVendor(t *testing.T) {
	t.Parallel()
	known, err := catalog.Default().With("models.json", []byte(`{"models": [
		{"vendor": "openai", "id": "one-2026", "aliases": ["one"], "source": "s"}, {"vendor": "elsewhere", "id": "one", "source": "s"},
		{"vendor": "openai", "id": "two", "source": "s", "window": 4000}, {"vendor": "openrouter", "id": "two", "source": "s"},
		{"vendor": "openai", "id": "three", "source": "s"}, {"vendor": "azure", "id": "three", "source": "s"}]}`))
	require.NoError(t, err)
	m := newModels(t, models.Options{Getenv: env(map[string]string{"OPENROUTER_API_KEY": canary}), Catalog: known})
	for name, want := range map[string]string{
		"one": "openai:one-2026", "two": "openrouter:two", "openai:any": "openai:any", "script:x.yaml": "script:x.yaml",
	} {
		got, err := m.Resolve(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err = m.Resolve("three")
	assert.EqualError(t, err, `"three" is the name of several models; write one of azure:three, openai:three`)
}

func TestAKeyFromAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	good := write("good", " "+canary+"\n", 0o400)
	s := newServer(t, false)
	_, err := ask(t, newModels(t, models.Options{Getenv: env(map[string]string{"OPENAI_API_KEY_FILE": good, "OPENAI_BASE_URL": s.URL})}), "openai:small")
	require.NoError(t, err)
	assert.Equal(t, "Bearer "+canary, s.header.Get("Authorization"))
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for path, want := range map[string]string{
		write("open", canary, 0o644):                      "chmod 600",
		write("empty", "\n", 0o600):                       "a key in one line",
		write("lines", canary+"\nother\n", 0o600):         "a key in one line",
		write("large", strings.Repeat("x", 17000), 0o600): "longer than 16384 bytes",
		filepath.Join(dir, "none"):                        "does not exist",
		dir:                                               "no regular file",
		pipe:                                              "no regular file",
	} {
		err := newModels(t, models.Options{Getenv: env(map[string]string{"OPENAI_API_KEY_FILE": path})}).Check("openai:small")
		require.ErrorContains(t, err, want, path)
		assert.NotContains(t, err.Error(), "canary")
	}
	both := map[string]string{"OPENAI_API_KEY_FILE": good, "OPENAI_API_KEY": "sk-other"}
	require.ErrorContains(t, newModels(t, models.Options{Getenv: env(both)}).Check("openai:small"), "unset one of them")
}

// TestASlowKeyIsReadAtTheFirstRequest, once, and again after the vendor has refused it.
func TestASlowKeyIsReadAtTheFirstRequest(t *testing.T) {
	t.Parallel()
	s := newServer(t, false)
	read, locked := 0, true
	ring := func(string, string) (string, error) {
		read++
		if locked {
			return "", errors.New("it is locked")
		}
		return canary, nil
	}
	m := newModels(t, models.Options{
		Keys:    keys.New(&keys.Options{Getenv: env(nil), Keyring: ring}),
		Vendors: map[string]models.Settings{"openai": {Key: keys.Source{Keyring: "work"}, BaseURL: s.URL, ContextWindow: 7000}},
	})
	require.NoError(t, m.Check("openai:small"))
	assert.True(t, m.HasFormat("openai:small"))
	assert.Equal(t, 7000, m.ContextWindow("openai:small"))
	ok, hint := m.Configured("openai")
	assert.True(t, ok)
	assert.Equal(t, "the keyring's entry work", hint)
	assert.Zero(t, read)

	_, err := ask(t, m, "openai:small")
	require.EqualError(t, err, "openai: the key from the keyring's entry work: it is locked")
	class, _ := provider.Classify(err)
	assert.Equal(t, message.FailureAuth, class)
	locked = false
	for range 3 {
		_, err = ask(t, m, "openai:small")
		require.NoError(t, err)
	}
	assert.Equal(t, "Bearer "+canary, s.header.Get("Authorization"))
	assert.Equal(t, 2, read)

	s.status, s.refuse = http.StatusUnauthorized, `{"error":{"message":"the key `+canary+` has expired"}}`
	_, err = ask(t, m, "openai:small")
	require.ErrorContains(t, err, "the key is that from the keyring's entry work")
	assert.NotContains(t, err.Error(), canary)
	s.status = 0
	_, err = ask(t, m, "openai:small")
	require.NoError(t, err)
	assert.Equal(t, 3, read)
}

// TestASettingThatAModelDoesNotTake is an error that says what would work, and no request.
func TestASettingThatAModelDoesNotTake(t *testing.T) {
	t.Parallel()
	s := newServer(t, false)
	m := newModels(t, models.Options{Getenv: env(map[string]string{"OPENAI_BASE_URL": s.URL})})
	_, err := provider.Collect(m.Stream(t.Context(), message.ModelRequest{
		Model: message.Model{Name: "openai:gpt-4o", Reasoning: message.Reasoning{Effort: message.EffortHigh}}, Messages: message.MessagesOf(message.UserText("hi")),
	}))
	require.EqualError(t, err, "model gpt-4o: it does not reason; leave reasoning out")
	class, _ := provider.Classify(err)
	assert.Equal(t, message.FailureRequest, class)
	assert.Empty(t, s.bodies)
}

func TestTheContextWindowOfAModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "small.yaml"), []byte("context_window: 8000\nrules:\n  - {say: hi}\n"), 0o600))
	m := newModels(t, models.Options{Root: dir, Getenv: env(map[string]string{"OPENAI_API_KEY": "k", "OPENAI_CONTEXT_WINDOW": "32768"})})
	for id, want := range map[string]int{"script:small.yaml": 8000, "openai:small": 32768, "script:gone.yaml": 0} {
		assert.Equal(t, want, m.ContextWindow(id), id)
	}
	known, ok := catalog.Default().Model("openai", "gpt-4o")
	require.True(t, ok)
	assert.Equal(t, known.Window, newModels(t, models.Options{Getenv: env(map[string]string{"OPENAI_API_KEY": "k"})}).ContextWindow("openai:gpt-4o"))
	for name, text := range map[string]string{"OPENAI_FIRST_BYTE_TIMEOUT": "90", "OPENAI_IDLE_TIMEOUT": "0s", "OPENAI_CONTEXT_WINDOW": "8k"} {
		err := newModels(t, models.Options{Getenv: env(map[string]string{"OPENAI_API_KEY": "k", name: text})}).Check("openai:small")
		assert.ErrorContains(t, err, name+` is "`+text+`"; write a`)
	}
}
