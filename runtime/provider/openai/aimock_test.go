package openai_test

import (
	"bufio"
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/node"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// aimock starts the server of npm's @copilotkit/aimock, which was not written
// here, and returns where it listens. It is killed at the end: asked to end, it
// would wait for idle connections.
func aimock(t *testing.T, flags ...string) string {
	t.Helper()
	args := append([]string{"--port", "0", "--chunk-size", "5", "--fixtures", "testdata/aimock", "--strict"}, flags...)
	cmd := exec.Command(node.Require(t, "llmock"), args...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			return strings.TrimSpace(url)
		}
		said.WriteString(lines.Text() + "\n")
	}
	require.Fail(t, "aimock did not start", said.String())
	return ""
}

// over returns a provider of a server elsewhere.
func over(t *testing.T, url string, header http.Header) *openai.Provider {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return openai.New(&openai.Options{BaseURL: url + "/v1", APIKey: canary, Network: provider.Network{Header: header, Client: &http.Client{Transport: tr}}})
}

func TestTurnsAgainstAimock(t *testing.T) {
	t.Parallel()
	url := aimock(t)
	t.Run("parallel calls, reasoning, usage", func(t *testing.T) {
		t.Parallel()
		w := start(t, over(t, url, nil))
		out, err := w.send("two tools, please")
		require.NoError(t, err)
		assert.Equal(t, "One of them is there.", out.Text())
		assert.Equal(t, message.Usage{Input: 721, Output: 60}, out.Usage)
		assert.Equal(t, "Both are needed.", w.text(event.ReasoningDelta))
		assert.Equal(t, "I look at both 😀.One of them is there.", w.text(event.TextDelta))
		assert.Equal(t, []string{
			"user two tools, please",
			`assistant Both are needed. I look at both 😀. [read {"path":"a 😀.txt"}] [read {"path":"missing.txt"}]`,
			"tool : content of a 😀.txt", "tool not_found: missing.txt does not exist",
			"assistant One of them is there.",
		}, w.history())
	})
	t.Run("a model error", func(t *testing.T) {
		t.Parallel()
		w := start(t, over(t, url, nil))
		_, err := w.send("refused")
		var e *provider.ServerError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, provider.ServerError{Vendor: "openai", Status: 503, Code: "overloaded", Type: "server_error", Message: "The model is overloaded"}, *e)
	})
	for _, line := range []string{"cut short", "cut in arguments"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			w := start(t, over(t, url, nil))
			_, err := w.send(line)
			if !errors.Is(err, provider.ErrNoFinish) { // the system may report the cut in its own way
				require.ErrorContains(t, err, "openai: 127.0.0.1")
			}
			unharmed(t, w, line)
		})
	}
	t.Run("nothing to say", func(t *testing.T) {
		t.Parallel()
		_, err := provider.Collect(over(t, url, nil).Stream(t.Context(), message.ModelRequest{Model: message.Model{Name: "gpt-5"}, Messages: message.MessagesOf(message.UserText("who are you?"))}))
		var e *provider.ServerError
		require.ErrorAs(t, err, &e)
	})
}

// unharmed: the conversation has what the user said and no half of an answer, no
// tool ran, and the next turn is like any other.
func unharmed(t *testing.T, w *world, line string) {
	t.Helper()
	assert.Empty(t, w.files.ran)
	assert.Equal(t, []string{"user " + line}, w.history())
	out, err := w.send("hello")
	require.NoError(t, err)
	assert.Equal(t, "Hi there.", out.Text())
	assert.Equal(t, []string{"user " + line, "user hello", "assistant Hi there."}, w.history())
}

// flaky is a transport that adds a header to the first request only.
type flaky struct {
	next   http.RoundTripper
	header string
	used   bool
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	if !f.used {
		f.used = true
		r = r.Clone(r.Context())
		r.Header.Set(f.header, "1")
	}
	return f.next.RoundTrip(r)
}

func TestChaosOfAimock(t *testing.T) {
	t.Parallel()
	url := aimock(t)
	for name, check := range map[string]func(*testing.T, error){
		"drop": func(t *testing.T, err error) {
			assert.EqualError(t, err, "openai: 500 Internal Server Error: chaos_drop: Chaos: request dropped")
		},
		"ratelimit": func(t *testing.T, err error) {
			var e *provider.ServerError
			require.ErrorAs(t, err, &e)
			assert.Equal(t, 429, e.Status)
			assert.Equal(t, time.Second, e.RetryAfter)
		},
		"malformed": func(t *testing.T, err error) {
			require.ErrorIs(t, err, provider.ErrProtocol)
			assert.ErrorContains(t, err, "<<<chaos>>>")
		},
		"disconnect": func(t *testing.T, err error) {
			require.Error(t, err)
			assert.Contains(t, err.Error(), "openai: 127.0.0.1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := &http.Transport{}
			t.Cleanup(tr.CloseIdleConnections)
			w := start(t, openai.New(&openai.Options{BaseURL: url + "/v1", Network: provider.Network{Client: &http.Client{Transport: &flaky{next: tr, header: "X-Aimock-Chaos-" + name}}}}))
			_, err := w.send("two tools, please")
			check(t, err)
			unharmed(t, w, "two tools, please")
		})
	}
}

// Whatever goes wrong in however many turns, no history is ever broken.
func TestChaosByFlags(t *testing.T) {
	t.Parallel()
	url := aimock(t, "--chaos-drop", "0.15", "--chaos-malformed", "0.15", "--chaos-disconnect", "0.15", "--chaos-ratelimit", "0.15")
	w := start(t, over(t, url, nil))
	var good, bad int
	for range 60 {
		out, err := w.send("hello")
		if err != nil {
			bad++
			assert.NotContains(t, err.Error(), canary)
			continue
		}
		good++
		assert.Equal(t, "Hi there.", out.Text())
	}
	assert.Positive(t, good)
	assert.Positive(t, bad)
	assert.Len(t, w.history(), 60+good)
}
