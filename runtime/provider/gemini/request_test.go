package gemini_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
)

const (
	thoughts = `,"generationConfig":{"thinkingConfig":{"includeThoughts":true}}`
	schema   = `{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`
)

func tools(inputs ...message.JSON) *message.ToolSet {
	var all []message.Tool
	for i, input := range inputs {
		all = append(all, message.Tool{Name: string(rune('a' + i)), Input: input})
	}
	return message.NewToolSet(all)
}

func image() message.Block {
	return message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "iVBO"}
}

// Contents are compared whole: what the model would see.
func TestContents(t *testing.T) {
	t.Parallel()
	signed := own(`"model":"` + modern + `","id":"i1","signature":"S1=="`)
	read := func(blocks ...message.Block) []message.Message { // a step that calls, with its results
		ms := []message.Message{message.UserText("go"), assistant(blocks...)}
		for _, b := range blocks {
			if b.Kind == message.BlockToolCall {
				ms = append(ms, result(b.CallID, b.Tool, message.TextResult("r"+b.CallID)))
			}
		}
		return ms
	}
	const goes = `{"role":"user","parts":[{"text":"go"}]},`
	for _, c := range []struct {
		name, model string
		messages    []message.Message
		want        string
	}{
		{"messages of one role are one content", modern, []message.Message{message.UserText("a"), user(text("b"), text("")), message.UserText("")},
			`{"role":"user","parts":[{"text":"a"},{"text":"b"}]}`},
		{"blank texts stay, empty answers do not", modern, []message.Message{message.UserText(" "), assistant(text("")), message.UserText("b")},
			`{"role":"user","parts":[{"text":" "},{"text":"b"}]}`},
		{"texts are no markup", modern, []message.Message{message.UserText("<a&\"b\n\u2028\xff")},
			`{"role":"user","parts":[{"text":"<a&\"b\n\u2028\ufffd"}]}`},
		{"a call with signature and id", modern, read(call("c1", "read", `{"n":12345678901234567890}`, signed)),
			goes + `{"role":"model","parts":[{"functionCall":{"id":"i1","name":"read","args":{"n":12345678901234567890}},"thoughtSignature":"S1=="}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"i1","name":"read","response":{"output":"rc1"}}}]}`},
		{"another model of Gemini gets the id and no signature", "gemini-3-pro-preview", read(call("c1", "read", `{}`, signed)),
			goes + `{"role":"model","parts":[{"functionCall":{"id":"i1","name":"read","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"i1","name":"read","response":{"output":"rc1"}}}]}`},
		{"models before Gemini 3 get neither", older, read(call("c1", "read", `{}`, signed)),
			goes + `{"role":"model","parts":[{"functionCall":{"name":"read","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"rc1"}}}]}`},
		{"calls of another vendor: the first one gets the value for that", modern,
			read(message.Block{Kind: message.BlockReasoning, Text: "secret", Meta: `{"anthropic":{"signature":"FOREIGN"}}`},
				call("toolu_1", "a", `{}`, `{"anthropic":{"model":"`+modern+`","signature":"FOREIGN","id":"x"}}`), call("toolu_2", "b", ``, "")),
			goes + `{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"b","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"a","response":{"output":"rtoolu_1"}}},{"functionResponse":{"name":"b","response":{"output":"rtoolu_2"}}}]}`},
		{"thoughts and signed texts go back as they came", modern,
			append(read(message.Block{Kind: message.BlockReasoning, Text: "hm", Meta: own(`"model":"` + modern + `"`)}, text("I "),
				message.Block{Kind: message.BlockText, Text: "look", Meta: own(`"model":"` + modern + `","signature":"S2"`)}, call("c1", "a", `{}`, signed)),
				assistant(text("done"), message.Block{Kind: message.BlockText, Meta: own(`"model":"` + modern + `","signature":"S3"`)}), message.UserText("more")),
			goes + `{"role":"model","parts":[{"text":"hm","thought":true},{"text":"I "},{"text":"look","thoughtSignature":"S2"},` +
				`{"functionCall":{"id":"i1","name":"a","args":{}},"thoughtSignature":"S1=="}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"i1","name":"a","response":{"output":"rc1"}}}]},` +
				`{"role":"model","parts":[{"text":"done"},{"text":"","thoughtSignature":"S3"}]},{"role":"user","parts":[{"text":"more"}]}`},
		{"another model gets the texts alone", older,
			[]message.Message{message.UserText("go"), assistant(message.Block{Kind: message.BlockReasoning, Text: "hm", Meta: own(`"model":"` + modern + `"`)},
				message.Block{Kind: message.BlockText, Text: "look", Meta: own(`"model":"` + modern + `","signature":"S2"`)},
				message.Block{Kind: message.BlockText, Meta: own(`"model":"` + modern + `","signature":"S3"`)}), message.UserText("more")},
			goes + `{"role":"model","parts":[{"text":"look"}]},{"role":"user","parts":[{"text":"more"}]}`},
		{"an answer of thoughts alone is left out", modern,
			[]message.Message{message.UserText("go"), assistant(message.Block{Kind: message.BlockReasoning, Text: "hm", Meta: own(`"model":"` + modern + `","signature":"S"`)}), message.UserText("more")},
			`{"role":"user","parts":[{"text":"go"},{"text":"more"}]}`},
		{"parts of unknown kinds go back whole", modern,
			[]message.Message{message.UserText("go"), assistant(message.Block{Kind: message.BlockReasoning, Meta: own(`"model":"` + modern + `","signature":"S","part":{"executableCode":{"language":"PYTHON","code":"1"}}`)}), message.UserText("more")},
			goes + `{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"S"}]},{"role":"user","parts":[{"text":"more"}]}`},
		{"arguments that are no object", modern, read(call("c1", "a", `[1`, signed)),
			goes + `{"role":"model","parts":[{"functionCall":{"id":"i1","name":"a","args":{"unparsed_arguments":"[1"}},"thoughtSignature":"S1=="}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"i1","name":"a","response":{"output":"rc1"}}}]}`},
		{"arguments that no strict reader takes, and no name", modern, read(call("1", "", `{"s":"\ud83d"}`, signed), call("2", "a", `{"a":1,"a":2}`, ""), call("3", "a", "{\"a\":\"\xff\"}", "")),
			goes + `{"role":"model","parts":[{"functionCall":{"id":"i1","name":"unnamed","args":{"unparsed_arguments":"{\"s\":\"\\ud83d\"}"}},"thoughtSignature":"S1=="},` +
				`{"functionCall":{"name":"a","args":{"unparsed_arguments":"{\"a\":1,\"a\":2}"}}},{"functionCall":{"name":"a","args":{"unparsed_arguments":"{\"a\":\"\ufffd\"}"}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"i1","name":"unnamed","response":{"output":"r1"}}},{"functionResponse":{"name":"a","response":{"output":"r2"}}},{"functionResponse":{"name":"a","response":{"output":"r3"}}}]}`},
		{"an id that a later answer of another vendor has again", modern,
			append(read(call("c1", "a", `{}`, signed)), read(call("c1", "a", `{}`, ""))[1:]...),
			goes + `{"role":"model","parts":[{"functionCall":{"id":"i1","name":"a","args":{}},"thoughtSignature":"S1=="}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"i1","name":"a","response":{"output":"rc1"}}}]},` +
				`{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"a","response":{"output":"rc1"}}}]}`},
		{"results of all kinds, before the user's words", modern, []message.Message{
			message.UserText("go"), assistant(call("1", "a", `{}`, signed), call("2", "b", `{}`, ""), call("3", "c", `{}`, "")),
			result("1", "a", message.FailedResult(message.FailOperation, "no")), message.UserText("wait"),
			result("2", "b", message.ToolResult{Failure: message.FailTimeout}), result("3", "c", message.JSONResult(`{"n":1}`))},
			goes + `{"role":"model","parts":[{"functionCall":{"id":"i1","name":"a","args":{}},"thoughtSignature":"S1=="},{"functionCall":{"name":"b","args":{}}},{"functionCall":{"name":"c","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"i1","name":"a","response":{"error":"no"}}},{"functionResponse":{"name":"b","response":{"error":"failed: timeout"}}},{"functionResponse":{"name":"c","response":{"output":"{\"n\":1}"}}}]},` +
				`{"role":"user","parts":[{"text":"wait"}]}`},
		{"media of results within them", modern, []message.Message{
			message.UserText("go"), assistant(call("1", "a", `{}`, signed)),
			result("1", "a", message.ToolResult{Content: message.ListOf(text("see"), image(),
				message.Block{Kind: message.BlockDocument, Data: "JVBE"}, message.Block{Kind: message.BlockAudio, MIME: "audio/wav", Data: "UklG"})})},
			goes + `{"role":"model","parts":[{"functionCall":{"id":"i1","name":"a","args":{}},"thoughtSignature":"S1=="}]},` +
				`{"role":"user","parts":[{"functionResponse":{"id":"i1","name":"a","response":{"output":"see\n[audio follows]"},` +
				`"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBO"}},{"inlineData":{"mimeType":"application/pdf","data":"JVBE"}}]}}]},` +
				`{"role":"user","parts":[{"text":"Part of the result of a:"},{"inlineData":{"mimeType":"audio/wav","data":"UklG"}}]}`},
		{"media of results behind them", older, []message.Message{
			message.UserText("go"), assistant(call("1", "a", `{}`, "")), result("1", "a", message.ToolResult{Content: message.ListOf(image())})},
			goes + `{"role":"model","parts":[{"functionCall":{"name":"a","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"a","response":{"output":"[image follows]"}}}]},` +
				`{"role":"user","parts":[{"text":"Part of the result of a:"},{"inlineData":{"mimeType":"image/png","data":"iVBO"}}]}`},
		{"media of the user", modern, []message.Message{user(
			message.Block{Kind: message.BlockImage, URI: "https://example.com/a.png"}, message.Block{Kind: message.BlockAudio, MIME: "audio/mp3", Data: "SUQz"},
			message.Block{Kind: message.BlockDocument, MIME: "application/pdf", URI: "gs://b/a.pdf"}, message.Block{Kind: message.BlockImage, MIME: "image/gif", Data: "R0lG", Name: "a.gif"},
			message.Block{Kind: message.BlockImage, URI: "file:///etc/passwd"}, message.Block{Kind: message.BlockResource, URI: "mem://x", Text: "of x"}, message.Block{Kind: message.BlockJSON, JSON: `{"a":1}`})},
			`{"role":"user","parts":[{"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a.png"}},{"inlineData":{"mimeType":"audio/mp3","data":"SUQz"}},` +
				`{"fileData":{"mimeType":"application/pdf","fileUri":"gs://b/a.pdf"}},{"text":"[left out, because it cannot be sent here: image a.gif image/gif]"},` +
				`{"text":"file:///etc/passwd"},{"text":"of x"},{"text":"{\"a\":1}"}]}`},
		{"images that the model made, and others", modern, []message.Message{message.UserText("go"), assistant(
			message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "iVBO", Meta: own(`"model":"` + modern + `","signature":"S"`)},
			message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "iVBO"}), message.UserText("more")},
			goes + `{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBO"},"thoughtSignature":"S"},` +
				`{"text":"[left out, because it cannot be sent here: image  image/png]"}]},{"role":"user","parts":[{"text":"more"}]}`},
		{"metadata that is none", modern, []message.Message{message.UserText("go"), assistant(
			call("1", "a", `{}`, `{"gemini":7}`), message.Block{Kind: message.BlockReasoning, Text: "x", Meta: `{"gemini":"`}), result("1", "a", message.TextResult(""))},
			goes + `{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"a","response":{"output":""}}}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			body, err := sent(t, asks, message.ModelRequest{Model: message.Model{Name: c.model}, Messages: message.MessagesOf(c.messages...)})
			require.NoError(t, err)
			assert.Equal(t, `{"contents":[`+c.want+`]`+thoughts+`}`, body)
		})
	}
}

// Everything but the contents, as whole bodies.
func TestSettings(t *testing.T) {
	t.Parallel()
	const contents = `"contents":[{"role":"user","parts":[{"text":"hello"}]}]`
	model := func(name string, set func(m *message.Model)) message.Model {
		m := message.Model{Name: name}
		set(&m)
		return m
	}
	for _, c := range []struct {
		name  string
		model message.Model
		tools *message.ToolSet
		want  string
	}{
		{"a model that does not think", message.Model{Name: plain}, nil, ``},
		{"everything", message.Model{Name: plain, MaxTokens: 100, Temperature: message.Some(0.0), TopP: message.Some(0.95), Seed: message.Some[int64](-7),
			Stop: message.ListOf("END", "<|x|>"), Tier: "flex", Format: message.ResponseFormat{Schema: `{"type":"array"}`},
			Extra: `{"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}],"generationConfig":{"topK":4,"responseModalities":["TEXT"]},"cachedContent":"cachedContents/1"}`}, nil,
			`,"generationConfig":{"maxOutputTokens":100,"temperature":0,"topP":0.95,"seed":-7,"stopSequences":["END","<|x|>"],"responseMimeType":"application/json","responseJsonSchema":{"type":"array"},"responseModalities":["TEXT"],"topK":4}` +
				`,"serviceTier":"flex","cachedContent":"cachedContents/1","safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}]`},
		{"extra alone", message.Model{Name: plain, Extra: `{"generationConfig":{"topK":4}}`}, nil, `,"generationConfig":{"topK":4}`},
		{"extra of nothing", message.Model{Name: plain, Extra: ` {"generationConfig":{}} `}, nil, ``},
		{"a budget", model(older, func(m *message.Model) { m.Reasoning.Budget = 2000 }), nil, `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":2000}}`},
		{"an effort of a model with budgets", model(older, func(m *message.Model) { m.Reasoning.Effort = message.EffortLow }), nil, `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":1024}}`},
		{"off, with a budget", model(older, func(m *message.Model) { m.Reasoning.Effort = message.EffortOff }), nil, `,"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}`},
		{"off, of a model that does not think", model(plain, func(m *message.Model) { m.Reasoning.Effort = message.EffortOff }), nil, ``},
		{"a level", model(modern, func(m *message.Model) { m.Reasoning.Effort = message.EffortHigh }), nil, `,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}`},
		{"a model that thinks only if asked", message.Model{Name: "gemini-2.5-flash-lite"}, nil, ``},
		{"a model of another family", message.Model{Name: "gemma-3-27b-it"}, nil, ``},
		{"JSON without a schema", model(plain, func(m *message.Model) { m.Format.JSON = true }), nil, `,"generationConfig":{"responseMimeType":"application/json"}`},
		{"a format with tools", model(modern, func(m *message.Model) { m.Format.Schema = `{"type":"object"}` }), tools(schema),
			`,"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"},"thinkingConfig":{"includeThoughts":true}}`},
		{"no tool", model(plain, func(m *message.Model) { m.Choice.Mode = message.ToolChoiceNone }), tools(schema), `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`},
		{"some tool", model(plain, func(m *message.Model) { m.Choice.Mode = message.ToolChoiceRequired }), tools(schema), `,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`},
		{"one tool", model(plain, func(m *message.Model) { m.Choice = message.ToolChoice{Mode: message.ToolChoiceTool, Tool: "a"} }), tools(schema),
			`,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["a"]}}`},
		{"a choice without tools", model(plain, func(m *message.Model) { m.Choice.Mode = message.ToolChoiceRequired }), nil, ``},
		{"the choice auto", model(plain, func(m *message.Model) { m.Choice.Mode = message.ToolChoiceAuto }), tools(schema), ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			declared := ""
			if c.tools != nil {
				declared = `"tools":[{"functionDeclarations":[{"name":"a","parametersJsonSchema":` + schema + `}]}],`
			}
			body, err := sent(t, asks, message.ModelRequest{Model: c.model, Tools: c.tools, Messages: message.MessagesOf(message.UserText("hello"))})
			require.NoError(t, err)
			assert.Equal(t, `{`+declared+contents+c.want+`}`, body)
		})
	}
}

func TestToolsAndSystem(t *testing.T) {
	t.Parallel()
	set := tools(schema, `{"properties":{"a":{"const":1}},"oneOf":[{"required":["a"]}]}`, `{}`, ``, `{"type":["object","null"]}`, `[1`)
	body, err := sent(t, asks, message.ModelRequest{Model: message.Model{Name: plain}, System: `Be "brief".`, Tools: set, Messages: message.MessagesOf(message.UserText("x"))})
	require.NoError(t, err)
	none := `{"type":"object","properties":{}}`
	assert.Equal(t, `{"systemInstruction":{"parts":[{"text":"Be \"brief\"."}]},"tools":[{"functionDeclarations":[`+
		`{"name":"a","parametersJsonSchema":`+schema+`},`+
		`{"name":"b","parametersJsonSchema":{"type":"object","oneOf":[{"required":["a"]}],"properties":{"a":{"const":1}}}},`+
		`{"name":"c","parametersJsonSchema":`+none+`},{"name":"d","parametersJsonSchema":`+none+`},{"name":"e","parametersJsonSchema":`+none+`},{"name":"f","parametersJsonSchema":`+none+`}]}],`+
		`"contents":[{"role":"user","parts":[{"text":"x"}]}]}`, body)
	described := message.NewToolSet([]message.Tool{{Name: "read", Description: "Reads <a> file.", Input: schema}})
	body, err = sent(t, asks, message.ModelRequest{Model: message.Model{Name: plain}, System: " \n", Tools: described, Messages: message.MessagesOf(message.UserText("x"))})
	require.NoError(t, err)
	assert.Equal(t, `{"tools":[{"functionDeclarations":[{"name":"read","description":"Reads <a> file.","parametersJsonSchema":`+schema+`}]}],"contents":[{"role":"user","parts":[{"text":"x"}]}]}`, body)
}

// What would be refused is an error before the request, which says what would work.
func TestRefusedBeforeTheRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		model message.Model
		tools *message.ToolSet
		want  []string
	}{
		{"no model", message.Model{}, nil, []string{"no model is named", "gemini-3.8-flash"}},
		{"a path", message.Model{Name: "../../evil"}, nil, []string{`"../../evil" is no name of a model`}},
		{"a query", message.Model{Name: "gemini-3?key=x"}, nil, []string{"is no name of a model"}},
		{"dots", message.Model{Name: ".."}, nil, []string{"is no name of a model"}},
		{"a method", message.Model{Name: "gemini-3:countTokens"}, nil, []string{"is no name of a model"}},
		{"a budget with levels", message.Model{Name: modern, Reasoning: message.Reasoning{Budget: 100}}, nil, []string{"has no budget for reasoning", "low, medium or high"}},
		{"thinking that cannot be off", message.Model{Name: modern, Reasoning: message.Reasoning{Effort: message.EffortOff}}, nil, []string{"cannot be turned off", "low, medium or high"}},
		{"a budget out of range", message.Model{Name: older, Reasoning: message.Reasoning{Budget: 99999}}, nil, []string{"is 1 to 24576 tokens"}},
		{"temperature of Gemini 4", message.Model{Name: "gemini-4-argon", Temperature: message.Some(0.5)}, nil, []string{"takes no temperature", "leave temperature out"}},
		{"a long answer", message.Model{Name: modern, MaxTokens: 1 << 20}, nil, []string{"at most 65536 tokens"}},
		{"a large seed", message.Model{Name: modern, Seed: message.Some[int64](1 << 40)}, nil, []string{"does not fit into 32 bits", "2147483647"}},
		{"not a number", message.Model{Name: modern, TopP: message.Some(math.NaN())}, nil, []string{"set them to numbers"}},
		{"many stops", message.Model{Name: modern, Stop: message.ListOf("1", "2", "3", "4", "5", "6")}, nil, []string{"6 stop texts, and the API takes 5"}},
		{"an empty stop", message.Model{Name: modern, Stop: message.ListOf("")}, nil, []string{"a stop text is empty"}},
		{"a tier", message.Model{Name: modern, Tier: "auto"}, nil, []string{`no service tier "auto"`, "standard, flex or priority"}},
		{"a format that is none", message.Model{Name: modern, Format: message.ResponseFormat{Name: "n", Schema: `{"a":`}}, nil, []string{`"n" is no JSON`}},
		{"a format with tools", message.Model{Name: older, Format: message.ResponseFormat{JSON: true}}, tools(schema), []string{"only in requests without tools", "Gemini 3 or later"}},
		{"extra that is written here", message.Model{Name: modern, Extra: `{"contents":[]}`}, nil, []string{`may not set "contents"`}},
		{"extra in the configuration", message.Model{Name: modern, Extra: `{"generationConfig":{"seed":1}}`}, nil, []string{`generationConfig: it may not set "seed"`}},
		{"extra that is no object", message.Model{Name: modern, Extra: `[]`}, nil, []string{"not a JSON object"}},
		{"a configuration that is none", message.Model{Name: modern, Extra: `{"generationConfig":7}`}, nil, []string{"generationConfig: it is not a JSON object"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := sent(t, asks, message.ModelRequest{Model: c.model, Tools: c.tools, Messages: message.MessagesOf(message.UserText("x"))})
			require.Error(t, err)
			class, _ := provider.Classify(err)
			assert.Equal(t, message.FailureRequest, class)
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
			assert.ErrorContains(t, err, "gemini: ")
		})
	}
	_, err := sent(t, asks, message.ModelRequest{Model: message.Model{Name: modern}, Messages: message.MessagesOf(message.UserText(""), assistant())})
	require.ErrorContains(t, err, "no message with content; add a user's message")
}

func TestAddress(t *testing.T) {
	t.Parallel()
	const method = ":streamGenerateContent?alt=sse"
	for _, c := range []struct{ base, model, want string }{
		{"http://model.test", modern, "http://model.test/v1beta/models/" + modern + method},
		{"http://model.test/v1beta/", "models/" + modern, "http://model.test/v1beta/models/" + modern + method},
		{"http://model.test/gate", "tunedModels/mine_1", "http://model.test/gate/v1beta/tunedModels/mine_1" + method},
		{"http://model.test?team=7", modern, "http://model.test/v1beta/models/" + modern + ":streamGenerateContent?team=7&alt=sse"},
		{"", modern, gemini.DefaultBaseURL + "/v1beta/models/" + modern + method},
	} {
		got := ""
		_, err := sent(t, func(s server) *gemini.Provider {
			return gemini.New(&gemini.Options{BaseURL: c.base, APIKey: canary, Model: c.model, Network: provider.Network{Client: client(&got, s)}})
		}, message.ModelRequest{Messages: message.MessagesOf(message.UserText("x"))})
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}

func TestWhatModelsCan(t *testing.T) {
	t.Parallel()
	p := gemini.New(&gemini.Options{APIKey: canary, Model: modern})
	assert.True(t, p.HasFormat(""))
	assert.True(t, p.HasFormat("gemini-4-argon"))
	assert.False(t, p.HasFormat(older), "it has none together with tools")
	assert.Equal(t, 1048576, p.ContextWindow(""))
	assert.Zero(t, p.ContextWindow("gemini-77"))
	assert.Equal(t, 9, gemini.New(&gemini.Options{APIKey: canary, ContextWindow: 9}).ContextWindow(modern))
	own, err := catalog.Default().With("own.json", []byte(`{"models":[{"vendor":"gemini","id":"mine","window":77,"like":"gemini-2.5-flash"}]}`))
	if assert.NoError(t, err) {
		p = gemini.New(&gemini.Options{APIKey: canary, Catalog: own})
		assert.Equal(t, 77, p.ContextWindow("mine"))
	}
}
