package openai_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

func TestClassesOfRefusals(t *testing.T) {
	t.Parallel()
	const key = `{"error":{"message":"no","type":"invalid_request_error","code":"invalid_api_key"}}`
	for _, tc := range []struct {
		name   string
		status int
		body   string
		want   message.FailureClass
	}{
		{"too many", 429, `{"error":{"type":"requests","code":"rate_limit_exceeded"}}`, message.FailureRateLimit},
		{"too many, said by the status", 429, ``, message.FailureRateLimit},
		{"no money left is no reason to wait", 429, `{"error":{"code":"insufficient_quota"}}`, message.FailureAuth},
		{"busy", 503, ``, message.FailureOverloaded},
		{"busy, as one vendor says it", 529, `{"error":{"type":"overloaded_error"}}`, message.FailureOverloaded},
		{"failed", 500, `{"error":{"message":"boom","type":"server_error"}}`, message.FailureServer},
		{"failed behind a gateway", 502, `<html>`, message.FailureServer},
		{"late behind a gateway", 504, ``, message.FailureTimeout},
		{"too long", 400, `{"error":{"message":"no","type":"invalid_request_error","code":"context_length_exceeded"}}`, message.FailureContext},
		{"too long, in words", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens","type":"BadRequestError","code":400}}`, message.FailureContext},
		{"too large", 413, ``, message.FailureContext},
		{"too many tokens a minute is not too long", 413, `{"error":{"code":"rate_limit_exceeded"}}`, message.FailureRateLimit},
		{"a wrong key", 401, key, message.FailureAuth},
		{"a wrong key, said by the status", 401, `{"error":{"type":"invalid_request_error"}}`, message.FailureAuth},
		{"no right", 403, ``, message.FailureAuth},
		{"no such model", 404, `{"error":{"code":"model_not_found"}}`, message.FailureRequest},
		{"refused", 400, `{"error":{"type":"invalid_request_error"}}`, message.FailureRequest},
		{"elsewhere", 307, ``, message.FailureRequest},
		{"within a stream: a code that is a status", 200, `{"error":{"code":503,"message":"x"}}`, message.FailureOverloaded},
		{"within a stream: a word", 200, `{"error":{"type":"overloaded_error","message":"x"}}`, message.FailureOverloaded},
		{"within a stream: a wrong request", 200, `{"error":{"type":"invalid_request_error","message":"x"}}`, message.FailureRequest},
		{"within a stream: no word", 200, `{"error":{"message":"x"}}`, message.FailureServer},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := provider.Collect(asks(responds(tc.status, "application/json", tc.body, "Retry-After", "7"), nil).Stream(t.Context(), hello()))
			var e *provider.ServerError
			require.ErrorAs(t, err, &e)
			class, after := provider.Classify(err)
			assert.Equal(t, tc.want, class)
			if tc.status != http.StatusOK { // there it came too late for a header
				assert.Equal(t, 7*time.Second, after)
			}
		})
	}
}

func TestClassesOfWhatNoServerSays(t *testing.T) {
	t.Parallel()
	classOf := func(p *openai.Provider) message.FailureClass {
		_, err := provider.Collect(p.Stream(t.Context(), hello()))
		require.Error(t, err)
		class, _ := provider.Classify(err)
		return class
	}
	event := func(parts ...string) *openai.Provider {
		p, _, _ := listens(t, func(w http.ResponseWriter, _ *http.Request) { streams(w, parts...) })
		return p
	}
	closes, _, _ := listens(t, func(w http.ResponseWriter, _ *http.Request) {
		streams(w, says("h"))
		panic(http.ErrAbortHandler)
	})
	assert.Equal(t, message.FailureNetwork, classOf(event(says("h"))), "the end without a finish")
	assert.Equal(t, message.FailureNetwork, classOf(closes), "a connection that breaks")
	assert.Equal(t, message.FailureProtocol, classOf(event("data: nonsense\n\n")), "no part of an answer")
	assert.Equal(t, message.FailureNetwork, classOf(openai.New(&openai.Options{BaseURL: "http://127.0.0.1:1/v1"})), "nobody is there")
	assert.Equal(t, message.FailureRequest, classOf(openai.New(&openai.Options{BaseURL: "nowhere"})), "wrong options")
}
