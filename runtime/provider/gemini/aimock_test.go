package gemini_test

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
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
)

// aimock starts the server of npm's @copilotkit/aimock, which was not written here, and
// returns where it listens. It is killed at the end: asked to end, it would wait for idle
// connections.
func aimock(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(node.Require(t, "llmock"), "--port", "0", "--chunk-size", "5", "--fixtures", "testdata/aimock", "--strict")
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

func TestAgainstAimock(t *testing.T) {
	t.Parallel()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	p := gemini.New(&gemini.Options{BaseURL: aimock(t), APIKey: canary, Model: modern, Network: provider.Network{Client: &http.Client{Transport: tr}}})
	ask := func(ms ...message.Message) (message.ModelReply, error) {
		return provider.Collect(p.Stream(t.Context(), message.ModelRequest{System: "Be brief.", Messages: message.MessagesOf(ms...), Tools: tools(schema)}))
	}

	first, err := ask(message.UserText("two tools, please"))
	require.NoError(t, err)
	assert.Equal(t, message.FinishTools, first.Finish)
	assert.Equal(t, "Both are needed.", first.Reasoning())
	assert.Equal(t, "I look at both 😀.", first.Text())
	assert.Equal(t, message.Usage{Input: 321, Output: 54}, first.Usage)
	var args []string
	answers := []message.Message{message.UserText("two tools, please"), assistant(first.Content.Slice()...)}
	for _, b := range first.Calls() {
		args = append(args, b.Tool+string(b.JSON))
		answers = append(answers, result(b.CallID, b.Tool, message.TextResult("content")))
	}
	assert.Equal(t, []string{`read{"path":"a 😀.txt"}`, `read{"path":"missing.txt"}`}, args)
	second, err := ask(answers...)
	require.NoError(t, err)
	assert.Equal(t, "One of them is there.", second.Text())
	assert.Equal(t, message.FinishStop, second.Finish)

	_, err = ask(message.UserText("refused"))
	var e *provider.ServerError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "The model is overloaded", e.Message)
	assert.Equal(t, http.StatusServiceUnavailable, e.Status)
	class, _ := provider.Classify(err)
	assert.Equal(t, message.FailureOverloaded, class)

	_, err = ask(message.UserText("cut short"))
	require.Error(t, err)
	class, _ = provider.Classify(err)
	assert.Equal(t, message.FailureNetwork, class)
}
