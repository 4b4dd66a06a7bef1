package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// listens starts a server on loopback; gone counts the connections that were
// closed, opened those that were made.
func listens(t testing.TB, h http.HandlerFunc) (p *openai.Provider, opened, gone *atomic.Int64) {
	t.Helper()
	opened, gone = new(atomic.Int64), new(atomic.Int64)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened.Add(1)
		case http.StateClosed:
			gone.Add(1)
		}
	}
	s.Start()
	tr := &http.Transport{}
	t.Cleanup(func() { tr.CloseIdleConnections(); s.Close() })
	return openai.New(&openai.Options{BaseURL: s.URL + "/v1", APIKey: canary, Network: provider.Network{Client: &http.Client{Transport: tr}}}), opened, gone
}

func streams(w http.ResponseWriter, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, part := range parts {
		_, _ = io.WriteString(w, part)
		w.(http.Flusher).Flush()
	}
}

func TestOverTheNetwork(t *testing.T) {
	t.Parallel()
	p, opened, _ := listens(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/v1/chat/completions", r.URL.Path)
		streams(w, says("h"), says("i"), whole)
	})
	for range 5 {
		reply, err := provider.Collect(p.Stream(t.Context(), hello()))
		require.NoError(t, err)
		assert.Equal(t, "hi", reply.Text())
	}
	assert.EqualValues(t, 1, opened.Load(), "one connection for all")
}

func TestLeavingEarlyReleasesTheConnection(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	p, _, _ := listens(t, func(w http.ResponseWriter, r *http.Request) {
		streams(w, says("h"))
		<-r.Context().Done()
		close(left)
	})
	for c, err := range p.Stream(t.Context(), hello()) {
		require.NoError(t, err)
		assert.Equal(t, "h", c.Text)
		break
	}
	<-left
}

func TestCancelling(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]string{"before the head": "", "within the stream": says("h"), "behind the finish": says("h") + ends} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan struct{})
			p, _, _ := listens(t, func(w http.ResponseWriter, r *http.Request) {
				if when == "" {
					_, _ = io.Copy(io.Discard, r.Body) // else nobody looks whether the client is there
					cancel()
				} else {
					streams(w, when)
				}
				<-r.Context().Done()
				close(left)
			})
			var last error
			for c, err := range p.Stream(ctx, hello()) {
				if last = err; c.Text == "h" {
					cancel()
				}
			}
			require.ErrorIs(t, last, context.Canceled)
			<-left
		})
	}
}

func TestACutConnection(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		length string
		parts  []string
	}{
		"chunked":         {"", []string{says("h")}},
		"a length":        {"10000", []string{says("h")}},
		"before the text": {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, _ := listens(t, func(w http.ResponseWriter, _ *http.Request) {
				if tc.length != "" {
					w.Header().Set("Content-Length", tc.length)
				}
				streams(w, tc.parts...)
				panic(http.ErrAbortHandler)
			})
			reply, err := provider.Collect(p.Stream(t.Context(), hello()))
			require.Error(t, err)
			assert.True(t, errors.Is(err, provider.ErrNoFinish) || errors.Is(err, io.EOF) || strings.Contains(err.Error(), "reset"), err)
			assert.Equal(t, strings.Repeat("h", len(tc.parts)), reply.Text())
		})
	}
}

// slow is a body that comes in pieces, each after a while; it ends when it is
// closed.
type slow struct {
	parts  []string
	wait   time.Duration
	closed chan struct{}
}

func (s *slow) Read(b []byte) (int, error) {
	wait := s.wait
	if len(s.parts) == 0 {
		wait = 1000 * time.Hour
	}
	select {
	case <-time.After(wait):
		if len(s.parts) == 0 {
			return 0, io.EOF
		}
		n := copy(b, s.parts[0])
		s.parts = s.parts[1:]
		return n, nil
	case <-s.closed:
		return 0, errors.New("read on a closed body")
	}
}

func (s *slow) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

func quiet(wait time.Duration, parts ...string) server {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Request: r, Header: http.Header{},
			Body: &slow{parts: parts, wait: wait, closed: make(chan struct{})}}, nil
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	o := &openai.Options{Network: provider.Network{FirstByteTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second}}
	run := func(t *testing.T, s server, o *openai.Options) (message.ModelReply, time.Duration, error) {
		begin := time.Now()
		reply, err := provider.Collect(asks(s, o).Stream(t.Context(), hello()))
		return reply, time.Since(begin), err
	}
	t.Run("no head", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, took, err := run(t, func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}, o)
			require.ErrorIs(t, err, provider.ErrTimeout)
			assert.EqualError(t, err, "openai: the server did not answer in time (model.test): no answer began within 10s; OPENAI_FIRST_BYTE_TIMEOUT or Options.FirstByteTimeout changes that")
			class, _ := provider.Classify(err)
			assert.Equal(t, message.FailureTimeout, class)
			assert.Equal(t, 10*time.Second, took)
		})
	})
	t.Run("silence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			reply, took, err := run(t, quiet(9*time.Second, says("a"), says("b")), o)
			require.ErrorIs(t, err, provider.ErrTimeout)
			assert.Equal(t, 28*time.Second, took)
			assert.Equal(t, "ab", reply.Text())
		})
	})
	t.Run("slow but steady", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, took, err := run(t, quiet(9*time.Second, says("a"), ": ping\n\n", ends, done), o)
			require.NoError(t, err)
			assert.Equal(t, 32*time.Second, took, "the wait for [DONE] is short")
		})
	})
	t.Run("open after the finish", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			reply, took, err := run(t, quiet(time.Second, says("a"), ends), o)
			require.NoError(t, err)
			assert.Equal(t, "a", reply.Text())
			assert.Equal(t, 7*time.Second, took)
		})
	})
	t.Run("open after [DONE]", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, took, err := run(t, quiet(time.Second, says("a"), whole), o)
			require.NoError(t, err)
			assert.Equal(t, 2050*time.Millisecond, took)
		})
	})
	t.Run("the consumer's time does not count", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, err := range asks(quiet(time.Second, says("a"), says("b"), whole), o).Stream(t.Context(), hello()) {
				require.NoError(t, err)
				time.Sleep(time.Hour)
			}
		})
	})
	t.Run("no bound", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			never := &openai.Options{Network: provider.Network{FirstByteTimeout: -1, IdleTimeout: -1}}
			_, _, err := run(t, quiet(100*time.Hour, says("a"), whole), never)
			require.NoError(t, err)
		})
	})
	t.Run("a refusal that does not end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := server(func(r *http.Request) (*http.Response, error) {
				resp, err := quiet(time.Second, `{"error":{"message":"no"}}`)(r)
				resp.StatusCode = 500
				return resp, err
			})
			_, _, err := run(t, s, o)
			assert.EqualError(t, err, "openai: 500 Internal Server Error: no")
		})
	})
	t.Run("cancelled while it is silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := provider.Collect(asks(quiet(time.Second, says("a")), o).Stream(ctx, hello()))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, provider.ErrTimeout)
		})
	})
}

func TestOneProviderServesMany(t *testing.T) {
	t.Parallel()
	p, _, _ := listens(t, func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		_, rest, _ := strings.Cut(string(data), `"content":"`)
		name, _, _ := strings.Cut(rest, `"`)
		streams(w, says(name), says(name), whole)
	})
	set := message.NewToolSet([]message.Tool{lookup()})
	errs := make(chan error)
	for i := range 16 {
		go func() {
			for n := range 10 {
				name := fmt.Sprintf("%d-%d", i, n)
				reply, err := provider.Collect(p.Stream(t.Context(), message.ModelRequest{Messages: message.MessagesOf(message.UserText(name)), Tools: set}))
				if err == nil && reply.Text() != name+name {
					err = fmt.Errorf("%s got %s", name, reply.Text())
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 16 {
		assert.NoError(t, <-errs)
	}
}
