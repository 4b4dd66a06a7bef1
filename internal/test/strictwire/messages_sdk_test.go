package strictwire_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	anthropic "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// claude is the vendor's SDK as a client of the handler.
func claude(baseURL string, hc *http.Client) anthropic.Client {
	return anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithMaxRetries(0), option.WithAPIKey("k"), option.WithBaseURL(baseURL), option.WithHTTPClient(hc))
}

func claudeParams(model string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: model, MaxTokens: 4000,
		System:   []anthropic.TextBlockParam{{Text: "Be brief.", CacheControl: anthropic.CacheControlEphemeralParam{TTL: anthropic.CacheControlEphemeralTTLTTL1h}}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Read both."))},
		Thinking: anthropic.ThinkingConfigParamUnion{OfAdaptive: &anthropic.ThinkingConfigAdaptiveParam{}},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "read", Description: anthropic.String("reads a file"),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"path": map[string]any{"type": "string"}}, Required: []string{"path"}}}}},
	}
}

// claudeAsks streams an answer and puts it together with the SDK's accumulator.
func claudeAsks(t *testing.T, c anthropic.Client, params anthropic.MessageNewParams) (anthropic.Message, []string, error) {
	t.Helper()
	var acc anthropic.Message
	var events []string
	s := c.Messages.NewStreaming(t.Context(), params)
	for s.Next() {
		events = append(events, s.Current().Type)
		require.NoError(t, acc.Accumulate(s.Current()))
	}
	return acc, events, errors.Join(s.Err(), s.Close())
}

// claudeTurn plays thinkingTurn: the second request replays reasoning and has both results.
func claudeTurn(t *testing.T, c anthropic.Client, model string) (first, second anthropic.Message) {
	t.Helper()
	params := claudeParams(model)
	first, _, err := claudeAsks(t, c, params)
	require.NoError(t, err)
	var results []anthropic.ContentBlockParamUnion
	for _, b := range first.Content {
		if b.Type == "tool_use" {
			results = append(results, anthropic.NewToolResultBlock(b.ID, "text of it", len(results) == 1))
		}
	}
	params.Messages = append(params.Messages, first.ToParam(), anthropic.NewUserMessage(results...))
	second, _, err = claudeAsks(t, c, params)
	require.NoError(t, err)
	return first, second
}

func TestTheVendorsSDKTalksToMessages(t *testing.T) {
	t.Parallel()
	model := thinkingTurn(directive(strictwire.Directive{Redacted: "secret"})...)
	h := strictwire.New(strictwire.Messages(), model, nil)
	srv := serve(t, h)
	first, second := claudeTurn(t, claude(srv.URL, srv.Client()), "claude-sonnet-4-6")

	var kinds []string
	for _, b := range first.Content {
		kinds = append(kinds, b.Type)
	}
	assert.Equal(t, []string{"thinking", "redacted_thinking", "text", "tool_use", "tool_use"}, kinds)
	assert.Equal(t, "The user wants two files.", first.Content[0].Thinking)
	assert.NotEmpty(t, first.Content[0].Signature)
	assert.Equal(t, "I look.", first.Content[2].Text)
	assert.JSONEq(t, pathA, string(first.Content[3].Input))
	assert.JSONEq(t, pathB, string(first.Content[4].Input))
	assert.NotEqual(t, first.Content[3].ID, first.Content[4].ID)
	assert.Equal(t, anthropic.StopReasonToolUse, first.StopReason)
	assert.Equal(t, []int64{10, 60, 30, 40}, []int64{first.Usage.InputTokens, first.Usage.CacheReadInputTokens, first.Usage.CacheCreationInputTokens, first.Usage.OutputTokens})
	assert.Equal(t, "Done.", second.Content[1].Text)
	assert.Equal(t, anthropic.StopReasonEndTurn, second.StopReason)

	assert.Empty(t, h.Rejections())
	got := model.last()
	assert.Equal(t, "claude-sonnet-4-6", got.Model.Name)
	assert.Equal(t, "Be brief.", got.System)
	require.Equal(t, 4, got.Messages.Len())
	assert.Equal(t, "text of it", got.Messages.At(2).Result.Text())
	assert.True(t, got.Messages.At(3).Result.IsError())
	assert.Equal(t, "read", got.Messages.At(3).Tool)
	assert.Equal(t, first.Content[4].ID, got.Messages.At(3).CallID)
	assert.Equal(t, 1, got.Tools.Tools().Len())
	prefix := h.Requests()[1].Prefix
	assert.True(t, prefix.Stable())
	assert.Equal(t, []int{1, 1}, []int{prefix.Kept, prefix.Before})
	assert.Positive(t, second.Usage.CacheReadInputTokens, "the server keeps a cache by the breakpoints")
}

func TestTheEventsOfMessages(t *testing.T) {
	t.Parallel()
	h := strictwire.New(strictwire.Messages(), scripted(joined(texts("a", "b"), finish(message.FinishStop, message.Usage{}))), nil)
	_, events, err := claudeAsks(t, claude("http://strict.test", h.Client()), claudeParams("claude-sonnet-4-6"))
	require.NoError(t, err)
	assert.Equal(t, []string{"message_start", "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}, events, "the SDK leaves out pings")
	status, body := send(t, h, "/v1/messages", h.Requests()[0].Body, nil)
	assert.Equal(t, 200, status)
	assert.Contains(t, body, "event: ping\ndata: {\"type\":\"ping\"}\n\n")
}

func TestTheEndingsOfMessages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		chunks []message.Chunk
		want   anthropic.StopReason
	}{
		{"refusal", joined(directive(strictwire.Directive{Refusal: "cyber"}), finish(message.FinishFilter, message.Usage{})), anthropic.StopReasonRefusal},
		{"max tokens", joined(texts("a"), finish(message.FinishLength, message.Usage{})), anthropic.StopReasonMaxTokens},
		{"pause", joined(texts("a"), finish(message.FinishPause, message.Usage{})), anthropic.StopReasonPauseTurn},
		{"window", joined(texts("a"), directive(strictwire.Directive{Stop: "model_context_window_exceeded"}), finish(message.FinishLength, message.Usage{})), anthropic.StopReasonModelContextWindowExceeded},
	} {
		h := strictwire.New(strictwire.Messages(), scripted(tc.chunks), nil)
		c := claude("http://strict.test", h.Client())
		params := claudeParams("claude-opus-5-5")
		got, _, err := claudeAsks(t, c, params)
		require.NoError(t, err, tc.name)
		assert.Equal(t, tc.want, got.StopReason)
		if tc.name == "refusal" {
			assert.Equal(t, anthropic.RefusalStopDetailsCategory("cyber"), got.StopDetails.Category)
		}
		if len(got.Content) == 0 {
			continue
		}
		// What was paused goes back as it is; anything else is begun for the model.
		params.Messages = append(params.Messages, got.ToParam())
		_, _, err = claudeAsks(t, c, params)
		assert.Equal(t, tc.name == "pause", err == nil, "%s: %v", tc.name, err)
	}
}

func TestTheVendorsSDKReadsTheErrorsOfMessages(t *testing.T) {
	t.Parallel()
	asks := func(s *script, change func(*anthropic.MessageNewParams)) (anthropic.Message, *anthropic.Error) {
		h := strictwire.New(strictwire.Messages(), s, nil)
		params := claudeParams("claude-sonnet-4-6")
		if change != nil {
			change(&params)
		}
		got, _, err := claudeAsks(t, claude("http://strict.test", h.Client()), params)
		var e *anthropic.Error
		require.ErrorAs(t, err, &e)
		return got, e
	}
	_, e := asks(scripted(nil), func(p *anthropic.MessageNewParams) {
		p.ToolChoice.OfTool = &anthropic.ToolChoiceToolParam{Name: "write"}
	})
	assert.Equal(t, []any{400, "invalid_request_error", "tool_choice: Tool 'write' not found in provided tools"}, []any{e.StatusCode, string(e.Type()), e.Message})

	busy := &script{answers: [][]message.Chunk{nil}, err: &provider.Error{Class: message.FailureRateLimit, RetryAfter: 7 * time.Second, Err: errors.New("slow down")}}
	_, e = asks(busy, nil)
	assert.Equal(t, []any{429, "rate_limit_error", "slow down", "7"}, []any{e.StatusCode, string(e.Type()), e.Message, e.Response.Header.Get("Retry-After")})

	late := &script{answers: [][]message.Chunk{texts("half an ans")}, err: &provider.Error{Class: message.FailureOverloaded, Err: errors.New("Overloaded")}}
	got, e := asks(late, nil)
	assert.Equal(t, []any{"overloaded_error", "Overloaded"}, []any{string(e.Type()), e.Message}, "an error in a stream that has begun with 200")
	assert.Equal(t, "half an ans", got.Content[0].Text)

	cut := &script{answers: [][]message.Chunk{texts("half")}, err: &provider.Error{Class: message.FailureNetwork, Err: errors.New("reset")}}
	h := strictwire.New(strictwire.Messages(), cut, nil)
	srv := serve(t, h)
	_, _, err := claudeAsks(t, claude(srv.URL, srv.Client()), claudeParams("claude-sonnet-4-6"))
	require.Error(t, err, "a stream that is cut")
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(h.Requests()[0].Body), &body))
}
