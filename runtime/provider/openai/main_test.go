package openai_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is a key that may appear nowhere but in the request.
const canary = "sk-canary-0123456789"

// server is a transport that answers without any network.
type server func(*http.Request) (*http.Response, error)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// serves answers every request with the body of a stream.
func serves(body io.Reader) server {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(body),
			Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
		}, nil
	}
}

// asks returns a provider of the server; o may be nil.
func asks(s server, o *openai.Options) *openai.Provider {
	all := openai.Options{}
	if o != nil {
		all = *o
	}
	all.BaseURL, all.APIKey = "http://model.test/v1", canary
	all.Client = &http.Client{Transport: s}
	return openai.New(&all)
}

// answers collects what the provider makes of a stream.
func answers(ctx context.Context, wire string) (message.ModelReply, error) {
	return provider.Collect(asks(serves(bytes.NewReader([]byte(wire))), nil).Stream(ctx, hello()))
}

func hello() message.ModelRequest {
	return message.ModelRequest{Model: message.Model{Name: "m"}, Messages: message.MessagesOf(message.UserText("hello"))}
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

// composed returns a stream of testdata/composed, which people wrote in the form of a server.
func composed(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "composed", name))
	require.NoError(t, err)
	return string(data)
}

// call is a block of a tool call.
func call(id, tool, args string) message.Block {
	return message.Block{Kind: message.BlockToolCall, CallID: id, Tool: tool, JSON: message.JSON(args)}
}

func reasoning(text string) message.Block {
	return message.Block{Kind: message.BlockReasoning, Text: text}
}
