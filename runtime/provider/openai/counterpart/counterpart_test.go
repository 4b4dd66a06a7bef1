package counterpart

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

const key = "sk-counterpart"

// wire is a server that answers with composed streams, one for each request, and
// keeps the requests.
type wire struct {
	*httptest.Server
	mu      sync.Mutex
	answers []string
	bodies  []string
}

func serve(t *testing.T, answers ...string) *wire {
	w := &wire{answers: answers}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, "/v1/chat/completions", r.URL.Path)
		assert.Equal(t, "Bearer "+key, r.Header.Get("Authorization"))
		w.mu.Lock()
		defer w.mu.Unlock()
		rw.Header().Set("Content-Type", "text/event-stream")
		_, err = io.WriteString(rw, w.answers[len(w.bodies)])
		assert.NoError(t, err)
		w.bodies = append(w.bodies, string(body))
	}))
	t.Cleanup(w.Close)
	return w
}

// theirs is the SDK's client of the server, ours the provider.
func (w *wire) theirs() sdk.Client {
	return sdk.NewClient(option.WithBaseURL(w.URL+"/v1/"), option.WithAPIKey(key), option.WithHTTPClient(w.Client()), option.WithMaxRetries(0))
}

func (w *wire) ours() *openai.Provider {
	return openai.New(&openai.Options{BaseURL: w.URL + "/v1", APIKey: key, Network: provider.Network{Client: w.Client()}})
}

func composed(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "composed", name))
	require.NoError(t, err)
	return string(data)
}

// stream asks with the SDK and puts the chunks together with its accumulator.
func stream(ctx context.Context, c sdk.Client, params sdk.ChatCompletionNewParams) (sdk.ChatCompletionAccumulator, error) {
	var acc sdk.ChatCompletionAccumulator
	s := c.Chat.Completions.NewStreaming(ctx, params)
	for s.Next() {
		if !acc.AddChunk(s.Current()) {
			return acc, errors.New("the accumulator does not take a chunk: " + s.Current().RawJSON())
		}
	}
	return acc, errors.Join(s.Err(), s.Close())
}

// What the SDK reads in a composed stream is what the provider reads in it.
func TestBothReadTheSame(t *testing.T) {
	t.Parallel()
	// vLLM says stop, although it calls tools.
	for name, finish := range map[string]string{"openai.sse": "tool_calls", "vllm.sse": "stop", "llamacpp.sse": "tool_calls"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serve(t, composed(t, name), composed(t, name))
			acc, err := stream(t.Context(), w.theirs(), sdk.ChatCompletionNewParams{
				Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("hello")}})
			require.NoError(t, err)
			reply, err := provider.Collect(w.ours().Stream(t.Context(), message.ModelRequest{Model: message.Model{Name: "m"}, Messages: message.MessagesOf(message.UserText("hello"))}))
			require.NoError(t, err)

			require.Len(t, acc.Choices, 1)
			theirs := acc.Choices[0].Message
			assert.Equal(t, theirs.Content, reply.Text())
			assert.Equal(t, message.FinishTools, reply.Finish)
			assert.Equal(t, finish, acc.Choices[0].FinishReason)
			var want, got []string
			for _, c := range theirs.ToolCalls {
				want = append(want, c.Function.Name+" "+c.Function.Arguments)
			}
			for _, b := range reply.Content.All() {
				if b.Kind == message.BlockToolCall {
					got = append(got, b.Tool+" "+string(b.JSON))
				}
			}
			assert.Len(t, got, 2)
			assert.Equal(t, want, got)
			assert.Equal(t, [4]int64{acc.Usage.PromptTokens, acc.Usage.CompletionTokens,
				acc.Usage.PromptTokensDetails.CachedTokens, acc.Usage.CompletionTokensDetails.ReasoningTokens},
				[4]int64{int64(reply.Usage.Input), int64(reply.Usage.Output), int64(reply.Usage.CacheRead), int64(reply.Usage.Reasoning)})
		})
	}
}

const schema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`

// A turn of two steps, with two calls and their results, is sent by the provider
// as the SDK sends it.
func TestBothSendTheSame(t *testing.T) {
	t.Parallel()
	w := serve(t, composed(t, "openai.sse"), composed(t, "openai.sse"), composed(t, "openai.sse"), composed(t, "openai.sse"))

	params := sdk.ChatCompletionNewParams{
		Model:    "gpt-5",
		Messages: []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage("Be brief."), sdk.UserMessage(`Read "both" & more`)},
		Tools: []sdk.ChatCompletionToolUnionParam{sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "read", Description: sdk.String("Reads a <file>."), Parameters: shared.FunctionParameters{
				"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}},
				"required": []string{"path"}, "additionalProperties": false,
			}})},
		ToolChoice:    sdk.ToolChoiceOptionFunctionToolChoice(sdk.ChatCompletionNamedToolChoiceFunctionParam{Name: "read"}),
		MaxTokens:     sdk.Int(1000),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	acc, err := stream(t.Context(), w.theirs(), params)
	require.NoError(t, err)
	params.Messages = append(params.Messages, acc.Choices[0].Message.ToParam(),
		sdk.ToolMessage("text of a", "call_Ab1"), sdk.ToolMessage("b.txt does not exist", "call_Cd2"))
	_, err = stream(t.Context(), w.theirs(), params)
	require.NoError(t, err)

	req := message.ModelRequest{
		Model:  message.Model{Name: "gpt-5", Choice: message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "read"}, MaxTokens: 1000},
		System: "Be brief.", Messages: message.MessagesOf(message.UserText(`Read "both" & more`)),
		Tools: message.NewToolSet([]message.Tool{{Name: "read", Description: "Reads a <file>.", Input: schema}}),
	}
	reply, err := provider.Collect(w.ours().Stream(t.Context(), req))
	require.NoError(t, err)
	req.Messages = req.Messages.Append(
		message.Message{Role: message.RoleAssistant, Content: reply.Content},
		message.Message{Role: message.RoleTool, CallID: "call_Ab1", Tool: "read", Result: message.TextResult("text of a")},
		message.Message{Role: message.RoleTool, CallID: "call_Cd2", Tool: "read", Result: message.FailedResult(message.FailNotFound, "b.txt does not exist")})
	_, err = provider.Collect(w.ours().Stream(t.Context(), req))
	require.NoError(t, err)

	require.Len(t, w.bodies, 4)
	assert.JSONEq(t, w.bodies[0], w.bodies[2])
	assert.JSONEq(t, w.bodies[1], w.bodies[3])
}

// The SDK's types know every member that the provider sends: nothing is lost when
// a request goes through them.
func TestTheSDKKnowsEveryMember(t *testing.T) {
	t.Parallel()
	user := message.Message{Role: message.RoleUser, Content: message.ListOf(message.TextBlock("What is it?"),
		message.Block{Kind: message.BlockImage, MIME: "image/gif", Data: "R0lG"})}
	w := serve(t, composed(t, "openai.sse"))
	p := openai.New(&openai.Options{BaseURL: w.URL + "/v1", APIKey: key, Network: provider.Network{Client: w.Client()},
		MaxTokensKey: "max_completion_tokens", Extra: `{"temperature":0,"reasoning_effort":"low"}`})
	_, err := provider.Collect(p.Stream(t.Context(), message.ModelRequest{
		Model: message.Model{
			Name: "gpt-5", MaxTokens: 100, Format: message.ResponseFormat{JSON: true, Name: "answer", Schema: schema},
			Choice: message.ToolChoice{Mode: message.ToolChoiceRequired}, // the SDK cannot read a named one back
		},
		System: "Be brief.", Messages: message.MessagesOf(user),
		Tools: message.NewToolSet([]message.Tool{{Name: "read", Input: schema}}),
	}))
	require.NoError(t, err)
	var params sdk.ChatCompletionNewParams
	require.NoError(t, params.UnmarshalJSON([]byte(w.bodies[0])))
	again := serve(t, composed(t, "openai.sse"))
	_, err = stream(t.Context(), again.theirs(), params)
	require.NoError(t, err)
	assert.JSONEq(t, w.bodies[0], again.bodies[0])
}

// A refusal of the server is the same to both.
func TestBothReadTheSameError(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(rw, `{"error":{"message":"Slow down.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`)
	}))
	t.Cleanup(srv.Close)
	w := &wire{Server: srv}
	_, err := stream(t.Context(), w.theirs(), sdk.ChatCompletionNewParams{Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("x")}})
	var theirs *sdk.Error
	require.ErrorAs(t, err, &theirs)
	_, err = provider.Collect(w.ours().Stream(t.Context(), message.ModelRequest{Model: message.Model{Name: "m"}, Messages: message.MessagesOf(message.UserText("x"))}))
	var ours *provider.ServerError
	require.ErrorAs(t, err, &ours)
	assert.Equal(t, []any{theirs.StatusCode, theirs.Code, theirs.Type, theirs.Message}, []any{ours.Status, ours.Code, ours.Type, ours.Message})
	assert.Equal(t, 429, ours.Status)
}

// A stream without a finish is whole to the SDK, and an error here.
func TestWhereTheProviderIsStricter(t *testing.T) {
	t.Parallel()
	cut := `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"half an ans"},"finish_reason":null}]}` + "\n\n"
	w := serve(t, cut, cut)
	acc, err := stream(t.Context(), w.theirs(), sdk.ChatCompletionNewParams{Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("x")}})
	require.NoError(t, err)
	assert.Equal(t, "half an ans", acc.Choices[0].Message.Content)
	_, err = provider.Collect(w.ours().Stream(t.Context(), message.ModelRequest{Model: message.Model{Name: "m"}, Messages: message.MessagesOf(message.UserText("x"))}))
	require.ErrorIs(t, err, provider.ErrNoFinish)
}
