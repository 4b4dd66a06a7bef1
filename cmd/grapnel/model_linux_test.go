package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/test/tty"
)

// portVariable has the ports at which grapnel-local looks for servers: VENDOR:NUMBER, with commas.
const portVariable = "GRAPNEL_TEST_PORTS"

// grapnelLocal is the program that looks for model servers at other ports.
func grapnelLocal() {
	c := newCommand(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	c.ports = func() (out []models.Port) {
		for one := range strings.SplitSeq(os.Getenv(portVariable), ",") {
			vendor, number, _ := strings.Cut(one, ":")
			if n, err := strconv.Atoi(number); err == nil {
				out = append(out, models.Port{Vendor: vendor, Number: n})
			}
		}
		return out
	}
	os.Exit(c.execute(os.Args[1:]))
}

// localServer is a model server of this machine, and the variables for a program that finds it.
func localServer(t *testing.T) (env []string, address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			_, _ = io.WriteString(w, `{"data":[{"id":"llama3.2:3b"},{"id":"$(id)"},{"id":"qwen3"}]}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		assert.Contains(t, string(body), `"model":"llama3.2:3b"`)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello from here"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	return []string{portVariable + "=ollama:" + u.Port() + ",vllm:1", "OLLAMA_BASE_URL=" + s.URL + "/v1"}, u.Host
}

// localCommand is the program in an empty project of its own.
func localCommand(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("grapnel-local")
	require.NoError(t, err)
	dir := t.TempDir()
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GRAPNEL_HOME=" + filepath.Join(dir, ".state"), "TERM=dumb"}, env...)
	return cmd
}

const threeWays = `grapnel: no model is configured; there are three ways forward:
  a key: set %s and name a model with --model VENDOR:NAME
  a server on this machine: %s
  no model at all: see it work with ` + "`grapnel demo`" + `, or write the answers yourself: --model script:FILE
`

// TestNoModel: without a key, a server and a person, a start names three ways in three lines.
func TestNoModel(t *testing.T) {
	t.Parallel()
	var keyed []string
	for _, v := range models.New(models.Options{Getenv: func(string) string { return "" }}).Keyed() {
		keyed = append(keyed, fmt.Sprintf("%s (%s)", v.Variable, v.Title))
	}
	without := fmt.Sprintf(threeWays, strings.Join(keyed, ", "), "start Ollama, llama.cpp, LM Studio or vLLM, then for example --model ollama:NAME")
	env, address := localServer(t)
	with := fmt.Sprintf(threeWays, strings.Join(keyed, ", "), "one is there, see below") +
		"  Ollama answers at " + address + ": grapnel chat --model ollama:llama3.2:3b\n  Ollama answers at " + address + ": grapnel chat --model ollama:qwen3\n"
	for _, args := range [][]string{{"chat"}, {"run", "hi"}} {
		for want, env := range map[string][]string{without: nil, with: env} {
			got := ""
			for range 100 { // on a busy machine the server may not answer in time
				cmd := localCommand(t, env, args...)
				var text strings.Builder
				cmd.Stderr = &text
				out, err := cmd.Output()
				require.Error(t, err)
				assert.Equal(t, exitWrong, cmd.ProcessState.ExitCode())
				assert.Empty(t, string(out))
				if got = text.String(); got == want {
					break
				}
			}
			assert.Equal(t, want, got)
		}
	}
	cmd := localCommand(t, []string{"OPENROUTER_API_KEY=sk-canary"}, "run", "hi")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "  a key: OpenRouter has one; name a model with --model openrouter:NAME, or `model:` in ~/.grapnel/config.yaml\n")
	assert.NotContains(t, string(out), "canary")
}

// TestAServerOnThisMachineIsOffered to a person, who may say no.
func TestAServerOnThisMachineIsOffered(t *testing.T) {
	t.Parallel()
	env, address := localServer(t)
	for _, answer := range []string{"n", "y"} {
		var term *tty.Terminal
		var cmd *exec.Cmd
		for range 100 { // on a busy machine the server may not answer in time
			term = tty.Open(t, 100, 40)
			cmd = localCommand(t, env, "chat")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = term.TTY(), term.TTY(), term.TTY()
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			text := term.Until("it asks or ends", func(s string) bool {
				return strings.Contains(s, "this time?") || strings.Contains(s, "script:FILE")
			})
			if strings.Contains(text, "this time?") {
				break
			}
			_ = cmd.Wait()
		}
		text := term.Text()
		require.Contains(t, text, "No model is configured, but Ollama answers at "+address+" with llama3.2:3b, qwen3.")
		require.Contains(t, text, "Use ollama:llama3.2:3b this time?")
		term.Type(answer + "\n")
		if answer == "n" {
			require.Error(t, cmd.Wait())
			assert.Equal(t, exitWrong, cmd.ProcessState.ExitCode())
			continue
		}
		term.Until("the prompt", func(s string) bool { return strings.Contains(s, "with ollama:llama3.2:3b. /help") })
		term.Type("hi\n")
		term.Until("the answer", func(s string) bool { return strings.Contains(s, "Hello from here") })
		term.Type("/quit\n")
		require.NoError(t, cmd.Wait())
	}
}
