package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
)

const mark = `,"cache_control":{"type":"ephemeral"}`

func text(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

// TestRequest compares a whole body with everything that a conversation may have.
func TestRequest(t *testing.T) {
	t.Parallel()
	image := message.Block{Kind: message.BlockImage, MIME: "image/gif", Data: "R0lG"}
	req := message.ModelRequest{
		Model: message.Model{Name: adaptive, MaxTokens: 100, Stop: message.ListOf("END"), Tier: "standard_only", Extra: `{"metadata":{"user_id":"u"}}`,
			Reasoning: message.Reasoning{Effort: message.EffortHigh}, Format: message.ResponseFormat{Schema: `{"type":"object","properties":{"a":{"type":"integer","minimum":1}}}`}},
		System: "Be brief.",
		Messages: message.MessagesOf(
			message.UserText("Read a & b"),
			assistant(thought("hm <b>", adaptive, "c2ln=="), message.TextBlock(" "), message.TextBlock("I look."),
				call("toolu_1", "read", `{"path":"a"}`), call("call|2", "read", `{"path":`), call("", "list.all", ""), call("toolu_4", "list", `[1]`)),
			result("toolu_1", message.TextBlock("line \"1\"\n"), image),
			failed("call|2", message.TextBlock("broken"), image),
			message.Message{Role: message.RoleTool, CallID: "", Tool: "list", Result: message.JSONResult(`{"n":1}`)},
			message.Message{Role: message.RoleTool, CallID: "toolu_4", Tool: "list", Result: message.ToolResult{Failure: message.FailTimeout}},
			message.UserText("and?"),
		),
		Tools: message.NewToolSet([]message.Tool{lookup(), {Name: "list", Input: "{"}}), Stable: 6,
	}
	const second, third = "call_a1d598c1f661f47328954a41", "call_e3b0c44298fc1c149afbf4c8"
	shown := `{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lG"}}`
	want := `{"model":"claude-opus-4-8","tools":[` +
		`{"name":"read","description":"Reads a <file>.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}},` +
		`{"name":"list","input_schema":{"type":"object"}` + mark + `}],` +
		`"system":[{"type":"text","text":"Be brief."` + mark + `}],"messages":[` +
		`{"role":"user","content":[` + text("Read a & b") + `]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm <b>","signature":"c2ln=="},` + text("I look.") + `,` +
		`{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"}},` +
		`{"type":"tool_use","id":"` + second + `","name":"read","input":{"unparsed_arguments":"{\"path\":"}},` +
		`{"type":"tool_use","id":"` + third + `","name":"list_all","input":{}},` +
		`{"type":"tool_use","id":"toolu_4","name":"list","input":{"unparsed_arguments":"[1]"}}]},` +
		`{"role":"user","content":[` +
		`{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"line \"1\"\n"},` + shown + `]},` +
		`{"type":"tool_result","tool_use_id":"` + second + `","content":[` + text("broken") + `],"is_error":true},` +
		`{"type":"tool_result","tool_use_id":"` + third + `","content":[{"type":"text","text":"{\"n\":1}"}]},` +
		`{"type":"tool_result","tool_use_id":"toolu_4","content":[` + text("failed: timeout") + `],"is_error":true},` +
		text("Part of the result of read:") + `,` + strings.TrimSuffix(shown, "}") + mark + `},` +
		`{"type":"text","text":"and?"` + mark + `}]}],` +
		`"max_tokens":100,"thinking":{"type":"adaptive","display":"summarized"},` +
		`"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{"type":"integer","description":"{\"minimum\":1}"}},"additionalProperties":false}}},` +
		`"stop_sequences":["END"],"service_tier":"standard_only","metadata":{"user_id":"u"},"stream":true}`
	got := body(t, req)
	assert.Equal(t, want, got)
	assert.Equal(t, got, body(t, req), "the same request is the same bytes")
}

func TestRequestDetails(t *testing.T) {
	t.Parallel()
	history := func(ms ...message.Message) message.ModelRequest {
		return message.ModelRequest{Model: message.Model{Name: adaptive}, Messages: message.MessagesOf(ms...)}
	}
	with := func(change func(*message.ModelRequest)) message.ModelRequest {
		req := hello()
		req.Tools = message.NewToolSet([]message.Tool{lookup()})
		change(&req)
		return req
	}
	reasons := func(model string, r message.Reasoning, ms ...message.Message) message.ModelRequest {
		req := history(append([]message.Message{message.UserText("a")}, ms...)...)
		req.Model.Name, req.Model.Reasoning = model, r
		return req
	}
	tool := func(schema message.JSON) message.ModelRequest {
		return with(func(r *message.ModelRequest) {
			r.Tools = message.NewToolSet([]message.Tool{{Name: "t", Input: schema}})
		})
	}
	pdf := message.Block{Kind: message.BlockDocument, MIME: "application/pdf", Data: "JVBE", Name: "plan.pdf"}
	server := message.Block{Kind: message.BlockReasoning, Meta: `{"anthropic":{"model":"x","block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}}`}
	hidden := message.Block{Kind: message.BlockReasoning, Meta: `{"anthropic":{"model":"` + adaptive + `","block":{"type":"redacted_thinking","data":"ZW5j"}}}`}
	foreign := message.Block{Kind: message.BlockReasoning, Text: "secret plan", Meta: `{"gemini":{"signature":"c2ln"}}`}
	loop := []message.Message{assistant(thought("t", budgeted, "s"), call("a", "read", "{}")), result("a")}
	for name, tc := range map[string]struct {
		req         message.ModelRequest
		want, never string
	}{
		"blank texts":                {req: history(message.UserText(" \n"), message.UserText("a")), want: `"messages":[{"role":"user","content":[{"type":"text","text":"a"` + mark + `}]}]`},
		"one role is one message":    {req: history(message.UserText("a"), message.UserText("b"), assistant(message.TextBlock("c")), assistant(message.TextBlock("d")), message.UserText("e")), want: `[{"role":"user","content":[` + text("a") + `,{"type":"text","text":"b"` + mark + `}]},{"role":"assistant","content":[` + text("c") + `,` + text("d") + `]},{"role":"user"`},
		"an empty answer":            {req: history(message.UserText("a"), assistant(foreign), message.UserText("b")), want: `{"role":"user","content":[` + text("a") + `,{"type":"text","text":"b"`, never: "secret"},
		"results come first":         {req: history(message.UserText("a"), assistant(call("x", "read", "{}")), message.UserText("hurry"), result("x", message.TextBlock("r"))), want: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[` + text("r") + `]},{"type":"text","text":"hurry"` + mark + `}]}`},
		"texts behind calls":         {req: history(message.UserText("a"), assistant(message.TextBlock("b"), call("x", "read", "{}"), message.TextBlock("c"), call("y", "read", "{}"), message.TextBlock("d")), result("x"), result("y")), want: `{"role":"assistant","content":[` + text("b") + `,` + text("c") + `,` + text("d") + `,{"type":"tool_use","id":"x","name":"read","input":{}},{"type":"tool_use","id":"y","name":"read","input":{}}]}`},
		"an empty result":            {req: history(message.UserText("a"), assistant(call("x", "read", "{}")), result("x")), want: `{"type":"tool_result","tool_use_id":"x"` + mark + `}`},
		"ids of every answer":        {req: history(message.UserText("a"), assistant(call("call_0", "read", "{}")), result("call_0"), assistant(call("call_0", "read", "{}")), result("call_0")), want: `{"type":"tool_use","id":"call_0_2","name":"read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_0_2"`},
		"a PDF":                      {req: history(user(pdf)), want: `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"},"title":"plan.pdf"` + mark + `}`},
		"a PDF of a result":          {req: history(message.UserText("a"), assistant(call("x", "read", "{}")), result("x", pdf)), want: `"content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"},"title":"plan.pdf"}]`},
		"a PDF in an answer":         {req: history(message.UserText("a"), assistant(pdf), message.UserText("b")), want: `{"role":"assistant","content":[` + text("[left out, because it cannot be sent here: document plan.pdf application/pdf]") + `]}`, never: "JVBE"},
		"a link":                     {req: history(user(message.Block{Kind: message.BlockImage, URI: "https://a.test/b.png"})), want: `"source":{"type":"url","url":"https://a.test/b.png"}`},
		"a link to a file":           {req: history(user(message.Block{Kind: message.BlockImage, URI: "file:///b.png"})), want: `"text":"file:///b.png"`},
		"audio":                      {req: history(user(message.Block{Kind: message.BlockAudio, MIME: "audio/wav", Data: "UklG"}), assistant(message.TextBlock("b")), message.UserText("c")), want: `[left out, because it cannot be sent here: audio audio/wav]`, never: "UklG"},
		"a drawing":                  {req: history(user(message.Block{Kind: message.BlockImage, MIME: "image/svg+xml", Data: "PHN2"}), assistant(message.TextBlock("b")), message.UserText("c")), want: `image/svg+xml]`, never: "PHN2"},
		"thinking of another model":  {req: history(message.UserText("a"), assistant(thought("hm", "claude-opus-4-7", "s"), message.TextBlock("b")), message.UserText("c")), want: `"role":"assistant","content":[` + text("b"), never: "thinking"},
		"thinking of another vendor": {req: history(message.UserText("a"), assistant(foreign, message.TextBlock("b")), message.UserText("c")), want: text("b"), never: "secret"},
		"redacted thinking":          {req: history(message.UserText("a"), assistant(hidden, message.TextBlock("b")), message.UserText("c")), want: `[{"type":"redacted_thinking","data":"ZW5j"},` + text("b")},
		"thinking without text":      {req: history(message.UserText("a"), assistant(thought("", adaptive, "s"), message.TextBlock("b")), message.UserText("c")), want: `[{"type":"thinking","thinking":"","signature":"s"},`},
		"thinking at the end":        {req: history(message.UserText("a"), assistant(message.TextBlock("b"), thought("hm", adaptive, "s")), message.UserText("c")), want: `{"role":"assistant","content":[` + text("b") + `]}`},
		"nothing but thinking":       {req: history(message.UserText("a"), assistant(thought("hm", adaptive, "s")), message.UserText("c")), never: "assistant"},
		"a paused answer":            {req: history(message.UserText("a"), assistant(message.TextBlock("b"), server)), want: `{"role":"assistant","content":[{"type":"text","text":"b"` + mark + `},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]}]`},
		"citations":                  {req: history(message.UserText("a"), assistant(message.Block{Kind: message.BlockText, Text: "b", Meta: `{"anthropic":{"citations":[{"type":"web_search_result_location"}]}}`}), message.UserText("c")), want: `{"type":"text","text":"b","citations":[{"type":"web_search_result_location"}]}`},

		"no tools": {req: with(func(r *message.ModelRequest) { r.Tools = nil; r.Model.Choice.Mode = message.ToolChoiceNone }), never: "tool"},
		"auto":     {req: with(func(r *message.ModelRequest) { r.Model.Choice.Mode = message.ToolChoiceAuto }), never: "tool_choice"},
		"none":     {req: with(func(r *message.ModelRequest) { r.Model.Choice.Mode = message.ToolChoiceNone }), want: `"tool_choice":{"type":"none"}`},
		"required": {req: with(func(r *message.ModelRequest) { r.Model.Choice.Mode = message.ToolChoiceRequired }), want: `"tool_choice":{"type":"any"}`},
		"one tool": {req: with(func(r *message.ModelRequest) {
			r.Model.Choice = message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "read"}
		}), want: `"tool_choice":{"type":"tool","name":"read","disable_parallel_tool_use":true}`},
		"JSON":          {req: with(func(r *message.ModelRequest) { r.Model.Format.JSON, r.System = true, "S" }), want: `"system":[{"type":"text","text":"S"` + mark + `},{"type":"text","text":"Answer with one JSON value`, never: "output_config"},
		"no type":       {req: tool(`{"properties":{}}`), want: `"input_schema":{"type":"object","properties":{}}`},
		"alternatives":  {req: tool(`{"type":"object","properties":{"a":{"anyOf":[{}]}},"anyOf":[{"required":["a"]}]}`), want: `"description":"The arguments must also fit this JSON Schema: {\"anyOf\":[{\"required\":[\"a\"]}]}","input_schema":{"type":"object","properties":{"a":{"anyOf":[{}]}}}`},
		"no schema":     {req: tool(`null`), want: `"input_schema":{"type":"object"}`},
		"default limit": {req: hello(), want: `"max_tokens":32000`, never: `"thinking"`},

		"always":             {req: reasons(always, message.Reasoning{}), want: `"thinking":{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}},"stream"`},
		"an effort":          {req: reasons(always, message.Reasoning{Effort: message.EffortLow}), want: `"drop_block"}},"output_config":{"effort":"low"}`},
		"off":                {req: reasons("claude-opus-5", message.Reasoning{Effort: message.EffortOff}), want: `"thinking":{"type":"disabled"}`},
		"off by leaving out": {req: reasons(adaptive, message.Reasoning{Effort: message.EffortOff}), never: `"thinking"`},
		"off between tools":  {req: reasons("claude-sonnet-5-5", message.Reasoning{Effort: message.EffortOff}, assistant(thought("hm", "claude-sonnet-5-5", "s"), message.TextBlock("b")), message.UserText("c")), want: `"thinking":{"type":"between_tools"}`, never: `"hm"`},
		"a budget":           {req: reasons(budgeted, message.Reasoning{Budget: 2000}), want: `"max_tokens":34000,"thinking":{"type":"enabled","budget_tokens":2000}`},
		"a budget by effort": {req: reasons(budgeted, message.Reasoning{Effort: message.EffortMedium}), want: `"thinking":{"type":"enabled","budget_tokens":8192},"stream"`},
		"a budget in a loop": {req: reasons(budgeted, message.Reasoning{Budget: 2000}, loop...), want: `"budget_tokens":2000`},
		"a loop of another":  {req: reasons(budgeted, message.Reasoning{Budget: 2000}, assistant(call("a", "read", "{}")), result("a")), never: `budget_tokens`},
		"a loop of two":      {req: reasons(budgeted, message.Reasoning{Budget: 2000}, append([]message.Message{assistant(message.TextBlock("b"), call("z", "read", "{}")), result("z")}, loop...)...), never: `budget_tokens`},
		"a loop before":      {req: reasons(budgeted, message.Reasoning{Budget: 2000}, append([]message.Message{assistant(call("z", "read", "{}")), result("z"), assistant(message.TextBlock("b")), message.UserText("c")}, loop...)...), want: `"budget_tokens":2000`},
		"an unknown model":   {req: reasons("minimax-m2", message.Reasoning{}), never: `"thinking"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := body(t, tc.req)
			require.True(t, json.Valid([]byte(got)), "no JSON: %s", got)
			assert.Contains(t, got, tc.want)
			if tc.never != "" {
				assert.NotContains(t, got, tc.never)
			}
			assert.LessOrEqual(t, strings.Count(got, "cache_control"), 4)
		})
	}
}

// TestRefusedSettings: what cannot work fails before the request, and says what would.
func TestRefusedSettings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		model message.Model
		says  string
	}{
		"temperature":       {message.Model{Name: adaptive, Temperature: message.Some(0.0)}, "leave temperature out"},
		"top_p":             {message.Model{Name: budgeted, TopP: message.Some(1.0)}, "leave top_p out"},
		"seed":              {message.Model{Name: adaptive, Seed: message.Some(int64(1))}, "leave seed out"},
		"a budget":          {message.Model{Name: adaptive, Reasoning: message.Reasoning{Budget: 2000}}, "set reasoning to"},
		"no way off":        {message.Model{Name: always, Reasoning: message.Reasoning{Effort: message.EffortOff}}, "set reasoning to low, medium or high"},
		"a forced call":     {message.Model{Name: always, Choice: message.ToolChoice{Mode: message.ToolChoiceRequired}}, "set tool_choice to auto"},
		"a tier":            {message.Model{Name: adaptive, Tier: "flex"}, "set service_tier to auto or standard_only"},
		"a blank stop":      {message.Model{Name: adaptive, Stop: message.ListOf("\n")}, "visible character"},
		"servers of others": {message.Model{Name: adaptive, Extra: `{"mcp_servers":[{"type":"url","url":"https://tools.test"}]}`}, `may not set "mcp_servers"`},
		"our own members":   {message.Model{Name: adaptive, Extra: `{"stream":false}`}, `may not set "stream"`},
		"no object":         {message.Model{Name: adaptive, Extra: `[1]`}, "is not a JSON object"},
		"no model":          {message.Model{}, "no model is named"},
		"no schema at all":  {message.Model{Name: adaptive, Format: message.ResponseFormat{Schema: `[`}}, "schema of the response format"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := hello()
			req.Model = tc.model
			_, err := provider.Collect(asks(nil, nil).Stream(t.Context(), req)) // any request would panic
			require.ErrorContains(t, err, tc.says)
			assert.True(t, strings.HasPrefix(err.Error(), "anthropic: "), err)
			class, _ := provider.Classify(err)
			assert.Equal(t, message.FailureRequest, class)
		})
	}
	for name, ms := range map[string][]message.Message{
		"nothing": {}, "blank": {message.UserText(" ")}, "an answer at the end": {message.UserText("a"), assistant(message.TextBlock("b"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := hello()
			req.Messages = message.MessagesOf(ms...)
			_, err := provider.Collect(asks(nil, nil).Stream(t.Context(), req))
			require.ErrorContains(t, err, "add a user's message")
		})
	}
	for _, m := range []message.Message{
		user(message.Block{Kind: message.BlockAudio, MIME: "audio/wav", Data: "UklG"}), result("1", message.Block{Kind: message.BlockImage, MIME: "image/tiff", Data: "SUkq"}),
	} {
		req := hello()
		req.Messages = message.MessagesOf(m)
		_, err := provider.Collect(asks(nil, nil).Stream(t.Context(), req))
		require.ErrorContains(t, err, "send an image (JPEG, PNG, GIF or WebP), a PDF or text")
	}
	req := hello()
	req.Model.Name = budgeted // continues a beginning
	req.Messages = message.MessagesOf(message.UserText("a"), assistant(message.TextBlock("b")))
	assert.Contains(t, body(t, req), `"role":"assistant"`)
}

func TestWhereItAsks(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-from-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://elsewhere.test")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: 1")
	var r records
	for _, o := range []anthropic.Options{
		{APIKey: canary},
		{BaseURL: "http://127.0.0.1:8080/v1/", Network: provider.Network{Header: http.Header{"x-extra": {"1"}, "anthropic-beta": {"a,b"}}}},
		{BaseURL: "https://gateway.test/claude"},
	} {
		o.Client = &http.Client{Transport: r.serve(t)}
		req := hello()
		req.Model.Name = always
		p := anthropic.New(&o)
		require.NoError(t, p.Err())
		_, err := provider.Collect(p.Stream(t.Context(), req))
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"https://api.anthropic.com/v1/messages", "http://127.0.0.1:8080/v1/messages", "https://gateway.test/claude/v1/messages"}, r.urls)
	assert.Equal(t, "Bearer "+canary, r.headers[0].Get("Authorization"))
	assert.Equal(t, "2026-10-21", r.headers[0].Get("Anthropic-Version"))
	assert.Equal(t, "thinking-binding-controls-2026-08-01", r.headers[0].Get("Anthropic-Beta"))
	assert.Equal(t, "text/event-stream", r.headers[0].Get("Accept"))
	assert.Equal(t, "grapnel", r.headers[0].Get("User-Agent"))
	assert.Equal(t, "a,b,thinking-binding-controls-2026-08-01", r.headers[1].Get("Anthropic-Beta"))
	assert.Equal(t, "1", r.headers[1].Get("X-Extra"))
	for i, h := range r.headers {
		assert.Empty(t, h.Get("X-Custom"))
		assert.Empty(t, h.Get("X-Api-Key"))
		if i > 0 {
			assert.Empty(t, h.Get("Authorization"))
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	env := map[string]string{"ANTHROPIC_API_KEY": " " + canary + "\n", "ANTHROPIC_BASE_URL": "http://localhost:1", "ANTHROPIC_IDLE_TIMEOUT": "-1s", "ANTHROPIC_CONTEXT_WINDOW": "1000"}
	o := anthropic.FromEnv(func(k string) string { return env[k] })
	assert.Equal(t, &anthropic.Options{APIKey: canary, BaseURL: "http://localhost:1", ContextWindow: 1000, Network: provider.Network{IdleTimeout: -1e9}}, o)
	p := anthropic.New(o)
	require.NoError(t, p.Err())
	assert.Equal(t, 1000, p.ContextWindow(always))
	assert.Positive(t, anthropic.New(&anthropic.Options{APIKey: canary}).ContextWindow(always))
	assert.Zero(t, anthropic.New(&anthropic.Options{APIKey: canary}).ContextWindow("nobody-knows"))
	assert.True(t, p.HasFormat(always))
	assert.False(t, p.HasFormat("claude-3-5-haiku-20241022"))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		assert.Equal(t, "anthropic(localhost:1)", fmt.Sprintf(verb, p))
	}
	for says, o := range map[string]*anthropic.Options{
		"set ANTHROPIC_API_KEY":    nil,
		"http(s)://":               {APIKey: canary, BaseURL: "ftp://x"},
		"such as 90s":              anthropic.FromEnv(func(k string) string { return "x" }),
		"a blank or another":       {APIKey: "a b"},
		"ANTHROPIC_CONTEXT_WINDOW": anthropic.FromEnv(func(k string) string { return map[string]string{"ANTHROPIC_CONTEXT_WINDOW": "-1"}[k] }),
	} {
		p := anthropic.New(o)
		require.ErrorContains(t, p.Err(), says)
		_, err := provider.Collect(p.Stream(t.Context(), hello()))
		assert.Equal(t, p.Err(), err)
	}
	require.ErrorIs(t, anthropic.New(nil).Err(), provider.ErrOptions)
}

// TestArgumentsThatAreNoUnicode: a model may write half a surrogate pair. The API refuses a
// body with one, and with it every later request of the conversation.
func TestArgumentsThatAreNoUnicode(t *testing.T) {
	t.Parallel()
	for _, args := range []string{`{"a":"\ud83d"}`, "{\"a\":\"\xff\"}"} {
		req := hello()
		req.Messages = message.MessagesOf(message.UserText("u"), assistant(call("1", "read", args)), result("1", message.TextBlock("r")))
		sent := body(t, req)
		assert.True(t, jsontext.Value(sent).IsValid(), sent)
		assert.Contains(t, sent, `"input":{"unparsed_arguments":`)
	}
}
