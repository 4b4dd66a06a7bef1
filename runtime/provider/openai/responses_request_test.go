package openai_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// sent returns the request for the Responses wire as maps.
func sent(t testing.TB, req message.ModelRequest) (all map[string]any, input []any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(body(t, req, responses())), &all))
	return all, all["input"].([]any)
}

// said is an assistant's message.
func said(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: message.ListOf(blocks...)}
}

func resultOf(id string, r message.ToolResult) message.Message {
	return message.Message{Role: message.RoleTool, CallID: id, Tool: "read", Result: r}
}

func TestAResponsesRequest(t *testing.T) {
	t.Parallel()
	req := message.ModelRequest{
		Model: message.Model{
			Name: "m", MaxTokens: 100, Temperature: message.Some(0.5), TopP: message.Some(1.0), Reasoning: message.Reasoning{Effort: message.EffortHigh},
			Choice: message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "read"}, Tier: "flex", Extra: `{"truncation":"auto"}`,
			Format: message.ResponseFormat{Schema: `{"type":"object"}`, Name: "out"},
		},
		System: "Be brief.",
		Messages: message.MessagesOf(message.UserText("Read a & b"), said(message.TextBlock("I look."), call("1", "read", `{"path":"a"}`), call("2", "read", `{"p`)),
			resultOf("1", message.TextResult("one")), resultOf("2", message.ToolResult{Failure: message.FailTimeout})),
		Tools: message.NewToolSet([]message.Tool{lookup(), {Name: "list", Input: "{"}}),
	}
	want := `{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"prompt_cache_key":"KEY","instructions":"Be brief.",` +
		`"tools":[{"type":"function","name":"read","description":"Reads a <file>.","strict":false,"parameters":{"type":"object","properties":{"path":{"type":"string"}}}},` +
		`{"type":"function","name":"list","strict":false,"parameters":{"type":"object","properties":{}}}],` +
		`"tool_choice":{"type":"function","name":"read"},"text":{"format":{"type":"json_schema","strict":false,"name":"out","schema":{"type":"object"}}},` +
		`"max_output_tokens":100,"temperature":0.5,"top_p":1,"service_tier":"flex","reasoning":{"effort":"high"},"truncation":"auto","input":[` +
		`{"role":"user","content":"Read a & b"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},` +
		`{"type":"function_call","call_id":"1","name":"read","arguments":"{\"path\":\"a\"}"},` +
		`{"type":"function_call","call_id":"2","name":"read","arguments":"{\"unparsed_arguments\":\"{\\\"p\"}"},` +
		`{"type":"function_call_output","call_id":"1","output":"one"},{"type":"function_call_output","call_id":"2","output":"failed: timeout"}]}`
	got := body(t, req, responses())
	key := got[strings.Index(got, `_key":"`)+len(`_key":"`):][:32]
	assert.Equal(t, strings.Replace(want, "KEY", key, 1), got)

	req.Messages, req.Model.MaxTokens = message.MessagesOf(message.UserText("another")), 7
	assert.Contains(t, body(t, req, responses()), key, "one cache for all conversations that begin alike")
	req.System = "Be long."
	assert.NotContains(t, body(t, req, responses()), key)
}

// What the vendor signed goes back as it came, to the model that made it.
func TestReasoningGoesBack(t *testing.T) {
	t.Parallel()
	answer := wholeResponse()
	req := hello()
	req.Messages = message.MessagesOf(message.UserText("hello"), message.Message{Role: message.RoleAssistant, Content: answer.Content},
		resultOf("call_Ab1", message.TextResult("one")), resultOf("call_Cd2", message.TextResult("two")))
	got := body(t, req, responses())
	assert.Contains(t, got, `{"type":"reasoning","id":"rs_01","summary":[{"type":"summary_text","text":"Both are needed."},{"type":"summary_text","text":"I read “both”."}],"encrypted_content":"gAAA+/signed=="},`+
		`{"type":"message","id":"msg_01","phase":"commentary","role":"assistant","content":[{"type":"output_text","text":"I look — at \"both\"."}]},`+
		`{"type":"function_call","id":"fc_01","call_id":"call_Ab1","name":"read","arguments":"{\"path\":\"a.txt\"}"},`)

	req.Model.Name = "another"
	got = body(t, req, responses())
	for _, gone := range []string{"signed", "rs_01", "msg_01", "fc_01", "Both are needed"} {
		assert.NotContains(t, got, gone, "another model gets neither the reasoning nor the ids that need it")
	}
	assert.Contains(t, got, `"phase":"commentary"`)
	assert.Contains(t, got, `"call_id":"call_Ab1"`)
}

func TestWhatOthersSignedStaysAway(t *testing.T) {
	t.Parallel()
	sign := func(b message.Block, meta string) message.Block { b.Meta = message.JSON(meta); return b }
	signed := sign(reasoning("hm"), `{"openai":{"id":"rs_1","model":"m","encrypted":"OWN"}}`)
	own := sign(message.TextBlock("ok"), `{"openai":{"id":"msg_1","model":"m"}}`)
	for name, tc := range map[string]struct {
		blocks []message.Block
		sent   bool
	}{
		"own, with its text":      {[]message.Block{signed, own}, true},
		"own, with its call":      {[]message.Block{signed, sign(call("1", "read", "{}"), `{"openai":{"id":"fc_1","model":"m"}}`)}, true},
		"two in a row":            {[]message.Block{signed, signed, own}, true},
		"nothing behind it":       {[]message.Block{own, signed}, false},
		"a foreign text":          {[]message.Block{signed, message.TextBlock("ok")}, false},
		"Anthropic's":             {[]message.Block{sign(reasoning("hm"), `{"anthropic":{"signature":"OWN"}}`), own}, false},
		"not signed":              {[]message.Block{reasoning("OWN"), own}, false},
		"of the same name inside": {[]message.Block{sign(reasoning("hm"), `{"gemini":{"openai":{"encrypted":"OWN"}}}`), own}, false},
		"no object":               {[]message.Block{sign(reasoning("hm"), `{"openai":"OWN"}`), own}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := hello()
			req.Messages = message.MessagesOf(message.UserText("x"), said(tc.blocks...), resultOf("1", message.TextResult("r")))
			got := body(t, req, responses())
			assert.Equal(t, tc.sent, strings.Contains(got, "OWN"), got)
			assert.Equal(t, tc.sent, strings.Contains(got, `"type":"reasoning"`))
			if !tc.sent && name != "nothing behind it" {
				assert.NotContains(t, got, `"id":`, "an id needs the reasoning before it")
			}
		})
	}
}

func TestIDsOfOthersAreMapped(t *testing.T) {
	t.Parallel()
	for _, id := range []string{strings.Repeat("x", 65), "functions.read:0", "a b"} {
		req := hello()
		req.Messages = message.MessagesOf(message.UserText("x"), said(call(id, "read", "{}")), resultOf(id, message.TextResult("r")))
		_, input := sent(t, req)
		mapped := input[1].(map[string]any)["call_id"].(string)
		assert.LessOrEqual(t, len(mapped), 64)
		assert.Equal(t, mapped, input[2].(map[string]any)["call_id"])
	}
	req := hello()
	foreign := message.Block{Kind: message.BlockText, Text: "ok", Meta: `{"openai":{"id":"other_1","model":"m"}}`}
	req.Messages = message.MessagesOf(message.UserText("x"), said(foreign))
	assert.NotContains(t, body(t, req, responses()), "other_1", "only ids of the form msg_")
}

func TestARefusalGoesBackAsOne(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Messages = message.MessagesOf(message.UserText("x"), said(marked(message.TextBlock("No."), `{"id":"msg_1","model":"m","refusal":true}`)), message.UserText("y"))
	assert.Contains(t, body(t, req, responses()), `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`)
}

func TestMedia(t *testing.T) {
	t.Parallel()
	image := message.Block{Kind: message.BlockImage, MIME: "image/gif", Data: "R0lG"}
	link := message.Block{Kind: message.BlockImage, URI: "https://a.test/b.png"}
	pdf := message.Block{Kind: message.BlockDocument, MIME: "application/pdf", Data: "JVBE", Name: "plan.pdf"}
	pdfLink := message.Block{Kind: message.BlockDocument, URI: "https://a.test/b.pdf"}
	sound := message.Block{Kind: message.BlockAudio, MIME: "audio/mpeg", Data: "SUQz"}
	odd := message.Block{Kind: message.BlockAudio, MIME: "audio/ogg", Data: "T2dn"}
	user := func(blocks ...message.Block) message.Message {
		return message.Message{Role: message.RoleUser, Content: message.ListOf(append([]message.Block{message.TextBlock("see")}, blocks...)...)}
	}
	result := func(blocks ...message.Block) message.Message {
		return resultOf("1", message.ToolResult{Content: message.ListOf(blocks...)})
	}
	calling := said(call("1", "read", "{}"))
	const (
		chatImage = `{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lG"}}`
		respImage = `{"type":"input_image","detail":"auto","image_url":"data:image/gif;base64,R0lG"}`
		chatPDF   = `{"type":"file","file":{"filename":"plan.pdf","file_data":"data:application/pdf;base64,JVBE"}}`
		respPDF   = `{"type":"input_file","filename":"plan.pdf","file_data":"data:application/pdf;base64,JVBE"}`
	)
	for name, tc := range map[string]struct {
		messages        []message.Message
		chat, responses string
	}{
		"an image":                {[]message.Message{user(image)}, `{"type":"text","text":"see"},` + chatImage, `{"type":"input_text","text":"see"},` + respImage},
		"an image's link":         {[]message.Message{user(link)}, `{"url":"https://a.test/b.png"}`, `"image_url":"https://a.test/b.png"`},
		"a PDF":                   {[]message.Message{user(pdf)}, chatPDF, respPDF},
		"a PDF's link":            {[]message.Message{user(pdfLink)}, `"content":"seehttps://a.test/b.pdf"`, `{"type":"input_file","file_url":"https://a.test/b.pdf"}`},
		"of a result":             {[]message.Message{calling, result(message.TextBlock("it"), image, pdf)}, `{"role":"tool","content":"it","tool_call_id":"1"},{"role":"user","content":[{"type":"text","text":"An image of the result of 1:"},` + chatImage + `,{"type":"text","text":"A document of the result of 1:"},` + chatPDF + `]}`, `"output":[{"type":"input_text","text":"it"},` + respImage + `,` + respPDF + `]`},
		"alone in one":            {[]message.Message{calling, result(pdf)}, `"content":"[the document follows]"`, `"output":[` + respPDF + `]`},
		"of the assistant":        {[]message.Message{user(), said(message.TextBlock("made"), image)}, `{"role":"assistant","content":"made"},{"role":"user","content":[{"type":"text","text":"An image of the assistant:"},` + chatImage + `]}`, `{"role":"user","content":[{"type":"input_text","text":"An image of the assistant:"},` + respImage + `]}`},
		"and it calls":            {[]message.Message{user(), said(image, call("1", "read", "{}")), result(message.TextBlock("it"))}, `"tool_call_id":"1"},{"role":"user","content":[{"type":"text","text":"An image of the assistant:"}`, `"output":"it"},{"role":"user","content":[{"type":"input_text","text":"An image of the assistant:"}`},
		"sound":                   {[]message.Message{user(sound), said(message.TextBlock("ok")), user()}, `{"type":"input_audio","input_audio":{"data":"SUQz","format":"mp3"}}`, "[a recording was left out here"},
		"sound of a tool":         {[]message.Message{calling, result(sound)}, `A recording of the result of 1:`, ""},
		"sound of a tool, before": {[]message.Message{calling, result(sound), user()}, `A recording of the result of 1:`, `"output":"[a recording was left out here, because this model does not take it]"`},
		"odd sound":               {[]message.Message{user(odd)}, `"format":"ogg"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := hello()
			req.Messages = message.MessagesOf(tc.messages...)
			assert.Contains(t, body(t, req, nil), tc.chat)
			if tc.responses != "" {
				assert.Contains(t, body(t, req, responses()), tc.responses)
			}
		})
	}
	req := hello()
	req.Messages = message.MessagesOf(user(), calling, result(sound))
	require.ErrorContains(t, refused(t, req, responses()), "the recording in the message (\"audio/mpeg\") cannot be sent")
	for _, o := range []*openai.Options{responses(), {BaseURL: "https://api.openai.com/v1"}} {
		req := hello()
		req.Model.Name = "gpt-4o"
		req.Messages = message.MessagesOf(user(odd))
		err := refused(t, req, o)
		assert.ErrorContains(t, err, "the recording in the message (\"audio/ogg\") cannot be sent")
		assert.ErrorContains(t, err, "gpt-audio")
	}
}

// TestImagesThatServersRefuse: OpenAI refuses every request of a conversation with such an image.
func TestImagesThatServersRefuse(t *testing.T) {
	t.Parallel()
	own := &openai.Options{BaseURL: "https://api.openai.com/v1"}
	calling := message.Message{Role: message.RoleAssistant, Content: message.ListOf(call("1", "read", "{}"))}
	result := func(b message.Block) message.Message {
		return message.Message{Role: message.RoleTool, CallID: "1", Tool: "read", Result: message.ToolResult{Content: message.ListOf(b)}}
	}
	for mime, o := range map[string]*openai.Options{"image/svg+xml": own, "image/png\r\nX: y": {}, "text/html": {}} {
		req := hello()
		req.Model.Name = "gpt-4o"
		image := message.Block{Kind: message.BlockImage, MIME: mime, Data: "PHN2Zz4="}
		req.Messages = message.MessagesOf(message.UserText("u"), calling, result(image))
		assert.ErrorContains(t, refused(t, req, o), "use PNG, JPEG, GIF or WebP")
		req.Messages = message.MessagesOf(message.UserText("u"), calling, result(image), message.UserText("v"))
		var r records
		all := *o
		all.APIKey, all.BaseURL, all.Client = canary, cmp.Or(o.BaseURL, "http://model.test/v1"), &http.Client{Transport: r.serve(t)}
		_, err := provider.Collect(openai.New(&all).Stream(t.Context(), req))
		require.NoError(t, err)
		sent := r.bodies[0]
		assert.Contains(t, sent, "[an image was left out here, because this model does not take it]")
		assert.NotContains(t, sent, "PHN2Zz4=")
	}
	req := hello()
	req.Messages = message.MessagesOf(message.UserText("u"), calling, result(message.Block{Kind: message.BlockImage, MIME: "image/svg+xml", Data: "PHN2Zz4="}))
	assert.Contains(t, body(t, req, nil), "data:image/svg+xml;base64,PHN2Zz4=", "another server may know it")
}

// refused returns the error of a request that must not be sent.
func refused(t testing.TB, req message.ModelRequest, o *openai.Options) error {
	t.Helper()
	all := *o
	all.APIKey = canary
	if all.BaseURL == "" {
		all.BaseURL = "http://model.test/v1"
	}
	all.Client = &http.Client{Transport: server(func(*http.Request) (*http.Response, error) {
		t.Error("a request was made")
		return nil, io.EOF
	})}
	p := openai.New(&all)
	require.NoError(t, p.Err())
	_, err := provider.Collect(p.Stream(t.Context(), req))
	require.Error(t, err)
	class, _ := provider.Classify(err)
	assert.Equal(t, message.FailureRequest, class)
	return err
}

func TestSettingsThatCannotBe(t *testing.T) {
	t.Parallel()
	own := &openai.Options{BaseURL: "https://api.openai.com/v1"}
	for name, tc := range map[string]struct {
		m    message.Model
		o    *openai.Options
		want string
	}{
		"a seed":                {message.Model{Name: "m", Seed: message.Some[int64](7)}, responses(), "the Responses wire has no seed; leave seed out"},
		"stop texts":            {message.Model{Name: "m", Stop: message.ListOf("END")}, responses(), "has no stop texts"},
		"temperature":           {message.Model{Name: "gpt-5.6", Temperature: message.Some(0.0)}, own, "set reasoning to off, or leave temperature out"},
		"a budget":              {message.Model{Name: "gpt-5.6", Reasoning: message.Reasoning{Budget: 1000}}, own, "it has no budget for reasoning"},
		"no reasoning":          {message.Model{Name: "gpt-6.2-sol", Reasoning: message.Reasoning{Effort: message.EffortOff}}, own, "cannot be turned off"},
		"an effort of no use":   {message.Model{Name: "gpt-4o", Reasoning: message.Reasoning{Effort: message.EffortLow}}, own, "it does not reason"},
		"tools on the old wire": {message.Model{Name: "gpt-5.6"}, &openai.Options{BaseURL: own.BaseURL, Wire: openai.WireChat}, "it takes tools on the Responses wire only"},
		"extra of our own":      {message.Model{Name: "m", Extra: `{"stream":false}`}, &openai.Options{}, `may not set "stream"`},
		"extra and a setting":   {message.Model{Name: "m", Temperature: message.Some(1.0), Extra: `{"temperature":0}`}, &openai.Options{}, `may not set "temperature"`},
		"extra with tools":      {message.Model{Name: "m", Extra: `{"functions":[]}`}, &openai.Options{}, `may not set "functions"`},
		"extra with a search":   {message.Model{Name: "m", Extra: `{"web_search_options":{}}`}, &openai.Options{}, `may not set "web_search_options"`},
		"extra with plugins":    {message.Model{Name: "m", Extra: `{"plugins":[{"id":"web"}]}`}, &openai.Options{}, `may not set "plugins"`},
		"extra with models":     {message.Model{Name: "m", Extra: `{"models":["dear"]}`}, &openai.Options{}, `may not set "models"`},
		"extra, no object":      {message.Model{Name: "m", Extra: `[]`}, &openai.Options{}, "not a JSON object"},
		"no number":             {message.Model{Name: "m", TopP: message.Some(math.NaN())}, &openai.Options{}, "numbers from 0 on"},
		"a schema":              {message.Model{Name: "m", Format: message.ResponseFormat{Schema: "{"}}, responses(), "schema"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := hello()
			req.Model, req.Tools = tc.m, message.NewToolSet([]message.Tool{lookup()})
			assert.ErrorContains(t, refused(t, req, tc.o), tc.want)
		})
	}
}

func TestSettingsOnTheChatWire(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Model = message.Model{Name: "m", Temperature: message.Some(0.0), TopP: message.Some(0.95), Seed: message.Some[int64](-7), Stop: message.ListOf("a\"", "b"),
		Reasoning: message.Reasoning{Effort: message.EffortOff}, Tier: "flex", Extra: `{"min_p":0.1}`}
	assert.Contains(t, body(t, req, &openai.Options{Extra: `{"temperature":1,"top_k":40,"min_p":0.2}`}),
		`"temperature":0,"top_p":0.95,"service_tier":"flex","reasoning_effort":"none","seed":-7,"stop":["a\"","b"],"min_p":0.1,"top_k":40,"stream":true`)
}

// The model's family chooses the wire at OpenAI and Azure; other servers speak chat.
func TestTheWireOfAModel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		url, vendor, model string
		wire               openai.Wire
		want               string
	}{
		{"https://api.openai.com/v1", "", "gpt-5.6", "", "/v1/responses"},
		{"https://api.openai.com/v1", "", "gpt-9-from-the-future", "", "/v1/responses"},
		{"https://api.openai.com/v1", "", "gpt-4o", "", "/v1/chat/completions"},
		{"https://api.openai.com/v1", "", "gpt-4o", openai.WireResponses, "/v1/responses"},
		{"https://mine.openai.azure.com/openai/v1", "azure", "gpt-5.6", "", "/openai/v1/responses"},
		{"http://127.0.0.1:8080/v1", "", "gpt-5.6", "", "/v1/chat/completions"},
		{"", "ollama", "gpt-oss:20b", "", "/v1/chat/completions"},
		{"", "openrouter", "openai/gpt-5.6", "", "/api/v1/chat/completions"},
	} {
		var r records
		p := openai.New(&openai.Options{BaseURL: tc.url, Vendor: tc.vendor, Wire: tc.wire, APIKey: canary, Network: provider.Network{Client: &http.Client{Transport: r.serve(t)}}})
		req := hello()
		req.Model.Name = tc.model
		_, err := provider.Collect(p.Stream(t.Context(), req))
		require.NoError(t, err, tc)
		assert.True(t, strings.HasSuffix(r.urls[0], tc.want), "%v: %s", tc, r.urls[0])
	}
}

// Of twenty requests of a growing conversation, each begins with the one before, but for the
// brackets at its end.
func TestRequestsKeepTheirPrefix(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*openai.Options{"chat": {}, "responses": responses()} {
		messages := []message.Message{message.UserText("begin")}
		before := ""
		for turn := range 20 {
			req := hello()
			req.System, req.Tools, req.Messages = "Be brief.", message.NewToolSet([]message.Tool{lookup()}), message.MessagesOf(messages...)
			got := body(t, req, o)
			// The history is the last member of one wire and before the tools on the other.
			end := strings.Index(got, `],"tools":[`)
			if end < 0 {
				end = len(got) - len(`]}`)
			}
			require.True(t, strings.HasPrefix(got, before), "%s: request %d", name, turn)
			before = got[:end]
			id := fmt.Sprintf("call_%d", turn)
			messages = append(messages, said(marked(reasoning("hm"), `{"id":"rs_1","model":"m","encrypted":"e"}`), marked(call(id, "read", `{}`), `{"id":"fc_1","model":"m"}`)),
				resultOf(id, message.TextResult("line")), said(marked(message.TextBlock("ok"), `{"id":"msg_1","model":"m"}`)), message.UserText("and then?"))
		}
	}
}
