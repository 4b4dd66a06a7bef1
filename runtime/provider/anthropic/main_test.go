package anthropic_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is a key that may appear nowhere but in the request.
const canary = "sk-ant-canary-0123456789"

// Models of the three ways to think.
const (
	adaptive = "claude-opus-4-8" // thinks if asked to
	always   = "claude-opus-5-5" // thinks always, bound to the conversation
	budgeted = "claude-sonnet-4-5"
)

// server is a transport that answers without any network.
type server func(*http.Request) (*http.Response, error)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// responds answers every request with the status and the body.
func responds(status int, kind, body string, header ...string) server {
	return func(r *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: status, Request: r, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{"Content-Type": {kind}}}
		for i := 0; i+1 < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp, nil
	}
}

// serves answers every request with a stream.
func serves(body io.Reader) server {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(body),
			Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
		}, nil
	}
}

// asks returns a provider of the server; o may be nil.
func asks(s server, o *anthropic.Options) *anthropic.Provider {
	all := anthropic.Options{}
	if o != nil {
		all = *o
	}
	all.BaseURL, all.APIKey = "http://model.test", canary
	all.Client = &http.Client{Transport: s}
	return anthropic.New(&all)
}

// says returns a stream of these events, each the data of one.
func says(events ...string) string {
	var sb strings.Builder
	for _, data := range events {
		kind := data[strings.Index(data, `"type":"`)+len(`"type":"`):]
		fmt.Fprintf(&sb, "event: %s\ndata: %s\n\n", kind[:strings.IndexByte(kind, '"')], data)
	}
	return sb.String()
}

// Events.
const (
	begin = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":20,"cache_creation_input_tokens":300,"cache_read_input_tokens":1000,"output_tokens":1}}}`
	ping  = `{"type":"ping"}`
	halt  = `{"type":"message_stop"}`
)

func starts(at int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, at, block)
}

func adds(at int, delta string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, at, delta)
}

func ends(at int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, at) }

func stops(reason string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":50,"output_tokens_details":{"thinking_tokens":12}}}`, reason)
}

// ok is a short answer.
func ok() string {
	return says(begin, starts(0, `{"type":"text","text":""}`), adds(0, `{"type":"text_delta","text":"ok"}`), ends(0), stops("end_turn"), halt)
}

// answers collects what the provider makes of a stream.
func answers(t *testing.T, wire string) (message.ModelReply, error) {
	t.Helper()
	return provider.Collect(asks(serves(strings.NewReader(wire)), nil).Stream(t.Context(), hello()))
}

func hello() message.ModelRequest {
	return message.ModelRequest{Model: message.Model{Name: adaptive}, Messages: message.MessagesOf(message.UserText("hello"))}
}

// chunks returns all that a stream yields, and its error.
func chunks(s message.ModelStream) (all []message.Chunk, err error) {
	for c, e := range s {
		if e != nil {
			return all, e
		}
		all = append(all, c)
	}
	return all, nil
}

// records keeps requests and answers them with "ok".
type records struct {
	bodies  []string
	headers []http.Header
	urls    []string
}

func (r *records) serve(t testing.TB) server {
	return func(req *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		r.bodies, r.headers = append(r.bodies, string(body)), append(r.headers, req.Header)
		r.urls = append(r.urls, req.URL.String())
		return serves(strings.NewReader(ok()))(req)
	}
}

// body returns what is sent for a request.
func body(t testing.TB, req message.ModelRequest) string {
	t.Helper()
	var r records
	_, err := provider.Collect(asks(r.serve(t), nil).Stream(t.Context(), req))
	require.NoError(t, err)
	require.Len(t, r.bodies, 1)
	return r.bodies[0]
}

func lookup() message.Tool {
	return message.Tool{Name: "read", Description: "Reads a <file>.", Input: `{"type":"object","properties":{"path":{"type":"string"}}}`}
}

// call is a block of a tool call.
func call(id, tool, args string) message.Block {
	return message.Block{Kind: message.BlockToolCall, CallID: id, Tool: tool, JSON: message.JSON(args)}
}

// thought is thinking as a model has signed it.
func thought(text, model, signature string) message.Block {
	return message.Block{Kind: message.BlockReasoning, Text: text, Meta: message.JSON(fmt.Sprintf(`{"anthropic":{"model":%q,"signature":%q}}`, model, signature))}
}

func assistant(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: message.ListOf(blocks...)}
}

func user(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleUser, Content: message.ListOf(blocks...)}
}

func result(id string, blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleTool, CallID: id, Tool: "read", Result: message.ToolResult{Content: message.ListOf(blocks...)}}
}

func failed(id string, blocks ...message.Block) message.Message {
	m := result(id, blocks...)
	m.Result.Failure = message.FailOperation
	return m
}
