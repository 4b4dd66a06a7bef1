package counterpart

import (
	"context"
	"errors"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// script is a model that gives its answers in order, and the last one for good. err ends an
// answer in place of a finish.
type script struct {
	answers [][]message.Chunk
	err     error
	asked   []message.ModelRequest
}

// Stream implements provider.Provider.
func (s *script) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	chunks := s.answers[min(len(s.asked), len(s.answers)-1)]
	s.asked = append(s.asked, req)
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		if s.err != nil {
			yield(message.Chunk{}, s.err)
		}
	}
}

func say(kind message.ChunkKind, index int, text string) message.Chunk {
	return message.Chunk{Kind: kind, Index: index, Text: text}
}

func directive(d strictwire.Directive) message.Chunk {
	return message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta("strictwire", d)}
}

func ends(f message.FinishReason) message.Chunk {
	return message.Chunk{Kind: message.ChunkFinish, Finish: f}
}

// scripted returns a model that gives this answer.
func scripted(chunks ...message.Chunk) *script { return &script{answers: [][]message.Chunk{chunks}} }

// twoCalls thinks, and calls a tool twice with the arguments streamed at the same time; then
// it ends.
func twoCalls() *script {
	start := func(i int) message.Chunk {
		return message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: "x", Tool: "read"}
	}
	return &script{answers: [][]message.Chunk{
		{
			say(message.ChunkReasoning, 0, "The user "), say(message.ChunkReasoning, 0, "wants two files."), directive(strictwire.Directive{Redacted: "secret"}), say(message.ChunkText, 0, "I look."),
			start(0), say(message.ChunkCallArgs, 0, `{"path"`), start(1), say(message.ChunkCallArgs, 1, `{"path":`), say(message.ChunkCallArgs, 0, `:"a"}`), say(message.ChunkCallArgs, 1, `"b"}`),
			say(message.ChunkCallEnd, 1, ""), say(message.ChunkCallEnd, 0, ""),
			{Kind: message.ChunkFinish, Finish: message.FinishTools, Usage: message.Usage{Input: 100, Output: 40, CacheRead: 60, CacheWrite: 30, Reasoning: 8}},
		},
		{say(message.ChunkReasoning, 0, "Both are there."), say(message.ChunkText, 0, "Done."), ends(message.FinishStop)},
	}}
}

func claudeParams(model string) sdk.MessageNewParams {
	return sdk.MessageNewParams{
		Model: model, MaxTokens: 4000,
		System:   []sdk.TextBlockParam{{Text: "Be brief.", CacheControl: sdk.CacheControlEphemeralParam{TTL: sdk.CacheControlEphemeralTTLTTL1h}}},
		Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Read both."))},
		Thinking: sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{}},
		Tools: []sdk.ToolUnionParam{{OfTool: &sdk.ToolParam{Name: "read", Description: sdk.String("reads a file"),
			InputSchema: sdk.ToolInputSchemaParam{Properties: map[string]any{"path": map[string]any{"type": "string"}}, Required: []string{"path"}}}}},
	}
}

// claudeTurn plays twoCalls: the second request replays reasoning and has both results.
func claudeTurn(t *testing.T, c sdk.Client, model string) (first, second sdk.Message) {
	t.Helper()
	params := claudeParams(model)
	first, err := stream(t.Context(), c, params)
	require.NoError(t, err)
	var results []sdk.ContentBlockParamUnion
	for _, b := range first.Content {
		if b.Type == "tool_use" {
			results = append(results, sdk.NewToolResultBlock(b.ID, "text of it", len(results) == 1))
		}
	}
	params.Messages = append(params.Messages, first.ToParam(), sdk.NewUserMessage(results...))
	second, err = stream(t.Context(), c, params)
	require.NoError(t, err)
	return first, second
}

func TestTheSDKTalksToTheStrictServer(t *testing.T) {
	t.Parallel()
	model := twoCalls()
	h := strictwire.New(strictwire.Messages(), model, nil)
	first, second := claudeTurn(t, theirs("http://strict.test", h.Client()), "claude-sonnet-4-6")

	var kinds []string
	for _, b := range first.Content {
		kinds = append(kinds, b.Type)
	}
	assert.Equal(t, []string{"thinking", "redacted_thinking", "text", "tool_use", "tool_use"}, kinds)
	assert.Equal(t, "The user wants two files.", first.Content[0].Thinking)
	assert.NotEmpty(t, first.Content[0].Signature)
	assert.Equal(t, "I look.", first.Content[2].Text)
	assert.JSONEq(t, `{"path":"a"}`, string(first.Content[3].Input))
	assert.JSONEq(t, `{"path":"b"}`, string(first.Content[4].Input))
	assert.NotEqual(t, first.Content[3].ID, first.Content[4].ID)
	assert.Equal(t, sdk.StopReasonToolUse, first.StopReason)
	assert.Equal(t, []int64{10, 60, 30, 40}, []int64{first.Usage.InputTokens, first.Usage.CacheReadInputTokens, first.Usage.CacheCreationInputTokens, first.Usage.OutputTokens})
	assert.Equal(t, "Done.", second.Content[1].Text)
	assert.Equal(t, sdk.StopReasonEndTurn, second.StopReason)

	assert.Empty(t, h.Rejections())
	got := model.asked[1]
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

func TestTheSDKReadsTheEndings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		chunks []message.Chunk
		want   sdk.StopReason
	}{
		{"refusal", []message.Chunk{directive(strictwire.Directive{Refusal: "cyber"}), ends(message.FinishFilter)}, sdk.StopReasonRefusal},
		{"max tokens", []message.Chunk{say(message.ChunkText, 0, "a"), ends(message.FinishLength)}, sdk.StopReasonMaxTokens},
		{"pause", []message.Chunk{say(message.ChunkText, 0, "a"), ends(message.FinishPause)}, sdk.StopReasonPauseTurn},
		{"window", []message.Chunk{say(message.ChunkText, 0, "a"), directive(strictwire.Directive{Stop: "model_context_window_exceeded"}), ends(message.FinishLength)}, sdk.StopReasonModelContextWindowExceeded},
	} {
		h := strictwire.New(strictwire.Messages(), scripted(tc.chunks...), nil)
		c := theirs("http://strict.test", h.Client())
		params := claudeParams("claude-opus-5-5")
		got, err := stream(t.Context(), c, params)
		require.NoError(t, err, tc.name)
		assert.Equal(t, tc.want, got.StopReason)
		if tc.name == "refusal" {
			assert.Equal(t, sdk.RefusalStopDetailsCategory("cyber"), got.StopDetails.Category)
		}
		if len(got.Content) == 0 {
			continue
		}
		// What was paused goes back as it is; anything else is begun for the model.
		params.Messages = append(params.Messages, got.ToParam())
		_, err = stream(t.Context(), c, params)
		assert.Equal(t, tc.name == "pause", err == nil, "%s: %v", tc.name, err)
	}
}

func TestTheSDKReadsTheErrors(t *testing.T) {
	t.Parallel()
	asks := func(s *script, change func(*sdk.MessageNewParams)) (sdk.Message, *sdk.Error) {
		h := strictwire.New(strictwire.Messages(), s, nil)
		params := claudeParams("claude-sonnet-4-6")
		if change != nil {
			change(&params)
		}
		got, err := stream(t.Context(), theirs("http://strict.test", h.Client()), params)
		var e *sdk.Error
		require.ErrorAs(t, err, &e)
		return got, e
	}
	failing := func(class message.FailureClass, why string, chunks ...message.Chunk) *script {
		return &script{answers: [][]message.Chunk{chunks}, err: &provider.Error{Class: class, RetryAfter: 7 * time.Second, Err: errors.New(why)}}
	}
	_, e := asks(scripted(), func(p *sdk.MessageNewParams) { p.ToolChoice.OfTool = &sdk.ToolChoiceToolParam{Name: "write"} })
	assert.Equal(t, []any{400, "invalid_request_error", "tool_choice: Tool 'write' not found in provided tools"}, []any{e.StatusCode, string(e.Type()), e.Message})

	_, e = asks(failing(message.FailureRateLimit, "slow down"), nil)
	assert.Equal(t, []any{429, "rate_limit_error", "slow down", "7"}, []any{e.StatusCode, string(e.Type()), e.Message, e.Response.Header.Get("Retry-After")})

	got, e := asks(failing(message.FailureOverloaded, "Overloaded", say(message.ChunkText, 0, "half an ans")), nil)
	assert.Equal(t, []any{"overloaded_error", "Overloaded"}, []any{string(e.Type()), e.Message}, "an error in a stream that has begun with 200")
	assert.Equal(t, "half an ans", got.Content[0].Text)

	h := strictwire.New(strictwire.Messages(), failing(message.FailureNetwork, "reset", say(message.ChunkText, 0, "half")), nil)
	_, err := stream(t.Context(), theirs("http://strict.test", h.Client()), claudeParams("claude-sonnet-4-6"))
	require.Error(t, err, "a stream that is cut")
}
