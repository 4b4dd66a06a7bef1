package strictwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// Error is the error of a stream that Anthropic's server has refused. The other
// server's is provider.ServerError.
type Error struct{ Refusal }

// Error returns one line: the status, and what the vendor says.
func (e *Error) Error() string {
	return fmt.Sprintf("anthropic: %d %s: %s: %s", e.Status, http.StatusText(e.Status), e.Type, e.Message)
}

// Server is a strict server with a model behind it. It is safe for concurrent
// use and starts no goroutine.
type Server struct {
	inner provider.Provider
	// ask makes a request and returns why it was not taken.
	ask func(context.Context, message.ModelRequest) error
	// parsers are *wire.Parser: what they parse into is used again.
	parsers sync.Pool

	mu         sync.Mutex
	requests   int
	rejections []Rejection
}

// Rejection is a request that a server has refused.
type Rejection struct {
	Refusal
	// Request is its body.
	Request string
}

// maxKept bounds how many rejections are kept with their requests, which are
// large; the others are kept without.
const maxKept = 20

var _ provider.Provider = (*Server)(nil)

// OpenAI returns a server of the chat-completions wire in front of inner. Requests
// are written by this module's adapter, and a refusal comes back through it.
func OpenAI(inner provider.Provider) *Server {
	s := &Server{inner: inner}
	adapter := openai.New(&openai.Options{
		BaseURL: "http://model.test/v1", APIKey: "strictwire", Model: "gpt", MaxTokensKey: "max_completion_tokens", Network: provider.Network{Client: &http.Client{Transport: transport{s, Chat()}}, FirstByteTimeout: -1, IdleTimeout: -1},
	})
	s.ask = func(ctx context.Context, req message.ModelRequest) error {
		for _, err := range adapter.Stream(ctx, req) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	return s
}

// Anthropic returns a server of the messages wire in front of inner.
func Anthropic(inner provider.Provider) *Server {
	s, messages := &Server{inner: inner}, Messages()
	s.ask = func(ctx context.Context, req message.ModelRequest) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("anthropic: %w", err)
		}
		if r := s.judged(RenderAnthropic(req), messages); r != nil {
			return &Error{*r}
		}
		return nil
	}
	return s
}

// Stream implements provider.Provider.
func (s *Server) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		if err := s.ask(ctx, req); err != nil {
			yield(message.Chunk{}, err)
			return
		}
		for chunk, err := range s.inner.Stream(ctx, req) {
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// Requests returns how many requests have reached the server.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Rejections returns the requests that were refused, in their order.
func (s *Server) Rejections() []Rejection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rejections)
}

// judged looks at a body and writes down what comes of it.
func (s *Server) judged(body []byte, w Wire) *Refusal {
	p, ok := s.parsers.Get().(*wire.Parser)
	if !ok {
		p = new(wire.Parser)
	}
	c := wire.NewCheck(w.vendor, p, "")
	c.Body(string(body))
	broken := c.Broken()
	p.Reset()
	s.parsers.Put(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if len(broken) == 0 {
		return nil
	}
	rejection := Rejection{Refusal: broken[0]}
	if len(s.rejections) < maxKept {
		rejection.Request = string(body)
	}
	s.rejections = append(s.rejections, rejection)
	return &broken[0]
}

// transport is the OpenAI server as the adapter's client sees it.
type transport struct {
	s    *Server
	chat Wire
}

// accepted is the stream that the adapter gets for a good request. What the model
// says does not go through it: it would come out as something else.
const accepted = `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}` +
	"\n\ndata: [DONE]\n\n"

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/chat/completions") || req.Header.Get("Authorization") == "" {
		return nil, errors.New("strictwire: not a request for an answer")
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	var body bytes.Buffer
	body.Grow(int(max(0, req.ContentLength)) + bytes.MinRead)
	if _, err := body.ReadFrom(req.Body); err != nil {
		return nil, err
	}
	if r := t.s.judged(body.Bytes(), t.chat); r != nil {
		return response(req, r.Status, "application/json", r.Body), nil
	}
	return response(req, http.StatusOK, "text/event-stream", accepted), nil
}

func response(req *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}
