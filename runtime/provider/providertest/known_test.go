package providertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

func badStreams() map[string][]func() providertest.Wire {
	return map[string][]func() providertest.Wire{
		"wire-complete": {
			wires(func(w *providertest.Wire) {
				w.Answer = func(providertest.Answer) providertest.Stream { return providertest.Stream{} }
			}),
			wires(func(w *providertest.Wire) { w.Failures = func(string) []providertest.Failure { return nil } }),
			wires(func(w *providertest.Wire) {
				w.Failures = func(string) []providertest.Failure { return failures("another text") }
			}),
		},
		"lazy": {
			around(func(p provider.Provider) provider.Provider {
				return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
					reply, err := provider.Collect(p.Stream(ctx, req))
					return func(yield func(message.Chunk, error) bool) {
						yield(message.Chunk{Kind: message.ChunkText, Text: reply.Text()}, err)
					}
				})
			}),
			around(func(provider.Provider) provider.Provider {
				return provider.Func(func(context.Context, message.ModelRequest) message.ModelStream { panic("not yet") })
			}),
		},
		"answer-whole": {
			chunks(func(c *message.Chunk) { c.Text = strings.TrimSpace(c.Text) }),
			chunks(func(c *message.Chunk) { c.Text = strings.ReplaceAll(c.Text, "\u2028", "") }),
			passes(func() func(message.Chunk, error) []element {
				said := false
				return func(c message.Chunk, err error) []element {
					if said = said || err == nil && c.Kind != message.ChunkFinish; !said && err == nil {
						return []element{{message.Chunk{}, errors.New("an empty answer")}}
					}
					return []element{{c, err}}
				}
			}),
		},
		"chunks-ordered": {
			passes(func() func(message.Chunk, error) []element {
				return func(c message.Chunk, err error) []element { return []element{{c, err}, {c, err}} }
			}),
			passes(func() func(message.Chunk, error) []element {
				return func(c message.Chunk, err error) []element {
					if err != nil {
						return []element{{c, err}, {finish(message.FinishStop), nil}}
					}
					return []element{{c, err}}
				}
			}),
			passes(func() func(message.Chunk, error) []element {
				return func(c message.Chunk, err error) []element {
					if at := strings.Index(c.Text, "😀"); at >= 0 && c.Kind == message.ChunkText {
						one, two := c, c
						one.Text, two.Text = c.Text[:at+1], c.Text[at+1:]
						return []element{{one, nil}, {two, nil}}
					}
					return []element{{c, err}}
				}
			}),
		},
		"chunks-any-size": {
			// takes what a read returns for whole lines
			responds(func(r *http.Response) {
				inner := r.Body
				r.Body = &reader{inner, func(p []byte) (int, error) {
					n, err := inner.Read(p[:len(p)-1])
					if n > 0 && n < len(p)-1 && p[n-1] != '\n' {
						p[n] = '\n'
						n++
					}
					return n, err
				}}
			}),
			// takes the bytes of what a read returns for whole characters
			responds(func(r *http.Response) {
				inner := r.Body
				r.Body = &reader{inner, func(p []byte) (int, error) {
					n, err := inner.Read(p[:len(p)/4])
					return copy(p, strings.ToValidUTF8(string(p[:n]), "?")), err
				}}
			}),
		},
		"calls-interleaved": {
			passes(func() func(message.Chunk, error) []element {
				last := 0
				return func(c message.Chunk, err error) []element {
					switch c.Kind {
					case message.ChunkCallStart:
						last = c.Index
					case message.ChunkCallArgs:
						c.Index = last
					}
					return []element{{c, err}}
				}
			}),
		},
		"calls-ids": {
			chunks(func(c *message.Chunk) {
				if madeID.MatchString(c.CallID) {
					c.CallID = ""
				}
			}),
			chunks(func(c *message.Chunk) {
				if madeID.MatchString(c.CallID) {
					c.CallID = "same"
				}
			}),
		},
		"finish-reason": {
			chunks(func(c *message.Chunk) {
				if c.Finish == message.FinishFilter {
					c.Finish = message.FinishStop
				}
			}),
			chunks(func(c *message.Chunk) {
				if c.Finish == message.FinishPause {
					c.Finish = message.FinishOther
				}
			}),
			// mends arguments that were cut off
			passes(func() func(message.Chunk, error) []element {
				return func(c message.Chunk, err error) []element {
					if c.Kind == message.ChunkCallArgs && strings.HasSuffix(c.Text, `"x`) {
						c.Text += `"}`
					}
					return []element{{c, err}}
				}
			}),
		},
		"usage-meaning": {
			chunks(func(c *message.Chunk) { c.Usage.Input -= c.Usage.CacheRead + c.Usage.CacheWrite }),
			chunks(func(c *message.Chunk) { c.Usage.Output += c.Usage.Reasoning }),
			chunks(func(c *message.Chunk) { c.Usage.CacheWrite = 0 }),
		},
	}
}

func badFailures() map[string][]func() providertest.Wire {
	return map[string][]func() providertest.Wire{
		"cut-noticed": {
			forgiving(func(seen int, err error) bool { return seen > 1 && errors.Is(err, io.ErrUnexpectedEOF) }),
			forgiving(func(seen int, err error) bool { return seen > 4 && errors.Is(err, provider.ErrNoFinish) }),
			fails(func(err error) error { return fmt.Errorf("it broke off (%v)", err) }),
		},
		"cut-calls": {
			passes(func() func(message.Chunk, error) []element {
				open := map[int]bool{}
				return func(c message.Chunk, err error) []element {
					var out []element
					switch {
					case c.Kind == message.ChunkCallStart:
						open[c.Index] = true
					case err != nil:
						for i := range open {
							out = append(out, element{message.Chunk{Kind: message.ChunkCallEnd, Index: i}, nil})
						}
					}
					return append(out, element{c, err})
				}
			}),
		},
		"finish-needed": {forgiving(func(seen int, err error) bool { return seen > 1 && errors.Is(err, provider.ErrNoFinish) })},
		"stream-only": {
			forgiving(func(seen int, err error) bool { return seen == 1 && errors.Is(err, provider.ErrNoFinish) }),
			forgiving(func(seen int, err error) bool { return seen == 1 && errors.Is(err, provider.ErrProtocol) }),
		},
		"garbage-noticed": {
			responds(func(r *http.Response) {
				data, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				lines := strings.SplitAfter(string(data), "\n")
				for i, line := range lines {
					if strings.HasPrefix(line, "\x00") {
						lines[i] = ""
					}
				}
				r.Body = &reader{r.Body, strings.NewReader(strings.Join(lines, "")).Read}
			}),
		},
		"failure-class": {
			fails(func(err error) error { return &provider.Error{Class: message.FailureServer, Err: err} }),
			fails(func(err error) error {
				if class, wait := provider.Classify(err); class == message.FailureNetwork {
					return &provider.Error{Class: message.FailureUnknown, RetryAfter: wait, Err: err}
				}
				return err
			}),
			forgiving(func(_ int, err error) bool { return strings.Contains(err.Error(), "overloaded") }),
		},
		"failure-wait": {
			fails(func(err error) error {
				class, _ := provider.Classify(err)
				return &provider.Error{Class: class, Err: err}
			}),
			fails(func(err error) error {
				class, wait := provider.Classify(err)
				return &provider.Error{Class: class, RetryAfter: wait * 1000, Err: err}
			}),
		},
		"failure-text": {
			fails(func(err error) error {
				class, wait := provider.Classify(err)
				return &provider.Error{Class: class, RetryAfter: wait, Err: errors.New("it failed")}
			}),
		},
		"one-request": {
			around(func(p provider.Provider) provider.Provider {
				return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
					if _, err := provider.Collect(p.Stream(ctx, req)); err != nil {
						return p.Stream(ctx, req)
					}
					return p.Stream(ctx, req)
				})
			}),
			around(func(p provider.Provider) provider.Provider {
				return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
					return func(yield func(message.Chunk, error) bool) {
						for c, err := range p.Stream(ctx, req) {
							if class, _ := provider.Classify(err); err != nil && class == message.FailureRateLimit {
								p.Stream(ctx, req)(yield)
								return
							}
							if !yield(c, err) {
								return
							}
						}
					}
				})
			}),
		},
	}
}

func badEnds() map[string][]func() providertest.Wire {
	deaf := around(func(p provider.Provider) provider.Provider {
		return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
			return p.Stream(context.WithoutCancel(ctx), req)
		})
	})
	unclosing := responds(func(r *http.Response) { r.Body = unclosed{r.Body} })
	return map[string][]func() providertest.Wire{
		"cancel-head": {deaf, forgiving(func(_ int, err error) bool { return errors.Is(err, context.Canceled) })},
		"cancel-stream": {
			deaf, unclosing,
			over(func(next http.RoundTripper) trip {
				return func(r *http.Request) (*http.Response, error) {
					ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
					stop := context.AfterFunc(r.Context(), cancel)
					defer stop()
					return next.RoundTrip(r.WithContext(ctx))
				}
			}),
		},
		"context-error": {
			fails(func(err error) error {
				if errors.Is(err, context.Canceled) {
					return errors.New("gateway: cancelled")
				}
				return err
			}),
			fails(func(err error) error {
				if errors.Is(err, context.DeadlineExceeded) {
					return &provider.Error{Class: message.FailureNetwork, Err: err}
				}
				return err
			}),
			around(func(p provider.Provider) provider.Provider {
				return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
					if ctx.Err() != nil {
						ctx = context.WithoutCancel(ctx)
					}
					return p.Stream(ctx, req)
				})
			}),
		},
		"stop-early": {
			around(func(p provider.Provider) provider.Provider {
				return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
					return func(yield func(message.Chunk, error) bool) {
						for c, err := range p.Stream(ctx, req) {
							yield(c, err)
						}
					}
				})
			}),
			unclosing,
		},
		"connection-released": {
			unclosing,
			responds(func(r *http.Response) {
				if r.StatusCode >= 500 {
					r.Body = unclosed{r.Body}
				}
			}),
		},
		"goroutines-end": {
			around(func(p provider.Provider) provider.Provider {
				return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
					return func(yield func(message.Chunk, error) bool) {
						go time.Sleep(late)
						p.Stream(ctx, req)(yield)
					}
				})
			}),
		},
		"concurrent": {
			around(func(p provider.Provider) provider.Provider {
				var busy atomic.Int64
				return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
					return func(yield func(message.Chunk, error) bool) {
						defer busy.Add(-1)
						if busy.Add(1) > 1 {
							yield(message.Chunk{}, errors.New("busy"))
							return
						}
						p.Stream(ctx, req)(yield)
					}
				})
			}),
			// makes one request at a time
			around(func(p provider.Provider) provider.Provider {
				slot := make(chan struct{}, 1)
				return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
					return func(yield func(message.Chunk, error) bool) {
						slot <- struct{}{}
						defer func() { <-slot }()
						p.Stream(ctx, req)(yield)
					}
				})
			}),
			// keeps the request of another conversation
			around(func(p provider.Provider) provider.Provider {
				var mu sync.Mutex
				var kept *message.ModelRequest
				return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
					mu.Lock()
					defer mu.Unlock()
					if kept == nil {
						kept = &req
					}
					return p.Stream(ctx, *kept)
				})
			}),
		},
	}
}

func badRequests() map[string][]func() providertest.Wire {
	set := func(f func(*message.Model)) func() providertest.Wire {
		return asks(func(req *message.ModelRequest) { f(&req.Model) })
	}
	return map[string][]func() providertest.Wire{
		"request-whole": {
			asks(func(req *message.ModelRequest) { req.System = "" }),
			asks(func(req *message.ModelRequest) { req.Tools = nil }),
			asks(func(req *message.ModelRequest) { req.Messages = req.Messages.From(1) }),
			asks(func(req *message.ModelRequest) { req.Model.Name = "another" }),
			asksOf(func(b *message.Block) { b.Text = strings.ReplaceAll(b.Text, "kit-failed-result", "") }),
			wires(func(w *providertest.Wire) { w.Lacks.Tools = true }),
		},
		"request-unchanged": {
			asks(func(req *message.ModelRequest) { reflect.ValueOf(req.Tools).Elem().SetZero() }),
		},
		"request-same": {
			sends(unordered()),
		},
		"prefix-stable": {
			sends(func(n int64, body string) string {
				return strings.Replace(body, "kit-system", fmt.Sprintf("request %d kit-system", n), 1)
			}),
			sends(func(n int64, body string) string { return fmt.Sprintf(`{"n%d":1,`, n) + body[1:] }),
			// marks the last message, and does not say that it is a mark
			sends(func(_ int64, body string) string {
				at := strings.LastIndex(body, `{"role":`)
				return body[:at] + `{"mark":true,` + body[at+1:]
			}),
			// forgets what is long ago
			asks(func(req *message.ModelRequest) { req.Messages = req.Messages.From(max(0, req.Messages.Len()-20)) }),
		},
		"settings": {
			set(func(m *message.Model) { m.Temperature = message.Optional[float64]{} }),
			set(func(m *message.Model) { m.Temperature.Set = m.Temperature.Value != 0 }),
			set(func(m *message.Model) { m.TopP = message.Optional[float64]{} }),
			set(func(m *message.Model) { m.Seed = message.Optional[int64]{} }),
			set(func(m *message.Model) { m.Reasoning.Budget = 0 }),
			set(func(m *message.Model) { m.Stop = message.List[string]{} }),
			set(func(m *message.Model) { m.Choice.Tool = "" }),
			set(func(m *message.Model) { m.Format.Schema = "" }),
			set(func(m *message.Model) { m.Extra, m.Tier = "", "" }),
			around(func(p provider.Provider) provider.Provider {
				return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
					if req.Model.Seed.Set {
						return func(yield func(message.Chunk, error) bool) {
							yield(message.Chunk{}, errors.New("gateway: this model takes no seed"))
						}
					}
					return p.Stream(ctx, req)
				})
			}),
		},
		"media": {
			asksOf(func(b *message.Block) {
				if b.Kind == message.BlockImage {
					b.Kind = ""
				}
			}),
			asksOf(func(b *message.Block) {
				if b.Kind == message.BlockDocument {
					*b = message.TextBlock("[a document]")
				}
			}),
			asksOf(func(b *message.Block) {
				if b.Kind == message.BlockJSON {
					b.JSON = "null"
				}
			}),
		},
	}
}

func badHistories() map[string][]func() providertest.Wire {
	return map[string][]func() providertest.Wire{
		"reasoning-replayed": {
			// keeps no reasoning without a text
			asksOf(func(b *message.Block) {
				if b.Kind == message.BlockReasoning && b.Text == "" {
					b.Kind = ""
				}
			}),
			asksOf(func(b *message.Block) {
				if b.Kind == message.BlockReasoning {
					b.Meta = ""
				}
			}),
			asksOf(func(b *message.Block) {
				if b.Kind == message.BlockReasoning {
					b.Meta = message.JSON(strings.ToUpper(string(b.Meta)))
				}
			}),
			sends(func(_ int64, body string) string {
				if at := strings.LastIndex(body, `{"role":"tool"`); at > 0 { // and once more at the end
					return body[:at] + regexp.MustCompile(`"gateway":"[^"]*"`).FindString(body)
				}
				return body
			}),
		},
		"meta-own": {
			chunks(func(c *message.Chunk) {
				if c.Meta != "" {
					c.Meta = `{"signature":"x"}`
				}
			}),
			chunks(func(c *message.Chunk) {
				if c.Meta != "" {
					c.Meta = `"signature"`
				}
			}),
			wires(func(w *providertest.Wire) { w.Name = "another" }),
		},
		"meta-foreign": {
			asksOf(func(b *message.Block) {
				if b.Kind == message.BlockReasoning {
					*b = message.TextBlock(b.Text)
				}
			}),
			asksOf(func(b *message.Block) {
				if b.Meta != "" {
					b.Meta = provider.Meta(wireName, string(b.Meta))
				}
			}),
			asksOf(func(b *message.Block) {
				if b.Meta != "" && b.Kind == message.BlockText {
					b.Kind = ""
				}
			}),
		},
		"ids-foreign": {
			around(func(p provider.Provider) provider.Provider {
				return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
					for _, m := range req.Messages.All() {
						if len(m.CallID) > 64 {
							return func(yield func(message.Chunk, error) bool) {
								yield(message.Chunk{}, errors.New("gateway: the id is too long"))
							}
						}
					}
					return p.Stream(ctx, req)
				})
			}),
			func() func() providertest.Wire {
				var n atomic.Int64
				return sends(func(_ int64, body string) string {
					return strings.ReplaceAll(body, "toolu_01", fmt.Sprintf("id_%d_", n.Add(1)))
				})
			}(),
			asks(func(req *message.ModelRequest) { req.Messages = req.Messages.First(max(1, req.Messages.Len()-1)) }),
		},
	}
}

func badKeys() map[string][]func() providertest.Wire {
	opens := func(open func(providertest.Server) provider.Provider) func() providertest.Wire {
		return wires(func(w *providertest.Wire) { w.Open = open })
	}
	return map[string][]func() providertest.Wire{
		"key-header": {
			opens(func(s providertest.Server) provider.Provider {
				return Gateway(s.URL+"/chat?key="+s.Key, s.Key, s.Client())
			}),
			opens(func(s providertest.Server) provider.Provider { return Gateway(s.URL+"/chat", "", s.Client()) }),
			opens(func(s providertest.Server) provider.Provider {
				return Gateway("http://vendor.test/chat", s.Key, s.Client())
			}),
			asks(func(req *message.ModelRequest) { req.System = "sk-canary-0123456789abcdef" }),
		},
		"key-redirect": {
			opens(func(s providertest.Server) provider.Provider {
				c := s.Client()
				c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
					r.Header = via[0].Header.Clone()
					return nil
				}
				return Gateway(s.URL+"/chat", s.Key, c)
			}),
		},
		"key-hidden": {
			opens(func(s providertest.Server) provider.Provider { return loud{Gateway(s.URL, s.Key, s.Client()), s.Key} }),
			opens(func(s providertest.Server) provider.Provider {
				return Gateway(s.URL+"/chat?key="+s.Key, s.Key, s.Client()) // in the errors of net/http
			}),
			// sends a key that it does not know to be one
			opens(func(s providertest.Server) provider.Provider {
				next := s.Transport
				s.Transport = trip(func(r *http.Request) (*http.Response, error) {
					r = r.Clone(r.Context())
					r.Header.Set("Authorization", "Bearer "+s.Key)
					return next.RoundTrip(r)
				})
				return Gateway(s.URL+"/chat", "none", s.Client())
			}),
		},
	}
}

// loud shows its key.
type loud struct {
	provider.Provider
	Key string
}

// late is longer than the kit waits for goroutines.
const late = 10 * time.Second

// unordered returns what writes the members of every other request in reverse, as an unordered map
// does now and then.
func unordered() func(int64, string) string {
	var sent atomic.Int64
	return func(_ int64, body string) string {
		var v map[string]json.RawMessage
		_ = json.Unmarshal([]byte(body), &v)
		names := slices.Sorted(maps.Keys(v))
		if sent.Add(1)%2 == 0 {
			slices.Reverse(names)
		}
		var b strings.Builder
		for _, name := range names {
			fmt.Fprintf(&b, ",%q:%s", name, v[name])
		}
		return "{" + strings.TrimPrefix(b.String(), ",") + "}"
	}
}
