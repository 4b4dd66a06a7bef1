package wire_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// ask posts, and returns the data of the events and the error that ended them.
func ask(ctx context.Context, s *wire.Server) (data string, err error) {
	st, err := s.Open(ctx, s.URL("messages"), []byte("{}"))
	if err != nil {
		return "", err
	}
	defer st.Close()
	for {
		ev, err := st.Next()
		if err != nil {
			return data, err
		}
		data += string(ev.Data)
	}
}

func TestEveryRequestHasTheHeader(t *testing.T) {
	t.Parallel()
	var sent http.Header
	s := serverOf(t, func(r *http.Request) (*http.Response, error) { sent = r.Header; return streams("")(r) },
		func(c *wire.Config) { c.Network.Header = http.Header{"x-team": {"blue"}, "accept": {"text/plain"}} })
	other := s.With("X-Team", "red")
	for of, team := range map[*wire.Server]string{s: "blue", other: "red"} {
		_, err := ask(t.Context(), of)
		require.ErrorIs(t, err, provider.ErrNoFinish)
		assert.Equal(t, http.Header{"Content-Type": {"application/json"}, "Accept": {"text/plain"}, "User-Agent": {"grapnel"}, "X-Api-Key": {canary}, "X-Team": {team}}, sent)
	}
}

// google is an error as Google streams it: plain JSON over several lines.
const google = `{
  "error": {
    "code": 503,
    "message": "The model is overloaded.",
    "status": "UNAVAILABLE",
    "details": [
      {"@type": "type.googleapis.com/google.rpc.Help"},
      {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}
    ]
  }
}
`

func TestEveryFaultHasItsClass(t *testing.T) {
	t.Parallel()
	const part, data = "data: {\"n\":1}\n\n", `{"n":1}`
	reset := errors.New("connection reset by peer")
	for name, tc := range map[string]struct {
		s     trip
		class message.FailureClass
		text  string
		after time.Duration
	}{
		"refused": {responds(400, "application/json", strings.NewReader(`{"type":"error","error":{"type":"invalid_request_error","message":"messages: `+canary+`"}}`)), message.FailureRequest,
			"acme: 400 Bad Request: invalid_request_error: messages: [hidden]", 0},
		"overloaded":        {responds(529, "application/json", strings.NewReader(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)), message.FailureOverloaded, "acme: 529 unknown status: overloaded_error: Overloaded", 0},
		"too many":          {responds(429, "application/json", strings.NewReader(`{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"42s"}]}}`)), message.FailureRateLimit, "acme: 429 Too Many Requests: RESOURCE_EXHAUSTED: quota", 42 * time.Second},
		"a wrong key":       {responds(400, "application/json", strings.NewReader(`[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]`)), message.FailureAuth, "acme: 400 Bad Request: API_KEY_INVALID: API key not valid.", 0},
		"a redirect":        {responds(307, "", strings.NewReader("")), message.FailureRequest, "acme: 307 Temporary Redirect: the server redirects; the base URL must be the final address", 0},
		"no stream":         {responds(200, "application/json", strings.NewReader(`{"id":1}`)), message.FailureProtocol, `acme: provider: the stream breaks the rules: the server sent application/json instead of a stream of events: "{\"id\":1}"`, 0},
		"no server":         {func(*http.Request) (*http.Response, error) { return nil, reset }, message.FailureNetwork, "acme: model.test: connection reset by peer", 0},
		"garbage":           {streams(part + "garbage " + canary + "\n\n"), message.FailureProtocol, `acme: provider: the stream breaks the rules: a line is no field of an event: "garbage [hidden]"`, 0},
		"cut by length":     {responds(200, "text/event-stream", io.MultiReader(strings.NewReader(part), iotest.ErrReader(io.ErrUnexpectedEOF))), message.FailureNetwork, "acme: provider: the stream ended without a finish", 0},
		"reset":             {responds(200, "text/event-stream", io.MultiReader(strings.NewReader(part), iotest.ErrReader(reset))), message.FailureNetwork, "acme: model.test: connection reset by peer", 0},
		"plain JSON":        {streams(part + google), message.FailureOverloaded, "acme: UNAVAILABLE: The model is overloaded.", 7500 * time.Millisecond},
		"a list of JSON":    {streams(part + "[" + google + "]"), message.FailureOverloaded, "acme: UNAVAILABLE: The model is overloaded.", 7500 * time.Millisecond},
		"plain JSON, other": {streams(part + `{"n":1}`), message.FailureProtocol, `acme: provider: the stream breaks the rules: a line is no field of an event: "{\"n\":1}"`, 0},
		"an endless event":  {streams(part + "data: " + strings.Repeat("x", 2000)), message.FailureTooLarge, "acme: an event is too long: Options.MaxEvent is 1000 bytes", 0},
		"an endless stream": {streams(strings.Repeat(part, 1000)), message.FailureTooLarge, "acme: the stream is too long: Options.MaxStream is 5000 bytes", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serverOf(t, tc.s, func(c *wire.Config) { c.Network.MaxEvent, c.Network.MaxStream = 1000, 5000 })
			got, err := ask(t.Context(), s)
			require.EqualError(t, err, tc.text)
			class, after := provider.Classify(err)
			assert.Equal(t, tc.class, class)
			assert.Equal(t, tc.after, after)
			assert.Empty(t, strings.ReplaceAll(got, data, ""), "nothing but whole events")
		})
	}
}

// sticks is a body that ends with its context only.
func sticks(text string) trip {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := streams("")(r)
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(text), waiting{r.Context()}))
		return resp, err
	}
}

type waiting struct{ ctx context.Context }

func (w waiting) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, w.ctx.Err()
}

func TestAStreamHasTimes(t *testing.T) {
	t.Parallel()
	times := func(c *wire.Config) {
		c.Network.FirstByteTimeout, c.Network.IdleTimeout = 3*time.Second, 2*time.Second
	}
	for name, tc := range map[string]struct {
		s    trip
		text string
		took time.Duration
	}{
		"no head": {func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
			"acme: the server did not answer in time (model.test): no answer began within 3s; ACME_FIRST_BYTE_TIMEOUT or Options.FirstByteTimeout changes that", 3 * time.Second},
		"silence": {sticks("data: {}\n\n"),
			"acme: the server did not answer in time (model.test): the answer paused for 2s; ACME_IDLE_TIMEOUT or Options.IdleTimeout changes that", 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, err := ask(t.Context(), serverOf(t, tc.s, times))
				assert.Equal(t, tc.took, time.Since(begin))
				require.EqualError(t, err, tc.text)
				require.ErrorIs(t, err, provider.ErrTimeout)
				class, _ := provider.Classify(err)
				assert.Equal(t, message.FailureTimeout, class)
			})
		})
	}
}

func TestTheEndOfTheContextIsTheError(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]trip{
		"before the head": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
		"in the stream":   sticks("data: {}\n\n"),
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := ask(ctx, serverOf(t, s, nil))
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.NotErrorIs(t, err, provider.ErrTimeout, name)
		})
	}
}
