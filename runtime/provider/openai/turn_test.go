package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// files is a subsystem with one tool, which counts how often it ran.
type files struct {
	hook.Nop
	mu  sync.Mutex
	ran []string
}

func (*files) Schema() []message.Tool { return []message.Tool{lookup()} }

func (f *files) Dispatch(_ context.Context, c *hook.ToolCall) (hook.Invocation, bool) {
	var in struct{ Path string }
	if err := json.Unmarshal([]byte(c.Args()), &in); err != nil {
		return hook.BadArgs(c.Args(), &hook.ArgError{Tool: c.Name(), Reason: "is no JSON", Schema: lookup().Input}), true
	}
	return hook.Bound(message.JSON(fmt.Sprintf(`{"path":%q}`, in.Path)), read{f, in.Path}), true
}

type read struct {
	f    *files
	path string
}

func (r read) Run(context.Context, *hook.Env) message.ToolResult {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	r.f.ran = append(r.f.ran, r.path)
	if strings.HasPrefix(r.path, "missing") {
		return message.FailedResult(message.FailNotFound, r.path+" does not exist")
	}
	return message.TextResult("content of " + r.path)
}

// world is a runtime with one agent and one conversation over a provider.
type world struct {
	t      *testing.T
	rt     *runtime.Runtime
	files  *files
	store  store.Store
	conv   *runtime.Conversation
	events []hook.Event
}

func start(t *testing.T, p *openai.Provider) *world {
	t.Helper()
	f := &files{}
	return startWith(t, p, f, f)
}

// startWith is start with another hook, which has the files.
func startWith(t *testing.T, p *openai.Provider, h hook.Hook, f *files) *world {
	t.Helper()
	w := &world{t: t, files: f, store: mem.New(nil)}
	w.rt = runtime.New(h, p, &runtime.Options{Store: w.store})
	require.NoError(t, w.rt.Open(t.Context()))
	t.Cleanup(func() { _ = w.rt.Close(context.Background()) })
	_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: "a", Model: message.Model{Name: "gpt-5"}, Instructions: "Help."})
	require.NoError(t, err)
	w.conv, err = dialog.Conversation(t.Context(), w.rt, "a", "ann")
	require.NoError(t, err)
	return w
}

func (w *world) send(line string) (hook.TurnOutcome, error) {
	w.events = nil
	return dialog.Send(w.t.Context(), w.conv, message.TextInput(line), &runtime.TurnOptions{Observe: func(ev hook.Event) { w.events = append(w.events, ev) }})
}

// text joins what a kind of event brought.
func (w *world) text(kind hook.EventKind) string {
	var sb strings.Builder
	for _, ev := range w.events {
		if ev.Kind == kind {
			sb.WriteString(ev.Text)
		}
	}
	return sb.String()
}

// history is what the store has, one line for each message. It fails if a call
// has no answer or an answer no call.
func (w *world) history() []string {
	w.t.Helper()
	ms, err := w.store.Messages(context.Background(), w.conv.ID())
	require.NoError(w.t, err)
	var out, open []string
	for _, m := range ms {
		s := string(m.Role)
		if m.Role == message.RoleTool {
			require.NotEmpty(w.t, open, "a result of no call")
			require.Equal(w.t, open[0], m.CallID)
			open = open[1:]
			s += " " + string(m.Result.Failure) + ": " + m.Result.Text()
		} else {
			require.Empty(w.t, open, "a call without a result")
		}
		for _, b := range m.Content.All() {
			if b.Kind == message.BlockToolCall {
				open = append(open, b.CallID)
				s += " [" + b.Tool + " " + string(b.JSON) + "]"
				continue
			}
			s += " " + b.Text
		}
		out = append(out, s)
	}
	require.Empty(w.t, open, "a call without a result")
	return out
}

// plays answers the n-th request with the n-th wire, after it has looked at the
// request as strictly as OpenAI does.
func plays(t *testing.T, wires ...string) server {
	n := 0
	return func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		requireOrder(t, body)
		n++
		return serves(strings.NewReader(wires[n-1]))(r)
	}
}

// requireOrder holds a request to the rules of the wire: every call is answered
// before anything else is said, once, and arguments are an object.
func requireOrder(t *testing.T, body []byte) {
	t.Helper()
	var req struct {
		Messages []struct {
			Role, Content string
			CallID        string `json:"tool_call_id"`
			Calls         []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
	require.NoError(t, json.Unmarshal(body, &req))
	open, known := map[string]bool{}, map[string]bool{}
	for _, m := range req.Messages {
		if m.Role == "tool" {
			require.True(t, open[m.CallID], "an answer to %q", m.CallID)
			delete(open, m.CallID)
			continue
		}
		require.Empty(t, open, "calls without an answer")
		for _, c := range m.Calls {
			require.False(t, known[c.ID], "id %q twice", c.ID)
			open[c.ID], known[c.ID] = true, true
			require.True(t, message.ValidToolName(c.Function.Name))
			require.True(t, bytes.HasPrefix([]byte(c.Function.Arguments), []byte("{")) && json.Valid([]byte(c.Function.Arguments)))
		}
	}
	require.Empty(t, open, "calls without an answer")
}

func TestWholeTurns(t *testing.T) {
	t.Parallel()
	for name := range wires() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, asks(plays(t, composed(t, name), says("Both read.")+whole, composed(t, name), says("Again.")+whole), nil))
			out, err := w.send("two files, please")
			require.NoError(t, err)
			assert.Equal(t, "Both read.", out.Text())
			assert.Equal(t, 2, out.Steps)
			assert.Positive(t, out.Usage.Input)
			assert.Contains(t, w.text(event.TextDelta), `I look — at "both".`)
			if name != "openai.sse" {
				assert.Equal(t, "Both are needed.", w.text(event.ReasoningDelta))
			}
			_, err = w.send("and again") // the same ids come again
			require.NoError(t, err)
			assert.ElementsMatch(t, []string{"a.txt", "b.txt", "a.txt", "b.txt"}, w.files.ran)
			assert.Len(t, w.history(), 10)
		})
	}
}

func TestATurnWithCallsThatFail(t *testing.T) {
	t.Parallel()
	first := callsWith(`{"index":0,"id":"1","function":{"name":"read","arguments":"{\"path\":\"missing\"}"}},`+
		`{"index":1,"id":"2","function":{"name":"read","arguments":"{\"path\":1}"}},{"index":2,"id":"3","function":{"name":"nobody","arguments":"[]"}}`) + chunkOf(`{}`, "tool_calls")
	w := start(t, asks(plays(t, first, says("Sorry.")+whole), nil))
	out, err := w.send("read")
	require.NoError(t, err)
	assert.Equal(t, "Sorry.", out.Text())
	h := w.history()
	require.Len(t, h, 6)
	assert.Equal(t, "tool not_found: missing does not exist", h[2])
	assert.Contains(t, h[3], "tool invalid_arguments: ")
	assert.Contains(t, h[4], "tool not_registered: ")
	assert.Equal(t, []string{"missing"}, w.files.ran)
}

// A turn whose model breaks off leaves no half of it behind, and the next one
// goes on.
func TestABrokenTurnLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	broken := composed(t, "openai.sse")
	broken = broken[:finishAt(broken)]
	w := start(t, asks(plays(t, broken, says("fine")+whole), nil))
	_, err := w.send("two files, please")
	require.Error(t, err)
	assert.Empty(t, w.files.ran)
	assert.Equal(t, []string{"user two files, please"}, w.history())
	out, err := w.send("again")
	require.NoError(t, err)
	assert.Equal(t, "fine", out.Text())
}
