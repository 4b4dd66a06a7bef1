package anthropic_test

import (
	"bufio"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/node"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
)

// aimock starts the server of npm's @copilotkit/aimock, which was not written here, and
// returns where it listens. It is killed at the end: asked to end, it would wait for idle
// connections.
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

func mocked(t *testing.T, url string, header http.Header) *anthropic.Provider {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return over(url, provider.Network{Client: &http.Client{Transport: tr}, Header: header})
}

func TestTurnsAgainstAimock(t *testing.T) {
	t.Parallel()
	url := aimock(t)
	ask := func(p *anthropic.Provider, ms message.Messages) (message.ModelReply, error) {
		return provider.Collect(p.Stream(t.Context(), message.ModelRequest{Model: message.Model{Name: adaptive}, System: "Help.",
			Messages: ms, Tools: message.NewToolSet([]message.Tool{lookup()})}))
	}
	t.Run("parallel calls, thinking, usage", func(t *testing.T) {
		t.Parallel()
		p, ms := mocked(t, url, nil), message.MessagesOf(message.UserText("two tools, please"))
		got, err := ask(p, ms)
		require.NoError(t, err)
		assert.Equal(t, []message.Block{
			thought("Both are needed.", adaptive, "aimock-placeholder-signature"), message.TextBlock("I look at both 😀."),
			call("call_a", "read", `{"path":"a 😀.txt"}`), call("call_b", "read", `{"path":"missing.txt"}`),
		}, got.Content.Slice())
		assert.Equal(t, message.FinishTools, got.Finish)
		assert.Equal(t, message.Usage{Input: 321, Output: 54}, got.Usage)
		got, err = ask(p, ms.Append(message.Message{Role: message.RoleAssistant, Content: got.Content}, result("call_a", message.TextBlock("text")), failed("call_b", message.TextBlock("missing"))))
		require.NoError(t, err)
		assert.Equal(t, "One of them is there.", got.Text())
		assert.Equal(t, message.FinishStop, got.Finish)
	})
	t.Run("a model error", func(t *testing.T) {
		t.Parallel()
		_, err := ask(mocked(t, url, nil), message.MessagesOf(message.UserText("refused")))
		var e *provider.ServerError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, provider.ServerError{Vendor: "anthropic", Status: 529, Type: "overloaded_error", Message: "Overloaded"}, *e)
	})
	for _, line := range []string{"cut short", "cut in arguments"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			got, err := ask(mocked(t, url, nil), message.MessagesOf(message.UserText(line)))
			require.Error(t, err)
			class, _ := provider.Classify(err)
			assert.Equal(t, message.FailureNetwork, class, err)
			assert.Empty(t, got.Finish)
		})
	}
	for chaos, class := range map[string]message.FailureClass{
		"drop": message.FailureServer, "ratelimit": message.FailureRateLimit, "malformed": message.FailureProtocol, "disconnect": message.FailureNetwork,
	} {
		t.Run(chaos, func(t *testing.T) {
			t.Parallel()
			_, err := ask(mocked(t, url, http.Header{"X-Aimock-Chaos-" + chaos: {"1"}}), message.MessagesOf(message.UserText("hello")))
			got, _ := provider.Classify(err)
			assert.Equal(t, class, got, err)
			require.ErrorContains(t, err, "anthropic: ")
		})
	}
}
