package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// records keeps the requests and answers them with "ok".
type records struct {
	bodies  []string
	headers []http.Header
	urls    []string
}

func (r *records) serve(t testing.TB) server {
	return func(req *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.True(t, json.Valid(body), "no JSON: %s", body)
		r.bodies, r.headers = append(r.bodies, string(body)), append(r.headers, req.Header)
		r.urls = append(r.urls, req.URL.String())
		if strings.HasSuffix(req.URL.Path, "/responses") {
			return serves(strings.NewReader(textItem("0", "ok") + completed))(req)
		}
		return serves(strings.NewReader(says("ok") + whole))(req)
	}
}

// body returns what is sent for a request.
func body(t testing.TB, req message.ModelRequest, o *openai.Options) string {
	t.Helper()
	var r records
	_, err := provider.Collect(asks(r.serve(t), o).Stream(t.Context(), req))
	require.NoError(t, err)
	require.Len(t, r.bodies, 1)
	return r.bodies[0]
}

func lookup() message.Tool {
	return message.Tool{Name: "read", Description: "Reads a <file>.", Input: `{"type":"object","properties":{"path":{"type":"string"}}}`}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	req := message.ModelRequest{
		Model: message.Model{Name: "gpt"}, System: "Be brief.",
		Messages: message.MessagesOf(
			message.UserText("Read a & b"),
			message.Message{Role: message.RoleAssistant, Content: message.ListOf(
				reasoning("hm"), message.TextBlock("I "), message.TextBlock("look."),
				call("1", "read", `{"path":"a"}`), call("2", "read", `{"path":`), call("3", "list", ""), call("4", "list", `[1]`))},
			message.Message{Role: message.RoleTool, CallID: "1", Tool: "read", Result: message.TextResult("line \"1\"\n")},
			message.Message{Role: message.RoleTool, CallID: "2", Tool: "read", Result: message.FailedResult(message.FailArguments, "bad arguments")},
			message.Message{Role: message.RoleTool, CallID: "3", Tool: "list", Result: message.JSONResult(`{"n":1}`)},
			message.Message{Role: message.RoleTool, CallID: "4", Tool: "list", Result: message.ToolResult{Failure: message.FailTimeout}},
		),
		Tools: message.NewToolSet([]message.Tool{lookup(), {Name: "list", Input: "{"}}),
	}
	req.Model.Choice, req.Model.Format, req.Model.MaxTokens = message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "read"}, message.ResponseFormat{JSON: true}, 100
	want := `{"model":"gpt","messages":[` +
		`{"role":"system","content":"Be brief."},{"role":"user","content":"Read a & b"},` +
		`{"role":"assistant","content":"I look.","tool_calls":[` +
		`{"id":"1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},` +
		`{"id":"2","type":"function","function":{"name":"read","arguments":"{\"unparsed_arguments\":\"{\\\"path\\\":\"}"}},` +
		`{"id":"3","type":"function","function":{"name":"list","arguments":"{}"}},` +
		`{"id":"4","type":"function","function":{"name":"list","arguments":"{\"unparsed_arguments\":\"[1]\"}"}}]},` +
		`{"role":"tool","content":"line \"1\"\n","tool_call_id":"1"},` +
		`{"role":"tool","content":"bad arguments","tool_call_id":"2"},` +
		`{"role":"tool","content":"{\"n\":1}","tool_call_id":"3"},` +
		`{"role":"tool","content":"failed: timeout","tool_call_id":"4"}],` +
		`"tools":[{"type":"function","function":{"name":"read","description":"Reads a <file>.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},` +
		`{"type":"function","function":{"name":"list","parameters":{"type":"object","properties":{}}}}],` +
		`"tool_choice":{"type":"function","function":{"name":"read"}},` +
		`"response_format":{"type":"json_object"},"max_tokens":100,` +
		`"stream":true,"stream_options":{"include_usage":true}}`
	assert.Equal(t, want, body(t, req, nil))

	messages := req.Messages.Slice()
	messages[1].Content = message.ListOf(append([]message.Block{
		{Kind: message.BlockReasoning, Text: "hm", Meta: provider.Meta("openai", struct{}{})},
		{Kind: message.BlockReasoning, Text: "of another vendor", Meta: provider.Meta("anthropic", struct{}{})},
	}, messages[1].Content.Slice()...)...)
	req.Messages = message.MessagesOf(messages...)
	got := body(t, req, &openai.Options{ReasoningKey: "reasoning_content", MaxTokensKey: "max_completion_tokens", NoUsage: true,
		Extra: ` {"temperature":0, "reasoning_effort":"low"} `})
	assert.Contains(t, got, `"content":"I look.","reasoning_content":"hm","tool_calls":`)
	assert.Contains(t, got, `"max_completion_tokens":100,"reasoning_effort":"low","temperature":0,"stream":true}`)
}

func TestRequestDetails(t *testing.T) {
	t.Parallel()
	image := message.Block{Kind: message.BlockImage, MIME: "image/gif", Data: "R0lG"}
	link := message.Block{Kind: message.BlockImage, URI: "https://a.test/b.png"}
	user := func(blocks ...message.Block) message.ModelRequest {
		return message.ModelRequest{Messages: message.MessagesOf(message.Message{Role: message.RoleUser, Content: message.ListOf(blocks...)})}
	}
	result := func(id string, blocks ...message.Block) message.Message {
		return message.Message{Role: message.RoleTool, CallID: id, Tool: "shot", Result: message.ToolResult{Content: message.ListOf(blocks...)}}
	}
	with := func(change func(*message.ModelRequest)) message.ModelRequest {
		req := hello()
		req.Tools = message.NewToolSet([]message.Tool{lookup()})
		change(&req)
		return req
	}
	for name, tc := range map[string]struct {
		req   message.ModelRequest
		o     *openai.Options
		want  string
		never string
	}{
		"no model":            {req: user(message.TextBlock("a")), want: `{"messages":[{"role":"user","content":"a"}],"stream"`},
		"default model":       {req: user(message.TextBlock("a")), o: &openai.Options{Model: "d"}, want: `{"model":"d",`},
		"the request's own":   {req: hello(), o: &openai.Options{Model: "d"}, want: `{"model":"m",`},
		"no message":          {req: message.ModelRequest{}, want: `"messages":[],`},
		"texts":               {req: user(message.TextBlock("a"), message.Block{Kind: message.BlockJSON, JSON: `{}`}, message.Block{Kind: message.BlockResource, URI: "file:///x", Text: "b"}), want: `"content":"a{}b"`},
		"an empty message":    {req: user(), want: `{"role":"user","content":""}`},
		"images":              {req: user(message.TextBlock("see"), image, link), want: `"content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lG"}},{"type":"image_url","image_url":{"url":"https://a.test/b.png"}}]`},
		"an image of no kind": {req: user(message.Block{Kind: message.BlockImage, Data: "R0lG"}), want: `"url":"data:image/png;base64,R0lG"`},
		"images of results": {
			req:  message.ModelRequest{Messages: message.MessagesOf(result("1", image), result("2", message.TextBlock("two"), image), message.UserText("and?"))},
			want: `{"role":"tool","content":"[the image follows]","tool_call_id":"1"},{"role":"tool","content":"two","tool_call_id":"2"},{"role":"user","content":[{"type":"text","text":"An image of the result of 1:"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lG"}},{"type":"text","text":"An image of the result of 2:"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lG"}}]},{"role":"user","content":"and?"}]`,
		},
		"a link in a result": {req: message.ModelRequest{Messages: message.MessagesOf(result("1", link))}, want: `[{"role":"tool","content":"https://a.test/b.png","tool_call_id":"1"}]`},
		"no tools":           {req: with(func(r *message.ModelRequest) { r.Tools = nil; r.Model.Choice.Mode = message.ToolChoiceRequired }), never: "tool"},
		"an empty set":       {req: with(func(r *message.ModelRequest) { r.Tools = message.NewToolSet(nil) }), never: "tool"},
		"auto":               {req: with(func(r *message.ModelRequest) { r.Model.Choice.Mode = message.ToolChoiceAuto }), never: "tool_choice"},
		"none":               {req: with(func(r *message.ModelRequest) { r.Model.Choice.Mode = message.ToolChoiceNone }), want: `"tool_choice":"none"`},
		"required":           {req: with(func(r *message.ModelRequest) { r.Model.Choice.Mode = message.ToolChoiceRequired }), want: `"tool_choice":"required"`},
		"a schema": {req: with(func(r *message.ModelRequest) {
			r.Model.Format = message.ResponseFormat{JSON: true, Schema: `{"type":"object"}`, Name: "out"}
		}), want: `"response_format":{"type":"json_schema","json_schema":{"name":"out","schema":{"type":"object"}}}`},
		"a schema's name": {req: with(func(r *message.ModelRequest) {
			r.Model.Format = message.ResponseFormat{Schema: `{}`, Name: "my answer"}
		}), want: `{"name":"response","schema":{}}`},
		"nothing extra": {req: hello(), o: &openai.Options{Extra: " { } "}, want: `}],"stream":true`},
		"no limit":      {req: hello(), never: "max_"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := body(t, tc.req, tc.o)
			assert.Contains(t, got, tc.want)
			if tc.never != "" {
				assert.NotContains(t, got, tc.never)
			}
		})
	}
	_, err := provider.Collect(asks(nil, nil).Stream(t.Context(), with(func(r *message.ModelRequest) { r.Model.Format = message.ResponseFormat{Schema: `{`} })))
	assert.ErrorContains(t, err, "schema")
}

func TestWhereItAsks(t *testing.T) {
	t.Parallel()
	var r records
	h := http.Header{"x-extra": {"1", "2"}, "User-Agent": {"me"}}
	for _, o := range []openai.Options{
		{APIKey: canary},
		{BaseURL: "http://127.0.0.1:8080/v1/", Network: provider.Network{Header: h}},
		{BaseURL: "https://x.openai.azure.com/openai/v1?api-version=preview", Network: provider.Network{Header: http.Header{"api-key": {canary}}}},
	} {
		o.Client = &http.Client{Transport: r.serve(t)}
		req := hello()
		req.Model.Name, req.Model.MaxTokens = "gpt-4o", 7
		p := openai.New(&o)
		require.NoError(t, p.Err())
		_, err := provider.Collect(p.Stream(t.Context(), req))
		require.NoError(t, err)
	}
	assert.Equal(t, []string{
		"https://api.openai.com/v1/chat/completions", "http://127.0.0.1:8080/v1/chat/completions",
		"https://x.openai.azure.com/openai/v1/chat/completions?api-version=preview",
	}, r.urls)
	assert.Contains(t, r.bodies[0], `"max_completion_tokens":7`)
	assert.Contains(t, r.bodies[1], `"max_tokens":7`)
	assert.Contains(t, r.bodies[2], `"max_completion_tokens":7`)
	assert.Equal(t, "Bearer "+canary, r.headers[0].Get("Authorization"))
	assert.Equal(t, "text/event-stream", r.headers[0].Get("Accept"))
	assert.Equal(t, "grapnel", r.headers[0].Get("User-Agent"))
	assert.Empty(t, r.headers[1].Get("Authorization"))
	assert.Equal(t, []string{"1", "2"}, r.headers[1].Values("X-Extra"))
	assert.Equal(t, "me", r.headers[1].Get("User-Agent"))
	assert.Equal(t, canary, r.headers[2].Get("Api-Key"))
}

func TestFromEnv(t *testing.T) {
	t.Parallel()
	env := map[string]string{"OPENAI_API_KEY": " " + canary + "\n", "OPENAI_BASE_URL": "http://localhost:1/v1"}
	assert.Equal(t, &openai.Options{APIKey: canary, BaseURL: "http://localhost:1/v1"}, openai.FromEnv(func(k string) string { return env[k] }))
	assert.Equal(t, &openai.Options{}, openai.FromEnv(func(string) string { return "" }))
}

func TestToolsAreEncodedOncePerSet(t *testing.T) {
	t.Parallel()
	set := message.NewToolSet([]message.Tool{lookup()})
	req := hello()
	req.Tools = set
	first := body(t, req, nil)
	asked := false
	text := set.Encoded("openai-chat", func(message.List[message.Tool]) string { asked = true; return "" })
	assert.False(t, asked)
	assert.Contains(t, first, `"tools":`+text)
	assert.Equal(t, first, body(t, req, nil))
}

// The cost of a request in allocations does not grow with tools or history.
func TestEncodingDoesNotAllocatePerMessage(t *testing.T) {
	stop := server(func(*http.Request) (*http.Response, error) { return nil, io.ErrClosedPipe })
	p := asks(stop, nil)
	allocs := func(n int) float64 {
		var ms []message.Message
		for range n {
			ms = append(ms, message.UserText("go on \"now\""),
				message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("ok\n"), call("1", "read", `{"path":"a"}`))},
				message.Message{Role: message.RoleTool, CallID: "1", Tool: "read", Result: message.TextResult(strings.Repeat("text\n", 20))})
		}
		var tools []message.Tool
		for range n {
			tools = append(tools, lookup())
		}
		req := message.ModelRequest{Model: message.Model{Name: "m"}, System: "s", Messages: message.MessagesOf(ms...), Tools: message.NewToolSet(tools)}
		return allocs.PerRun(20, func() { _, _ = provider.Collect(p.Stream(t.Context(), req)) })
	}
	assert.InDelta(t, allocs(1), allocs(1000), 3)
}

func FuzzStrings(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\r\t\b\f\x00\x1f\x7f", "é\u2028\u2029😀", "\xff\xc3(\xed\xa0\x80", "<&>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(s))
		got := body(t, message.ModelRequest{Messages: message.MessagesOf(message.UserText(s))}, nil)
		got = strings.TrimPrefix(got, `{"messages":[{"role":"user","content":`)
		assert.Equal(t, strings.TrimSpace(want.String()), strings.TrimSuffix(got, `}],"stream":true,"stream_options":{"include_usage":true}}`))

		args := body(t, message.ModelRequest{Messages: message.MessagesOf(message.Message{Role: message.RoleAssistant, Content: message.ListOf(call(s, s, s))})}, nil)
		var back struct {
			Messages []struct {
				Calls []struct {
					Function struct{ Arguments string }
				} `json:"tool_calls"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(args), &back))
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(back.Messages[0].Calls[0].Function.Arguments), &object), "arguments are always an object")
	})
}

func TestTimesAndTheWindowOfTheEnvironment(t *testing.T) {
	vars := map[string]string{"OPENAI_API_KEY": "k", "OPENAI_FIRST_BYTE_TIMEOUT": "90s", "OPENAI_IDLE_TIMEOUT": "-1s", "OPENAI_CONTEXT_WINDOW": "32768"}
	o := openai.FromEnv(func(k string) string { return vars[k] })
	assert.Equal(t, &openai.Options{APIKey: "k", Network: provider.Network{FirstByteTimeout: 90 * time.Second, IdleTimeout: -time.Second}, ContextWindow: 32768}, o)
	assert.Equal(t, 32768, provider.ContextWindow(openai.New(o), "any"))

	for name, text := range map[string]string{"OPENAI_FIRST_BYTE_TIMEOUT": "90", "OPENAI_IDLE_TIMEOUT": "0s", "OPENAI_CONTEXT_WINDOW": "8k"} {
		bad := map[string]string{"OPENAI_API_KEY": "k", name: text}
		err := openai.New(openai.FromEnv(func(k string) string { return bad[k] })).Err()
		require.ErrorContains(t, err, "openai: "+name+` is "`+text+`"; write a`)
	}
}
