package providertest_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

// TestEachRuleFindsItsKnownBadAdapters: in a bubble, so that an adapter that never ends is
// found by the kit's patience, whatever else the machine has to do.
func TestEachRuleFindsItsKnownBadAdapters(t *testing.T) {
	bad := knownBad()
	assert.Len(t, bad, len(providertest.Rules()), "a known-bad adapter of no rule")
	for _, r := range providertest.Rules() {
		t.Run(r.ID, func(t *testing.T) {
			require.NotEmpty(t, bad[r.ID], "the rule has no known-bad adapter")
			for i, wire := range bad[r.ID] {
				synctest.Test(t, func(t *testing.T) {
					found := r.Check(t.Context(), wire())
					require.NotEmpty(t, found, "known-bad adapter %d passes", i)
					assert.LessOrEqual(t, len(found), 8)
					for _, v := range found {
						assert.Equal(t, r.ID, v.Rule)
						assert.Contains(t, v.String(), r.Reason)
					}
					t.Log(found[0].Found)
					time.Sleep(late)
				})
			}
		})
	}
}

// around is the gateway with something around its adapter.
func around(wrap func(provider.Provider) provider.Provider) func() providertest.Wire {
	return func() providertest.Wire {
		w := gateway()
		open := w.Open
		w.Open = func(s providertest.Server) provider.Provider { return wrap(open(s)) }
		return w
	}
}

// element is an element of a stream.
type element struct {
	chunk message.Chunk
	err   error
}

// passes is the gateway with a function that changes the elements of its streams; it gets
// one for each stream.
func passes(change func() func(message.Chunk, error) []element) func() providertest.Wire {
	return around(func(p provider.Provider) provider.Provider {
		return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
			return func(yield func(message.Chunk, error) bool) {
				change := change()
				for c, err := range p.Stream(ctx, req) {
					for _, e := range change(c, err) {
						if !yield(e.chunk, e.err) {
							return
						}
					}
				}
			}
		})
	})
}

// chunks is passes for chunks alone; no chunk is left out.
func chunks(change func(*message.Chunk)) func() providertest.Wire {
	return passes(func() func(message.Chunk, error) []element {
		return func(c message.Chunk, err error) []element {
			if err == nil {
				change(&c)
			}
			return []element{{c, err}}
		}
	})
}

// fails is the gateway with other errors.
func fails(change func(error) error) func() providertest.Wire {
	return passes(func() func(message.Chunk, error) []element {
		return func(c message.Chunk, err error) []element {
			if err != nil {
				err = change(err)
			}
			return []element{{c, err}}
		}
	})
}

// asks is the gateway with other requests.
func asks(change func(*message.ModelRequest)) func() providertest.Wire {
	return around(func(p provider.Provider) provider.Provider {
		return provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
			change(&req)
			return p.Stream(ctx, req)
		})
	})
}

// asksOf is asks for the blocks of the history; a block without a kind is left out.
func asksOf(change func(*message.Block)) func() providertest.Wire {
	return asks(func(req *message.ModelRequest) {
		var out []message.Message
		edit := func(l message.List[message.Block]) message.List[message.Block] {
			var blocks []message.Block
			for _, b := range l.All() {
				if change(&b); b.Kind != "" {
					blocks = append(blocks, b)
				}
			}
			return message.ListOf(blocks...)
		}
		for _, m := range req.Messages.All() {
			m.Content, m.Result.Content = edit(m.Content), edit(m.Result.Content)
			out = append(out, m)
		}
		req.Messages = message.MessagesOf(out...)
	})
}

// trip is a http.RoundTripper.
type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// over is the gateway over another transport; make is called once for each adapter.
func over(make func(next http.RoundTripper) trip) func() providertest.Wire {
	return func() providertest.Wire {
		w := gateway()
		open := w.Open
		w.Open = func(s providertest.Server) provider.Provider {
			s.Transport = make(s.Transport)
			return open(s)
		}
		return w
	}
}

// sends is the gateway with other bodies of requests; n counts the requests of an adapter.
func sends(change func(n int64, body string) string) func() providertest.Wire {
	return over(func(next http.RoundTripper) trip {
		var n atomic.Int64
		return func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.Body = io.NopCloser(strings.NewReader(change(n.Add(1), string(body))))
			return next.RoundTrip(r)
		}
	})
}

// reader is a body that reads with a function.
type reader struct {
	io.ReadCloser
	read func([]byte) (int, error)
}

func (r *reader) Read(p []byte) (int, error) { return r.read(p) }

// unclosed is a body that nothing closes.
type unclosed struct{ io.ReadCloser }

func (unclosed) Close() error { return nil }

// responds is the gateway with other responses.
func responds(change func(*http.Response)) func() providertest.Wire {
	return over(func(next http.RoundTripper) trip {
		return func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				change(resp)
			}
			return resp, err
		}
	})
}

// wires is the gateway with another description.
func wires(change func(*providertest.Wire)) func() providertest.Wire {
	return func() providertest.Wire {
		w := gateway()
		change(&w)
		return w
	}
}

func finish(reason message.FinishReason) message.Chunk {
	return message.Chunk{Kind: message.ChunkFinish, Finish: reason}
}

// forgiving ends a stream well whose error is one of these.
func forgiving(is func(seen int, err error) bool) func() providertest.Wire {
	return passes(func() func(message.Chunk, error) []element {
		seen := 0
		return func(c message.Chunk, err error) []element {
			if seen++; err != nil && is(seen, err) {
				return []element{{finish(message.FinishStop), nil}}
			}
			return []element{{c, err}}
		}
	})
}

var madeID = regexp.MustCompile(`^call_\d+_\d+$`)

func knownBad() map[string][]func() providertest.Wire {
	all := map[string][]func() providertest.Wire{}
	for _, part := range []map[string][]func() providertest.Wire{badStreams(), badFailures(), badEnds(), badRequests(), badHistories(), badKeys()} {
		for id, wires := range part {
			all[id] = append(all[id], wires...)
		}
	}
	return all
}
