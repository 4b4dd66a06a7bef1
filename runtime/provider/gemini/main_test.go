package gemini_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// canary is a key that may appear nowhere but in the request.
	canary = "AIza-canary-0123456789"
	// modern, older and plain are models of Gemini 3, of Gemini 2.5, and one that does not think.
	modern = "gemini-3.8-flash"
	older  = "gemini-2.5-flash"
	plain  = "gemini-2.0-flash"
)

// server is a transport that answers without any network.
type server func(*http.Request) (*http.Response, error)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// says answers every request with the body of a stream.
func says(body io.Reader) server {
	return func(r *http.Request) (*http.Response, error) {
		closer, ok := body.(io.ReadCloser)
		if !ok {
			closer = io.NopCloser(body)
		}
		return &http.Response{
			StatusCode: http.StatusOK, Request: r, Body: closer,
			Header: http.Header{"Content-Type": {"text/event-stream"}},
		}, nil
	}
}

func asks(s server) *gemini.Provider {
	return gemini.New(&gemini.Options{BaseURL: "http://model.test", APIKey: canary, Network: provider.Network{Client: &http.Client{Transport: s}}})
}

func hello() message.ModelRequest {
	return message.ModelRequest{Model: message.Model{Name: modern}, Messages: message.MessagesOf(message.UserText("hello"))}
}

// answers collects what the provider makes of a stream.
func answers(ctx context.Context, wire string) (message.ModelReply, error) {
	return provider.Collect(asks(says(strings.NewReader(wire))).Stream(ctx, hello()))
}

// event is an event with a candidate whose members follow its index.
func event(members string) string {
	return `data: {"candidates":[{"index":0,` + members + `}],"modelVersion":"m","responseId":"r"}` + "\n\n"
}

// parts is an event with parts.
func parts(list string) string { return event(`"content":{"role":"model","parts":[` + list + `]}`) }

// finished is an event with a finish and usage.
func finished(reason string) string {
	return `data: {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"` + reason + `","index":0}],` +
		`"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"toolUsePromptTokenCount":3,"candidatesTokenCount":20,"thoughtsTokenCount":5,"totalTokenCount":38}}` + "\n\n"
}

// sent returns the body of the request, or the error before it.
func sent(t testing.TB, p func(server) *gemini.Provider, req message.ModelRequest) (body string, err error) {
	t.Helper()
	asked := 0
	s := server(func(r *http.Request) (*http.Response, error) {
		asked++
		data, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		body = string(data)
		assert.Equal(t, canary, r.Header.Get("X-Goog-Api-Key"))
		assert.NotContains(t, r.URL.String(), canary)
		return says(bytes.NewReader([]byte(finished("STOP"))))(r)
	})
	_, err = provider.Collect(p(s).Stream(t.Context(), req))
	if err != nil {
		assert.Zero(t, asked, "a request was made before the error: %v", err)
	}
	return body, err
}

// own is the Meta of a block as the wire writes it.
func own(members string) message.JSON { return message.JSON(`{"gemini":{` + members + `}}`) }

// call is a block of a tool call.
func call(id, tool, args string, meta message.JSON) message.Block {
	return message.Block{Kind: message.BlockToolCall, CallID: id, Tool: tool, JSON: message.JSON(args), Meta: meta}
}

func messageOf(role message.Role, blocks ...message.Block) message.Message {
	return message.Message{Role: role, Content: message.ListOf(blocks...)}
}

func assistant(blocks ...message.Block) message.Message {
	return messageOf(message.RoleAssistant, blocks...)
}
func user(blocks ...message.Block) message.Message { return messageOf(message.RoleUser, blocks...) }

func result(id, tool string, r message.ToolResult) message.Message {
	return message.Message{Role: message.RoleTool, CallID: id, Tool: tool, Result: r}
}

func text(s string) message.Block { return message.TextBlock(s) }

// client is a client of the server that keeps the address of the last request.
func client(address *string, s server) *http.Client {
	return &http.Client{Transport: server(func(r *http.Request) (*http.Response, error) {
		*address = r.URL.String()
		return s(r)
	})}
}
