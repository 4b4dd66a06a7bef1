package counterpart

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// answers is a model that gives its answers in order; err ends one in place of a finish.
type answers struct {
	chunks [][]message.Chunk
	err    error
	asked  []message.ModelRequest
}

// Stream implements provider.Provider.
func (a *answers) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	chunks := a.chunks[len(a.asked)]
	a.asked = append(a.asked, req)
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		if a.err != nil {
			yield(message.Chunk{}, a.err)
		}
	}
}

func say(kind message.ChunkKind, index int, text string) message.Chunk {
	return message.Chunk{Kind: kind, Index: index, Text: text}
}

func ends(f message.FinishReason, u message.Usage) message.Chunk {
	return message.Chunk{Kind: message.ChunkFinish, Finish: f, Usage: u}
}

// twoCalls thinks, speaks, and calls a tool twice with the arguments streamed at the same
// time; then it ends.
func twoCalls() *answers {
	start := func(i int) message.Chunk {
		return message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: "x", Tool: "read"}
	}
	return &answers{chunks: [][]message.Chunk{
		{
			say(message.ChunkReasoning, 0, "Two files."), say(message.ChunkText, 0, "I "), say(message.ChunkText, 0, "look."),
			start(0), say(message.ChunkCallArgs, 0, `{"path"`), start(1), say(message.ChunkCallArgs, 1, `{"path":`), say(message.ChunkCallArgs, 0, `:"a"}`), say(message.ChunkCallArgs, 1, `"b"}`),
			say(message.ChunkCallEnd, 1, ""), say(message.ChunkCallEnd, 0, ""), ends(message.FinishTools, message.Usage{Input: 100, Output: 40, CacheRead: 60, CacheWrite: 30, Reasoning: 8}),
		},
		{say(message.ChunkText, 0, "Done."), ends(message.FinishStop, message.Usage{})},
	}}
}

// strict is the SDK's client of a strict server.
func strict(h *strictwire.Handler) sdk.Client {
	return sdk.NewClient(option.WithBaseURL("http://strict.test/v1/"), option.WithAPIKey(key), option.WithHTTPClient(h.Client()), option.WithMaxRetries(0))
}

func parameters() map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}, "required": []string{"path"}, "additionalProperties": false}
}

func respondParams() responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "gpt-5.6", Instructions: sdk.String("Be brief."), Store: sdk.Bool(false),
		Include:   []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Reasoning: shared.ReasoningParam{Effort: shared.ReasoningEffortLow, Summary: shared.ReasoningSummaryAuto},
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("Read both.", responses.EasyInputMessageRoleUser)}},
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "read", Parameters: parameters(), Strict: sdk.Bool(true)}}},
	}
}

// respond streams a response and returns the one that its last event holds.
func respond(ctx context.Context, c sdk.Client, params responses.ResponseNewParams) (last responses.Response, kinds []string, err error) {
	s := c.Responses.NewStreaming(ctx, params)
	for s.Next() {
		e := s.Current()
		kinds = append(kinds, e.Type)
		if e.Type == "response.completed" || e.Type == "response.incomplete" || e.Type == "response.failed" {
			last = e.Response
		}
	}
	return last, kinds, errors.Join(s.Err(), s.Close())
}

// The SDK holds a conversation over Responses with the strict server: reasoning goes back
// with its encrypted content, followed by its own item, and each call has its output.
func TestTheSDKTalksToResponses(t *testing.T) {
	t.Parallel()
	model := twoCalls()
	h := strictwire.New(strictwire.Responses(), model, nil)
	c, params := strict(h), respondParams()
	first, kinds, err := respond(t.Context(), c, params)
	require.NoError(t, err)
	assert.Contains(t, kinds, "response.reasoning_summary_text.delta")
	assert.Contains(t, kinds, "response.function_call_arguments.delta")
	require.Len(t, first.Output, 4)
	assert.Equal(t, "Two files.", first.Output[0].Summary[0].Text)
	assert.NotEmpty(t, first.Output[0].EncryptedContent)
	assert.Equal(t, "I look.", first.Output[1].Content[0].Text)
	assert.Equal(t, responses.ResponseOutputMessagePhase("commentary"), first.Output[1].Phase)
	assert.Equal(t, []string{`{"path":"a"}`, `{"path":"b"}`}, []string{first.Output[2].Arguments.OfString, first.Output[3].Arguments.OfString})
	u := first.Usage
	assert.Equal(t, []int64{100, 60, 30, 40, 8, 140}, []int64{u.InputTokens, u.InputTokensDetails.CachedTokens, u.InputTokensDetails.CacheWriteTokens,
		u.OutputTokens, u.OutputTokensDetails.ReasoningTokens, u.TotalTokens})

	input := params.Input.OfInputItemList
	for _, item := range first.Output {
		input = append(input, asInput(t, item))
	}
	for _, item := range first.Output[2:] {
		input = append(input, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
			CallID: sdk.String(item.CallID), Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: sdk.String("text")}}})
	}
	params.Input.OfInputItemList = input
	second, _, err := respond(t.Context(), c, params)
	require.NoError(t, err)
	assert.Equal(t, "Done.", second.OutputText())
	assert.Empty(t, h.Rejections())
	assert.True(t, h.Requests()[1].Prefix.Stable())
	require.Len(t, model.asked, 2)
	assert.Equal(t, "Be brief.", model.asked[1].System)
	require.Equal(t, 4, model.asked[1].Messages.Len())
	assert.Equal(t, 4, model.asked[1].Messages.At(1).Content.Len(), "the items of one answer are one message")

	params.Input.OfInputItemList = append(input[:1:1], input[2:]...) // without the reasoning
	_, _, err = respond(t.Context(), c, params)
	var e *sdk.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, []any{400, "invalid_request_error", "input"}, []any{e.StatusCode, e.Type, e.Param})
	assert.Contains(t, e.Message, "was provided without its required 'reasoning' item")
}

// asInput returns an item of an answer as one of a request.
func asInput(t *testing.T, item responses.ResponseOutputItemUnion) responses.ResponseInputItemUnionParam {
	t.Helper()
	var out responses.ResponseInputItemUnionParam
	require.NoError(t, json.Unmarshal([]byte(item.RawJSON()), &out))
	return out
}

func TestTheSDKReadsTheEndingsOfResponses(t *testing.T) {
	t.Parallel()
	asks := func(a *answers) (responses.Response, []string, error) {
		return respond(t.Context(), strict(strictwire.New(strictwire.Responses(), a, nil)), respondParams())
	}
	one := func(chunks ...message.Chunk) *answers { return &answers{chunks: [][]message.Chunk{chunks}} }
	r, _, err := asks(one(say(message.ChunkText, 0, "a"), ends(message.FinishLength, message.Usage{})))
	require.NoError(t, err)
	assert.Equal(t, []string{"incomplete", "max_output_tokens"}, []string{string(r.Status), string(r.IncompleteDetails.Reason)})
	r, _, err = asks(one(ends(message.FinishFilter, message.Usage{})))
	require.NoError(t, err)
	assert.Equal(t, "content_filter", string(r.IncompleteDetails.Reason))
	refusal := message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta("strictwire", strictwire.Directive{Refusal: "I can't."})}
	r, _, err = asks(one(refusal, ends(message.FinishFilter, message.Usage{})))
	require.NoError(t, err)
	assert.Equal(t, []string{"completed", "refusal", "I can't."}, []string{string(r.Status), r.Output[0].Content[0].Type, r.Output[0].Content[0].Refusal})

	broken := one(say(message.ChunkText, 0, "a"))
	broken.err = &provider.Error{Class: message.FailureServer, Err: errors.New("boom")}
	r, _, err = asks(broken)
	require.NoError(t, err)
	assert.Equal(t, []string{"failed", "server_error", "boom"}, []string{string(r.Status), string(r.Error.Code), r.Error.Message})

	busy := one(say(message.ChunkText, 0, "a"))
	busy.err = &provider.Error{Class: message.FailureRateLimit, Err: errors.New("slow down")}
	_, kinds, err := asks(busy)
	require.NoError(t, err, "the SDK takes the event error for one like others")
	assert.Equal(t, "error", kinds[len(kinds)-1])
}

func chatParams(model string) sdk.ChatCompletionNewParams {
	return sdk.ChatCompletionNewParams{
		Model: model, Messages: []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage("Be brief."), sdk.UserMessage("Read both.")},
		Tools:         []sdk.ChatCompletionToolUnionParam{sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "read", Parameters: parameters()})},
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
}

func TestTheSDKTalksToChat(t *testing.T) {
	t.Parallel()
	model := twoCalls()
	h := strictwire.New(strictwire.Chat(), model, nil)
	c, params := strict(h), chatParams("gpt-5.2")
	acc, err := stream(t.Context(), c, params)
	require.NoError(t, err)
	said := acc.Choices[0].Message
	assert.Equal(t, []string{"I look.", "tool_calls"}, []string{said.Content, acc.Choices[0].FinishReason})
	require.Len(t, said.ToolCalls, 2)
	assert.Equal(t, []string{`{"path":"a"}`, `{"path":"b"}`}, []string{said.ToolCalls[0].Function.Arguments, said.ToolCalls[1].Function.Arguments})
	u := acc.Usage
	assert.Equal(t, []int64{100, 60, 40, 8}, []int64{u.PromptTokens, u.PromptTokensDetails.CachedTokens, u.CompletionTokens, u.CompletionTokensDetails.ReasoningTokens})
	params.Messages = append(params.Messages, said.ToParam(), sdk.ToolMessage("a", said.ToolCalls[0].ID), sdk.ToolMessage("b", said.ToolCalls[1].ID))
	acc, err = stream(t.Context(), c, params)
	require.NoError(t, err)
	assert.Equal(t, "Done.", acc.Choices[0].Message.Content)
	assert.Empty(t, h.Rejections())
	assert.True(t, h.Requests()[1].Prefix.Stable())
	assert.Equal(t, "read", model.asked[1].Messages.At(2).Tool)
}

func TestTheSDKReadsTheErrorsOfChat(t *testing.T) {
	t.Parallel()
	_, err := stream(t.Context(), strict(strictwire.New(strictwire.Chat(), twoCalls(), nil)), chatParams("gpt-5.6"))
	var e *sdk.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, []any{400, "invalid_request_error", "reasoning_effort"}, []any{e.StatusCode, e.Type, e.Param})
	assert.Contains(t, e.Message, "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions.")

	limited := &answers{chunks: [][]message.Chunk{nil}, err: &provider.Error{Class: message.FailureRateLimit, RetryAfter: 7 * time.Second, Err: errors.New("slow down")}}
	_, err = stream(t.Context(), strict(strictwire.New(strictwire.Chat(), limited, nil)), chatParams("gpt-5.2"))
	require.ErrorAs(t, err, &e)
	assert.Equal(t, []any{429, "rate_limit_exceeded", "slow down", "7"}, []any{e.StatusCode, e.Code, e.Message, e.Response.Header.Get("Retry-After")})

	late := &answers{chunks: [][]message.Chunk{{say(message.ChunkText, 0, "half")}}, err: &provider.Error{Class: message.FailureServer, Err: errors.New("boom")}}
	acc, err := stream(t.Context(), strict(strictwire.New(strictwire.Chat(), late, nil)), chatParams("gpt-5.2"))
	require.ErrorContains(t, err, "boom")
	assert.Equal(t, "half", acc.Choices[0].Message.Content)
}
