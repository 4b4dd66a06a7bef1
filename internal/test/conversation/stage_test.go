package conversation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
)

// stage is a runtime with one conversation, the adapters, and the servers with one model
// behind all of them. One request is made at a time.
type stage struct {
	servers map[string]*strictwire.Handler
	store   store.Store
	file    string // of a store that is read again
	bad     wrap
	models  *models.Models // nil asks the adapters
	rt      *runtime.Runtime
	conv    *runtime.Conversation

	mu      sync.Mutex
	turn    int
	replies []reply // what the script still has for this turn
	ran     []string
	judge
}

// crew is subsystem fallback with the tool.
type crew struct {
	*fallback.Fallback
	*tool
}

// tool does what its argument says.
type tool struct{ s *stage }

func (*tool) Schema() []message.Tool {
	return []message.Tool{{Name: "look", Description: "Looks.", Input: `{"type":"object","properties":{"how":{"type":"string"},"word":{"type":"string"}}}`}}
}

func (t *tool) Dispatch(_ context.Context, c *hook.ToolCall) (hook.Invocation, bool) {
	var in struct{ How, Word string }
	if err := json.Unmarshal([]byte(c.Args()), &in); err != nil {
		return hook.BadArgs(c.Args(), &hook.ArgError{Tool: c.Name(), Reason: "is no JSON"}), true
	}
	return hook.Bound(c.Args(), looking{t.s, in.How, in.Word}), true
}

type looking struct {
	s         *stage
	how, word string
}

func (l looking) Run(ctx context.Context, _ *hook.Env) message.ToolResult {
	l.s.mu.Lock()
	l.s.ran = append(l.s.ran, l.word)
	l.s.mu.Unlock()
	switch l.how {
	case "stop":
		l.s.conv.Running().Stop(nil)
	case "steer":
		said := message.TextInput("Hurry " + strings.Replace(l.word, "~c", "~u", 1))
		if err := l.s.conv.Running().Steer(ctx, said); err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
	}
	text := "seen " + strings.Replace(l.word, "~c", "~r", 1)
	switch l.how {
	case "fail":
		return message.FailedResult(message.FailOperation, text)
	case "show":
		return message.ToolResult{Content: message.ListOf(message.TextBlock(text), message.Block{Kind: message.BlockImage, MIME: "image/png", Data: png})}
	case "document":
		return message.ToolResult{Content: message.ListOf(message.TextBlock(text), message.Block{Kind: message.BlockDocument, MIME: "application/pdf", Data: pdf})}
	}
	return message.TextResult(text)
}

// wrap stands in front of the adapters: a known-bad variant of them.
type wrap func(req message.ModelRequest) message.ModelRequest

// tries is how often one model is asked in one step.
const tries = 4

// newStage opens everything; the conversation begins with the model. The fallback asks other
// models in the end.
func newStage(t *testing.T, model string, bad wrap, others ...string) *stage {
	t.Helper()
	s := &stage{servers: map[string]*strictwire.Handler{}, store: mem.New(nil), bad: bad}
	for i, w := range strictwire.Wires() {
		s.servers[w.Name()] = strictwire.New(w, s.modelOf(w.Name()), &strictwire.Options{Key: []byte("key of " + w.Name()), Answers: 1000 * i})
	}
	s.open(t, model, others...)
	return s
}

// open opens the runtime.
func (s *stage) open(t *testing.T, model string, others ...string) {
	t.Helper()
	h := crew{fallback.New(&fallback.Options{Models: others, Tries: tries, Pause: 1, Failures: -1}), &tool{s}}
	s.rt = runtime.New(h, s.router(s.bad), &runtime.Options{Store: s.store})
	require.NoError(t, s.rt.Open(t.Context()))
	a, err := s.rt.Register(t.Context(), hook.AgentConfig{Name: "a", Instructions: "Be brief.", Model: message.Model{Name: model}})
	require.NoError(t, err)
	s.conv, err = a.Conversation(t.Context(), "s")
	require.NoError(t, err)
}

func (s *stage) close(t *testing.T) {
	t.Helper()
	require.NoError(t, s.rt.Close(context.WithoutCancel(t.Context())))
}

// program has the requests go through the models of the program and over connections, to the
// vendors' own hosts through a proxy, behind which the servers are.
func (s *stage) program(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(front{s})
	t.Cleanup(server.Close)
	at := func(url string) models.Settings { return models.Settings{BaseURL: url, Proxy: server.URL} }
	m := models.New(models.Options{
		Root: t.TempDir(), Getenv: func(name string) string { return map[bool]string{true: "key"}[strings.HasSuffix(name, "_API_KEY")] },
		Vendors: map[string]models.Settings{
			"openai": at("http://api.openai.com/v1"), "anthropic": at("http://api.anthropic.com"), "gemini": at("http://generativelanguage.googleapis.com"),
		},
	})
	t.Cleanup(m.Close)
	s.models = m
}

// front shows the judge what comes in and goes out.
type front struct{ s *stage }

// ServeHTTP implements http.Handler.
func (f front) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	wire := wireOf(r.URL.Path)
	f.s.mu.Lock()
	e := f.s.sent(f.s.turn, wire, string(body))
	f.s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.s.servers[wire].ServeHTTP(written{rw, f.s, e}, r)
}

// written is a response; the judge sees it before the client does.
type written struct {
	http.ResponseWriter
	s        *stage
	exchange *exchange
}

// Write implements io.Writer. The server writes whole events.
func (w written) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	w.s.answered(w.exchange, string(p))
	w.s.mu.Unlock()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets the server flush.
func (w written) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// reopened opens the file of the stage's conversation, with the connection of before closed.
func (s *stage) reopened(t *testing.T) store.Store {
	t.Helper()
	if s.file == "" {
		s.file = filepath.Join(t.TempDir(), "conversation.db")
	}
	if old, ok := s.store.(*sqlite.Store); ok {
		require.NoError(t, old.Close())
	}
	opened, err := sqlite.Open(t.Context(), s.file, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// router passes a request to the adapter of its model's vendor, as the program does.
func (s *stage) router(bad wrap) provider.Provider {
	network := provider.Network{Client: &http.Client{Transport: tap{s}}, FirstByteTimeout: -1, IdleTimeout: -1}
	vendors := map[string]provider.Provider{
		"openai":    openai.New(&openai.Options{APIKey: "key", Network: network}),
		"anthropic": anthropic.New(&anthropic.Options{APIKey: "key", Network: network}),
		"gemini":    gemini.New(&gemini.Options{APIKey: "key", Network: network}),
	}
	return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
		vendor, name, _ := strings.Cut(req.Model.Name, ":")
		s.mu.Lock()
		s.asked(req)
		s.mu.Unlock()
		if s.models != nil {
			return s.models.Stream(ctx, req)
		}
		req.Model.Name = name
		if bad != nil {
			req = bad(req)
		}
		return vendors[vendor].Stream(ctx, req)
	})
}

// modelOf is the model behind the server of a wire: it says what the script has next.
func (s *stage) modelOf(wire string) provider.Provider {
	return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			a := s.next(wire, req)
			for _, c := range a.chunks {
				if !yield(c, nil) {
					return
				}
			}
			if a.stops {
				s.conv.Running().Stop(nil)
				<-ctx.Done()
				a.err = ctx.Err()
			}
			if a.err != nil {
				yield(message.Chunk{}, a.err)
			}
		}
	})
}

// next returns the next answer of the script to a request, as the server has read it.
func (s *stage) next(wire string, req message.ModelRequest) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paired(req.Messages)
	if s.request.summary {
		b := &builder{n: s.turn, wire: wire}
		return b.add(message.Chunk{Kind: message.ChunkText, Text: "All before " + word("s", s.turn)}).end(message.FinishStop)
	}
	if len(s.replies) == 0 {
		s.problem("the model is asked once too often")
		return answer{err: &provider.Error{Class: message.FailureRequest, Err: errors.New("the script is over")}}
	}
	a := s.replies[0](wire)
	s.replies, s.exchange.broken = s.replies[1:], a.err != nil || a.stops
	for _, c := range a.chunks {
		if c.Kind == message.ChunkReasoning {
			for _, w := range words.FindAllString(c.Text, -1) {
				s.thoughts[w] = s.request.model
			}
		}
	}
	return a
}

// tap is the network: it shows the judge what goes to the servers and what comes back.
type tap struct{ s *stage }

// wireOf tells the wire of a request by its path.
func wireOf(path string) string {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return "chat"
	case strings.HasSuffix(path, "/responses"):
		return "responses"
	case strings.HasSuffix(path, "/messages"):
		return "messages"
	}
	return "gemini"
}

// RoundTrip implements http.RoundTripper.
func (t tap) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	wire := wireOf(r.URL.Path)
	t.s.mu.Lock()
	e := t.s.sent(t.s.turn, wire, string(body))
	t.s.mu.Unlock()
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	response, err := t.s.servers[wire].Client().Transport.RoundTrip(r)
	if err == nil {
		response.Body = &tapped{ReadCloser: response.Body, s: t.s, exchange: e}
	}
	return response, err
}

// tapped is the body of a response; the judge sees it when it is closed.
type tapped struct {
	io.ReadCloser
	s        *stage
	exchange *exchange
	// mu guards seen: a body may be closed while it is read, and twice at a time.
	mu   sync.Mutex
	seen bytes.Buffer
}

// Read implements io.Reader.
func (b *tapped) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen.Write(p[:n])
	return n, err
}

// Close implements io.Closer.
func (b *tapped) Close() error {
	b.mu.Lock()
	seen := b.seen.String()
	b.seen.Reset()
	b.mu.Unlock()
	b.s.mu.Lock()
	b.s.answered(b.exchange, seen)
	b.s.mu.Unlock()
	return b.ReadCloser.Close()
}

// play plays a turn of the script with a model.
func (s *stage) play(t *testing.T, n int, of turn, model message.Model) hook.TurnOutcome {
	t.Helper()
	s.mu.Lock()
	s.turn, s.replies, s.ran = n, of.replies, nil
	s.mu.Unlock()
	in := message.Input{Messages: message.ListOf(message.Message{Role: message.RoleUser, Content: message.ListOf(of.input...)})}
	out, err := s.conv.Send(t.Context(), in, &runtime.TurnOptions{Model: model})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || out.Err != nil && of.stop != hook.StopUserRequested {
		s.problem(fmt.Sprintf("the turn has failed: %v", errors.Join(err, out.Err)))
		return out
	}
	s.ended(n, of, out)
	slices.Sort(s.ran)
	if !slices.Equal(s.ran, of.runs) {
		s.problem(fmt.Sprintf("the tool has run for %v, not for %v", s.ran, of.runs))
	}
	if len(s.replies) > 0 {
		s.problem(fmt.Sprintf("%d replies of the script were not asked for", len(s.replies)))
	}
	return out
}

// compact has the older part of the conversation summed up by a model.
func (s *stage) compact(t *testing.T, model string) {
	t.Helper()
	made, err := s.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 2, Model: model})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.problem(err.Error())
	case made.Archived == 0 || made.Kept == 0:
		s.problem(fmt.Sprintf("the compaction has archived %d and kept %d messages", made.Archived, made.Kept))
	}
	s.epoch++
}
