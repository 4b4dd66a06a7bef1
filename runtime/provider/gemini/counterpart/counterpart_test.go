package counterpart

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/recordings"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
)

const (
	key   = "AIza-counterpart"
	model = "gemini-3.8-flash"
)

// wire is a server that answers with streams, one for each request, and keeps the requests.
type wire struct {
	*httptest.Server
	mu      sync.Mutex
	answers []string
	bodies  []string
}

func serve(t testing.TB, answers ...string) *wire {
	w := &wire{answers: answers}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, "/v1beta/models/"+model+":streamGenerateContent?alt=sse", r.URL.String())
		assert.Equal(t, key, r.Header.Get("X-Goog-Api-Key"))
		w.mu.Lock()
		defer w.mu.Unlock()
		rw.Header().Set("Content-Type", "text/event-stream")
		_, err = io.WriteString(rw, w.answers[len(w.bodies)%len(w.answers)])
		assert.NoError(t, err)
		w.bodies = append(w.bodies, string(body))
	}))
	t.Cleanup(w.Close)
	return w
}

// theirs is the SDK's client of a server, ours the provider.
func theirs(t testing.TB, url string, client *http.Client) *genai.Client {
	c, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: key, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	require.NoError(t, err)
	return c
}

func ours(url string, client *http.Client) *gemini.Provider {
	return gemini.New(&gemini.Options{BaseURL: url, APIKey: key, Model: model, Network: provider.Network{Client: client}})
}

// read is what a reader finds in a stream.
type read struct {
	text, thoughts string
	calls, signed  []string
	usage          message.Usage
	finish         string
}

// stream asks with the SDK, without its automatic continuation.
func stream(ctx context.Context, c *genai.Client, contents []*genai.Content, config *genai.GenerateContentConfig) (out read, parts []*genai.Part, err error) {
	for resp, err := range c.Models.GenerateContentStream(ctx, model, contents, config) {
		if err != nil {
			return out, parts, err
		}
		if u := resp.UsageMetadata; u != nil {
			out.usage = message.Usage{Input: int64(u.PromptTokenCount + u.ToolUsePromptTokenCount), Output: int64(u.CandidatesTokenCount + u.ThoughtsTokenCount),
				CacheRead: int64(u.CachedContentTokenCount), Reasoning: int64(u.ThoughtsTokenCount)}
		}
		for _, candidate := range resp.Candidates {
			out.finish += string(candidate.FinishReason)
			if candidate.Content == nil {
				continue
			}
			for _, p := range candidate.Content.Parts {
				out.add(p)
				if p.Text != "" || p.FunctionCall != nil || p.ThoughtSignature != nil {
					parts = append(parts, p)
				}
			}
		}
	}
	return out, parts, nil
}

func (r *read) add(p *genai.Part) {
	switch {
	case p.FunctionCall != nil:
		args, _ := json.Marshal(p.FunctionCall.Args)
		r.calls = append(r.calls, p.FunctionCall.Name+string(args))
	case p.Thought:
		r.thoughts += p.Text
	default:
		r.text += p.Text
	}
	if p.ThoughtSignature != nil {
		quoted, _ := json.Marshal(p.ThoughtSignature)
		r.signed = append(r.signed, strings.Trim(string(quoted), `"`))
	}
}

func found(t *testing.T, reply message.ModelReply) (out read) {
	out = read{text: reply.Text(), thoughts: reply.Reasoning(), usage: reply.Usage}
	for _, b := range reply.Content.All() {
		if b.Kind == message.BlockToolCall {
			var args map[string]any
			require.NoError(t, json.Unmarshal([]byte(b.JSON), &args))
			canonical, _ := json.Marshal(args)
			out.calls = append(out.calls, b.Tool+string(canonical))
		}
		var meta struct{ Signature string }
		if provider.MetaFor("gemini", b.Meta, &meta) && meta.Signature != "" {
			out.signed = append(out.signed, meta.Signature)
		}
	}
	return out
}

// What the SDK reads in a recorded stream is what the provider reads in it.
func TestBothReadTheSame(t *testing.T) {
	t.Parallel()
	n := 0
	for _, r := range recordings.All(t, recordings.Gemini) {
		if r.Status != http.StatusOK && r.Status != 0 {
			continue
		}
		body := string(r.Response(t))
		n++
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			w := serve(t, body)
			want, _, err := stream(t.Context(), theirs(t, w.URL, w.Client()), genai.Text("hello"), nil)
			require.NoError(t, err)
			reply, err := provider.Collect(ours(w.URL, w.Client()).Stream(t.Context(), message.ModelRequest{Messages: message.MessagesOf(message.UserText("hello"))}))
			require.NoError(t, err)
			want.finish = ""
			assert.Equal(t, want, found(t, reply))
		})
	}
	assert.Greater(t, n, 20)
}

const schema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`

const calling = `data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"I look.","thought":true}]}}]}` + "\n\n" +
	`data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":{"id":"i1","name":"read","args":{"path":"<a>"}},"thoughtSignature":"U2ln"},{"functionCall":{"id":"i2","name":"read","args":{"path":"b"}}}]},"finishReason":"STOP"}],` +
	`"usageMetadata":{"promptTokenCount":1}}` + "\n\n"

// A turn of two steps, with thoughts, two calls and their results, is sent by the provider as
// the SDK sends it.
func TestBothSendTheSame(t *testing.T) {
	t.Parallel()
	w := serve(t, calling)
	var parameters any
	require.NoError(t, json.Unmarshal([]byte(schema), &parameters))
	config := &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be brief."}}},
		Tools:             []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "read", Description: "Reads a <file>.", ParametersJsonSchema: parameters}}}},
		ToolConfig:        &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{"read"}}},
		MaxOutputTokens:   1000, Temperature: genai.Ptr[float32](0.5), TopP: genai.Ptr[float32](0.25), Seed: genai.Ptr[int32](7), StopSequences: []string{"END"},
		ResponseMIMEType: "application/json", ResponseJsonSchema: parameters, ServiceTier: genai.ServiceTierFlex,
		ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelHigh},
	}
	client := theirs(t, w.URL, w.Client())
	contents := genai.Text(`Read "both" & more`)
	_, parts, err := stream(t.Context(), client, contents, config)
	require.NoError(t, err)
	image := []byte{1, 2, 3}
	contents = append(contents, &genai.Content{Role: "model", Parts: parts}, &genai.Content{Role: "user", Parts: []*genai.Part{
		{FunctionResponse: &genai.FunctionResponse{ID: "i1", Name: "read", Response: map[string]any{"output": "text of a"},
			Parts: []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{MIMEType: "image/png", Data: image}}}}},
		{FunctionResponse: &genai.FunctionResponse{ID: "i2", Name: "read", Response: map[string]any{"error": "b does not exist"}}},
	}})
	_, _, err = stream(t.Context(), client, contents, config)
	require.NoError(t, err)

	req := message.ModelRequest{
		Model: message.Model{Name: model, MaxTokens: 1000, Temperature: message.Some(0.5), TopP: message.Some(0.25), Seed: message.Some[int64](7), Stop: message.ListOf("END"),
			Reasoning: message.Reasoning{Effort: message.EffortHigh}, Tier: "flex", Format: message.ResponseFormat{JSON: true, Schema: schema},
			Choice: message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "read"}},
		System: "Be brief.", Messages: message.MessagesOf(message.UserText(`Read "both" & more`)),
		Tools: message.NewToolSet([]message.Tool{{Name: "read", Description: "Reads a <file>.", Input: schema}}),
	}
	p := ours(w.URL, w.Client())
	reply, err := provider.Collect(p.Stream(t.Context(), req))
	require.NoError(t, err)
	req.Messages = req.Messages.Append(
		message.Message{Role: message.RoleAssistant, Content: reply.Content},
		message.Message{Role: message.RoleTool, CallID: "i1", Tool: "read", Result: message.ToolResult{Content: message.ListOf(message.TextBlock("text of a"),
			message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "AQID"})}},
		message.Message{Role: message.RoleTool, CallID: "i2", Tool: "read", Result: message.FailedResult(message.FailNotFound, "b does not exist")})
	_, err = provider.Collect(p.Stream(t.Context(), req))
	require.NoError(t, err)

	require.Len(t, w.bodies, 4)
	for i := range 2 { // the SDK adds a role to the system prompt, which has none
		want := strings.Replace(w.bodies[i], `{"parts":[{"text":"Be brief."}],"role":"user"}`, `{"parts":[{"text":"Be brief."}]}`, 1)
		assert.NotEqual(t, want, w.bodies[i])
		assert.JSONEq(t, want, w.bodies[i+2])
	}
}

// The SDK's types know every member that the provider sends.
func TestTheSDKKnowsEveryMember(t *testing.T) {
	t.Parallel()
	w := serve(t, calling)
	meta := func(members string) message.JSON {
		return message.JSON(`{"gemini":{"model":"` + model + `",` + members + `}}`)
	}
	user := message.Message{Role: message.RoleUser, Content: message.ListOf(message.TextBlock("What is it?"),
		message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "iVBO"}, message.Block{Kind: message.BlockDocument, URI: "https://example.com/a.pdf"})}
	answer := message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.Block{Kind: message.BlockText, Meta: meta(`"signature":"U2ln"`)},
		message.Block{Kind: message.BlockReasoning, Meta: meta(`"part":{"executableCode":{"language":"PYTHON","code":"1"}}`)},
		message.Block{Kind: message.BlockReasoning, Meta: meta(`"token":"VG9r"`)})}
	_, err := provider.Collect(ours(w.URL, w.Client()).Stream(t.Context(), message.ModelRequest{
		Model:    message.Model{Extra: `{"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}],"generationConfig":{"topK":4}}`, Choice: message.ToolChoice{Mode: message.ToolChoiceNone}},
		Messages: message.MessagesOf(user, answer, user, answer), Tools: message.NewToolSet([]message.Tool{{Name: "read", Input: schema}}),
	}))
	require.NoError(t, err)
	var body struct {
		Contents          []*genai.Content        `json:"contents"`
		Tools             []*genai.Tool           `json:"tools"`
		ToolConfig        *genai.ToolConfig       `json:"toolConfig"`
		GenerationConfig  *genai.GenerationConfig `json:"generationConfig"`
		SafetySettings    []*genai.SafetySetting  `json:"safetySettings"`
		ContinuationToken []byte                  `json:"continuationToken"`
	}
	d := json.NewDecoder(strings.NewReader(w.bodies[0]))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&body), w.bodies[0])
	assert.Len(t, body.Contents, 3)
	assert.Equal(t, "Tok", string(body.ContinuationToken))
}

// A refusal of the server is the same to both.
func TestBothReadTheSameError(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(rw, `{"error":{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED"}}`)
	}))
	t.Cleanup(srv.Close)
	_, _, err := stream(t.Context(), theirs(t, srv.URL, srv.Client()), genai.Text("x"), nil)
	var want genai.APIError
	require.ErrorAs(t, err, &want)
	_, err = provider.Collect(ours(srv.URL, srv.Client()).Stream(t.Context(), message.ModelRequest{Messages: message.MessagesOf(message.UserText("x"))}))
	var got *provider.ServerError
	require.ErrorAs(t, err, &got)
	assert.Equal(t, []any{want.Code, want.Status, want.Message}, []any{got.Status, got.Code, got.Message})
}

// These are the reasons why the provider does not ask through the SDK.
func TestWhereTheProviderDiffers(t *testing.T) {
	one := func(parts, finish string) string {
		return `data: {"candidates":[{"index":0,"content":{"role":"model","parts":[` + parts + `]}` + finish + `}]}` + "\n\n"
	}
	ask := func(answers ...string) (*wire, read, error, message.ModelReply, error) {
		w := serve(t, answers...)
		their, _, theirErr := stream(t.Context(), theirs(t, w.URL, w.Client()), genai.Text("x"), nil)
		asked := len(w.bodies)
		w.answers = append([]string(nil), answers...)
		reply, err := provider.Collect(ours(w.URL, w.Client()).Stream(t.Context(), message.ModelRequest{Messages: message.MessagesOf(message.UserText("x"))}))
		w.bodies = w.bodies[:asked]
		return w, their, theirErr, reply, err
	}
	// A stream without a finish is whole to the SDK.
	_, their, theirErr, _, err := ask(one(`{"text":"half an ans"}`, ""))
	require.NoError(t, theirErr)
	assert.Equal(t, "half an ans", their.text)
	require.ErrorIs(t, err, provider.ErrNoFinish)

	// Large numbers in arguments become others.
	_, their, theirErr, reply, err := ask(one(`{"functionCall":{"name":"pay","args":{"account":12345678901234567}}}`, `,"finishReason":"STOP"`))
	require.NoError(t, theirErr)
	require.NoError(t, err)
	assert.Equal(t, []string{`pay{"account":12345678901234568}`}, their.calls)
	assert.Equal(t, message.JSON(`{"account":12345678901234567}`), reply.Content.At(0).JSON)

	// Members that its types do not know are lost, although they have to go back.
	var p genai.Part
	require.NoError(t, json.Unmarshal([]byte(`{"newKind":{"a":1},"thoughtSignature":"U2ln"}`), &p))
	again, _ := json.Marshal(&p)
	assert.JSONEq(t, `{"thoughtSignature":"U2ln"}`, string(again))

	// One call makes several requests.
	w, _, theirErr, _, err := ask(one(`{"text":"a"}`, `,"finishReason":"CONTINUATION","continuationToken":"VG9r"`), one(`{"text":"b"}`, `,"finishReason":"STOP"`))
	require.NoError(t, theirErr)
	require.NoError(t, err)
	assert.Len(t, w.bodies, 2)

	// The environment sets what the program has not set.
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://elsewhere.test")
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{Backend: genai.BackendGeminiAPI, APIKey: key})
	require.NoError(t, err)
	assert.Equal(t, "http://elsewhere.test", c.ClientConfig().HTTPOptions.BaseURL)
}

const chunkCount = 1000

// canned is a transport that answers with the same bytes.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(c))}, nil
}

// BenchmarkDecode compares the cost of a chunk.
func BenchmarkDecode(b *testing.B) {
	var long bytes.Buffer
	for i := range chunkCount {
		fmt.Fprintf(&long, `data: {"candidates": [{"content": {"parts": [{"text": " word%d"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 65,"candidatesTokenCount": 16,"totalTokenCount": 192,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 65}],"thoughtsTokenCount": 111},"modelVersion": "gemini-3.1-pro-preview","responseId": "PwCzadquEZ3Vz7IPkKeEoQ4"}`+"\n\n", i)
	}
	long.WriteString(`data: {"candidates":[{"finishReason":"STOP"}]}` + "\n\n")
	client := &http.Client{Transport: canned(long.Bytes())}
	run := func(name string, read func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, read())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunkCount, "ns/chunk")
		})
	}
	p, sdk := ours("http://model.test", client), theirs(b, "http://model.test", client)
	run("grapnel", func() error {
		_, err := provider.Collect(p.Stream(b.Context(), message.ModelRequest{Messages: message.MessagesOf(message.UserText("x"))}))
		return err
	})
	run("sdk", func() error {
		_, _, err := stream(b.Context(), sdk, genai.Text("x"), nil)
		return err
	})
}
