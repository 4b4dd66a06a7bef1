package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// canaryKey is a key that must be nowhere but in requests to its vendor.
const canaryKey = "sk-canary-Zq8Wm2Lp5Xt9Rv"

// canaryWire is a wire over which a session runs. A further wire is one line in canaryWires.
type canaryWire struct {
	// vendor is the prefix of its models, env that of its variables. model chooses the wire.
	vendor, env, model string
	// call answers with a call of bash that prints its environment; refuse with an error
	// whose text has the key.
	call   func(w http.ResponseWriter)
	refuse func(w http.ResponseWriter)
	// answered reports whether a request has the result of the call.
	answered string
}

func canaryWires() []canaryWire {
	return []canaryWire{
		{"openai", "OPENAI", "gpt-4o", chatCall, chatRefusal, `"role":"tool"`},
		{"azure", "AZURE_OPENAI", "gpt-5.6", responsesCall, chatRefusal, `"function_call_output"`},
		{"anthropic", "ANTHROPIC", "claude-opus-4-8", messagesCall, messagesRefusal, `"tool_result"`},
		{"gemini", "GEMINI", "gemini-3-pro", generateContentCall, generateContentRefusal, `"functionResponse"`},
		{"azure", "AZURE_OPENAI", "gpt-4o", chatCall, chatRefusal, `"role":"tool"`},
		{"openrouter", "OPENROUTER", "any", chatCall, chatRefusal, `"role":"tool"`},
	}
}

func chatCall(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":`+
		`{"name":"bash","arguments":"{\"command\":\"env; set\"}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
}

func chatRefusal(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, `{"error":{"message":"Incorrect API key provided: `+canaryKey+`.","type":"invalid_request_error","code":"invalid_api_key"}}`)
}

// bashCall are the arguments of the call, as a string of JSON.
const bashCall = `"{\"command\":\"env; set\"}"`

func responsesCall(w http.ResponseWriter) {
	const item = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"bash","status":"completed","arguments":` + bashCall + `}`
	events(w,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"bash","status":"in_progress","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":`+bashCall+`}`,
		`{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_1","arguments":`+bashCall+`}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+item+`}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","output":[`+item+`],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`)
}

func messagesCall(w http.ResponseWriter) {
	events(w,
		`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m","usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+bashCall+`}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}`,
		`{"type":"message_stop"}`)
}

func messagesRefusal(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid bearer token `+canaryKey+`"}}`)
}

func generateContentCall(w http.ResponseWriter) {
	events(w, `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"bash","args":{"command":"env; set"}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}],`+
		`"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`)
}

func generateContentRefusal(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `{"error":{"code":400,"message":"API key not valid: `+canaryKey+`","status":"INVALID_ARGUMENT"}}`)
}

// events writes a stream of events.
func events(w http.ResponseWriter, data ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, d := range data {
		_, _ = io.WriteString(w, "data: "+d+"\n\n")
	}
}

// canarySession is a project whose model is asked over one wire.
type canarySession struct {
	t    *testing.T
	dir  string
	env  []string
	said bytes.Buffer // what all commands have written
	seen int          // requests with the key
}

func newCanarySession(t *testing.T, wire canaryWire) *canarySession {
	t.Helper()
	s := &canarySession{t: t, dir: shortDir(t)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(strings.Join(append(r.Header["Authorization"], append(r.Header["Api-Key"], r.Header["X-Api-Key"]...)...), " ")+r.Header.Get("X-Goog-Api-Key"), canaryKey) {
			s.seen++
		}
		assert.NotContains(t, string(body), canaryKey, "what goes to the model")
		if strings.Contains(string(body), wire.answered) {
			assert.Contains(t, string(body), "PATH=", "bash has printed its environment")
			wire.refuse(w)
			return
		}
		wire.call(w)
	}))
	t.Cleanup(server.Close)
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(s.dir, "home"), "GRAPNEL_HOME=" + filepath.Join(s.dir, "state"),
		wire.env + "_BASE_URL=" + server.URL + "/v1",
	}
	for name, text := range map[string]string{
		"project/.mcp.json": `{"mcpServers": {"spy": {"command": "sh", "args": ["-c", "env > mcp.env; env >&2; exit 1"], "needs": ["project"]}}}`,
		"home/.keep":        "",
	} {
		file := filepath.Join(s.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return s
}

func (s *canarySession) command(args ...string) *exec.Cmd {
	path, err := exec.LookPath("grapnel")
	require.NoError(s.t, err)
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = filepath.Join(s.dir, "project"), s.env
	return cmd
}

// run runs a command to its end, and keeps what it writes.
func (s *canarySession) run(stdin string, args ...string) string {
	s.t.Helper()
	cmd := s.command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, _ := cmd.CombinedOutput() // the turns fail: the vendor refuses the key
	s.said.Write(out)
	return string(out)
}

// daemon serves while do runs.
func (s *canarySession) daemon(model string, do func()) {
	s.t.Helper()
	cmd := s.command("serve", "--hooks", "--start-servers", "--model", model)
	r, w, err := os.Pipe()
	require.NoError(s.t, err)
	cmd.Stdout, cmd.Stderr = w, w
	require.NoError(s.t, cmd.Start())
	require.NoError(s.t, w.Close())
	first := make([]byte, 1)
	_, err = r.Read(first) // it says that it serves
	require.NoError(s.t, err)
	do()
	require.NoError(s.t, cmd.Process.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(r)
	require.NoError(s.t, err)
	require.NoError(s.t, r.Close())
	_ = cmd.Wait()
	s.said.Write(rest)
}

// leaks returns where the key is, as it is or in a common encoding. except is a file that has it
// by right.
func (s *canarySession) leaks(except string) (out []string) {
	s.t.Helper()
	forms := [][]byte{
		[]byte(canaryKey), []byte(base64.StdEncoding.EncodeToString([]byte(canaryKey))[:24]), []byte(hex.EncodeToString([]byte(canaryKey))),
		[]byte(url.QueryEscape(canaryKey)),
	}
	look := func(where string, data []byte) {
		for _, form := range forms {
			if at := bytes.Index(data, form); at >= 0 {
				out = append(out, where+": …"+string(data[max(0, at-80):min(len(data), at+40)]))
			}
		}
	}
	look("output", s.said.Bytes())
	files := 0
	require.NoError(s.t, filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == except {
			return err
		}
		data, err := os.ReadFile(path)
		look(path, data)
		files++
		return err
	}))
	assert.Greater(s.t, files, 3)
	return out
}

// TestAKeyIsNowhere: a whole session over every wire, with the key from the environment and from
// a command. It is in no output, event, log, file or database, and neither commands nor MCP
// servers get it, although the vendor's error repeats it.
func TestAKeyIsNowhere(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	for _, wire := range canaryWires() {
		for _, from := range []string{"environment", "command"} {
			t.Run(wire.vendor+" "+wire.model+" "+from, func(t *testing.T) {
				t.Parallel()
				s := newCanarySession(t, wire)
				except := ""
				if from == "environment" {
					s.env = append(s.env, wire.env+"_API_KEY="+canaryKey)
				} else {
					except = filepath.Join(s.dir, "home", "vault")
					require.NoError(t, os.WriteFile(except, []byte(canaryKey+"\n"), 0o600))
					require.NoError(t, os.Mkdir(filepath.Join(s.dir, "home", ".grapnel"), 0o700))
					conf := "vendors:\n  " + wire.vendor + ": {key: {command: [sh, -c, 'cat ~/vault; cat ~/vault >&2']}}\n"
					require.NoError(t, os.WriteFile(filepath.Join(s.dir, "home", ".grapnel", "config.yaml"), []byte(conf), 0o600))
				}
				model := wire.vendor + ":" + wire.model
				for _, args := range [][]string{{}, {"--json"}, {"--json", "--hooks"}} {
					out := s.run("", append([]string{"run", "--yes", "--start-servers", "--model", model, "hi"}, args...)...)
					assert.Contains(t, out, "[hidden]")
				}
				assert.Contains(t, s.run("hi\n/model\n/tools\n", "chat", "--yes", "--start-servers", "--model", model), "[hidden]")
				s.daemon(model, func() {
					assert.Contains(t, s.run("", "ask", "--yes", "--json", "hi"), "[hidden]")
					s.run("", "conversations", "--json")
					s.run("", "agents", "show", "grapnel")
				})
				s.run("", "tools", "--start-servers")
				assert.GreaterOrEqual(t, s.seen, 10, "requests with the key")
				spied, err := os.ReadFile(filepath.Join(s.dir, "project", "mcp.env"))
				require.NoError(t, err)
				assert.Contains(t, string(spied), "PATH=")
				assert.Empty(t, s.leaks(except))

				s.said.WriteString(canaryKey) // the search finds it where it is
				assert.Len(t, s.leaks(except), 2)
			})
		}
	}
}
