package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
)

// parts is a stream that comes in these pieces and, if the last one is empty, breaks.
type parts []string

func (p *parts) Read(b []byte) (int, error) {
	for len(*p) > 0 && (*p)[0] == "" {
		if len(*p) == 1 {
			return 0, errors.New("connection reset by peer")
		}
		*p = (*p)[1:]
	}
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	(*p)[0] = (*p)[0][n:]
	if (*p)[0] == "" && len(*p) == 1 {
		*p = nil
	}
	return n, nil
}

func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	says := func(kind, text string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, text)
	}
	for name, tc := range map[string]struct {
		s     server
		want  string
		class message.FailureClass
		after time.Duration
	}{
		"429":          {responds(429, "application/json", says("rate_limit_error", "slow down"), "Retry-After", "7"), "anthropic: 429 Too Many Requests: rate_limit_error: slow down", message.FailureRateLimit, 7 * time.Second},
		"529":          {responds(529, "application/json", says("overloaded_error", "Overloaded")), "anthropic: 529 unknown status: overloaded_error: Overloaded", message.FailureOverloaded, 0},
		"500":          {responds(500, "application/json", says("api_error", "oh")), "anthropic: 500 Internal Server Error: api_error: oh", message.FailureServer, 0},
		"401":          {responds(401, "application/json", says("authentication_error", "no "+canary)), "anthropic: 401 Unauthorized: authentication_error: no [hidden]", message.FailureAuth, 0},
		"400":          {responds(400, "application/json", says("invalid_request_error", "tools.0: no")), "anthropic: 400 Bad Request: invalid_request_error: tools.0: no", message.FailureRequest, 0},
		"too long":     {responds(400, "application/json", says("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")), "anthropic: 400 Bad Request: invalid_request_error: prompt is too long: 210000 tokens > 200000 maximum", message.FailureContext, 0},
		"413":          {responds(413, "application/json", says("request_too_large", "big")), "anthropic: 413 Request Entity Too Large: request_too_large: big", message.FailureContext, 0},
		"in a stream":  {serves(strings.NewReader("event: message_start\ndata: " + begin + "\n\nevent: error\ndata: " + says("overloaded_error", "Overloaded") + "\n\n")), "anthropic: overloaded_error: Overloaded", message.FailureOverloaded, 0},
		"with no name": {serves(strings.NewReader("data: " + says("api_error", "oh") + "\n\n")), "anthropic: api_error: oh", message.FailureServer, 0},
		"a page":       {responds(200, "text/html", "<html><title>Log in</title></html>"), "", message.FailureProtocol, 0},
		"a redirect":   {responds(302, "text/plain", "", "Location", "http://evil.test/"), "", message.FailureRequest, 0},
		"no network":   {func(*http.Request) (*http.Response, error) { return nil, errors.New("no route to " + canary) }, "anthropic: model.test: no route to [hidden]", message.FailureNetwork, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			s := server(func(r *http.Request) (*http.Response, error) { asked++; return tc.s(r) })
			_, err := provider.Collect(asks(s, nil).Stream(t.Context(), hello()))
			require.Error(t, err)
			if tc.want != "" {
				assert.Equal(t, tc.want, err.Error())
			}
			class, after := provider.Classify(err)
			assert.Equal(t, tc.class, class, err)
			assert.Equal(t, tc.after, after)
			assert.NotContains(t, err.Error(), canary)
			assert.Equal(t, 1, asked, "nothing is retried")
		})
	}
}

// hangs serves a beginning, and nothing more until the request ends.
func hangs(t *testing.T, from string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if from != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, from)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return s
}

func over(url string, n provider.Network) *anthropic.Provider {
	return anthropic.New(&anthropic.Options{BaseURL: url, APIKey: canary, Network: n})
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		from string
		n    provider.Network
		says string
	}{
		"the head":   {"", provider.Network{FirstByteTimeout: time.Millisecond}, "ANTHROPIC_FIRST_BYTE_TIMEOUT"},
		"the stream": {says(begin), provider.Network{IdleTimeout: time.Millisecond}, "ANTHROPIC_IDLE_TIMEOUT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := hangs(t, tc.from)
			tc.n.Client = s.Client()
			_, err := provider.Collect(over(s.URL, tc.n).Stream(t.Context(), hello()))
			require.ErrorIs(t, err, provider.ErrTimeout)
			require.ErrorContains(t, err, tc.says)
		})
	}
}

func TestTheCallerEndsAStream(t *testing.T) {
	t.Parallel()
	s := hangs(t, says(begin, starts(0, `{"type":"text","text":"a"}`)))
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		ctx, cancel := context.WithCancel(t.Context())
		if errors.Is(cause, context.DeadlineExceeded) {
			cancel()
			ctx, cancel = context.WithDeadline(t.Context(), time.Now())
		}
		var last error
		for c, err := range over(s.URL, provider.Network{Client: s.Client()}).Stream(ctx, hello()) {
			if last = err; c.Kind == message.ChunkText {
				cancel()
			}
		}
		cancel()
		require.ErrorIs(t, last, cause)
	}
	for range over(s.URL, provider.Network{Client: s.Client()}).Stream(t.Context(), hello()) {
		break // goleak sees what is not released
	}
}

// The limits of Network hold for events and for the whole stream.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, n := range []provider.Network{{MaxEvent: 200}, {MaxStream: 500}} {
		n.Client = &http.Client{Transport: serves(strings.NewReader(rich()))}
		_, err := provider.Collect(over("http://model.test", n).Stream(t.Context(), hello()))
		class, _ := provider.Classify(err)
		assert.Equal(t, message.FailureTooLarge, class, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, rich())
	}))
	t.Cleanup(s.Close)
	p := over(s.URL, provider.Network{Client: s.Client()})
	req := hello()
	req.Tools = message.NewToolSet([]message.Tool{lookup()})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 4 {
				got, err := provider.Collect(p.Stream(t.Context(), req))
				assert.NoError(t, err)
				assert.Equal(t, richReply(), got)
			}
		})
	}
	all.Wait()
}

// atEnd is a body that knows whether it was read to its end.
type atEnd struct {
	io.Reader
	seen bool
}

func (e *atEnd) Read(b []byte) (n int, err error) {
	n, err = e.Reader.Read(b)
	e.seen = e.seen || err == io.EOF
	return n, err
}

// A connection serves the next request only if its response was read to the end.
func TestAFinishedResponseIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	body := &atEnd{Reader: strings.NewReader(ok())}
	_, err := provider.Collect(asks(serves(body), nil).Stream(t.Context(), hello()))
	require.NoError(t, err)
	assert.True(t, body.seen)
}
