package openai_test

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// responses are options of: the Responses wire of any server.
func responses() *openai.Options { return &openai.Options{Wire: openai.WireResponses} }

// hears collects what the Responses wire makes of a stream.
func hears(t testing.TB, text string) (message.ModelReply, error) {
	t.Helper()
	return provider.Collect(asks(serves(strings.NewReader(text)), responses()).Stream(t.Context(), hello()))
}

// happens writes an event of the Responses wire; members follow its type.
func happens(name, members string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + members + "}\n\n"
}

const (
	added     = "response.output_item.added"
	doneItem  = "response.output_item.done"
	completed = `event: response.completed` + "\n" + `data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":3,"output_tokens":2}}}` + "\n\n"
)

// textItem writes an item with a text.
func textItem(at, text string) string {
	return happens(added, `,"output_index":`+at+`,"item":{"type":"message","id":"msg_`+at+`"}`) +
		happens("response.output_text.delta", `,"output_index":`+at+`,"delta":"`+text+`"`) +
		happens(doneItem, `,"output_index":`+at+`,"item":{"type":"message","id":"msg_`+at+`","content":[{"type":"output_text","text":"`+text+`"}]}`)
}

func callBegins(at string) string {
	return happens(added, `,"output_index":`+at+`,"item":{"type":"function_call","id":"fc_`+at+`","call_id":"call_`+at+`","name":"read","arguments":""}`)
}

func callEnds(at, args string) string {
	return happens(doneItem, `,"output_index":`+at+`,"item":{"type":"function_call","status":"completed","id":"fc_`+at+`","call_id":"call_`+at+`","name":"read","arguments":"`+args+`"}`)
}

func argsPart(at, text string) string {
	return happens("response.function_call_arguments.delta", `,"output_index":`+at+`,"delta":"`+text+`"`)
}

// marked adds the Meta of the wire to a block.
func marked(b message.Block, meta string) message.Block {
	b.Meta = message.JSON(`{"openai":` + meta + `}`)
	return b
}

func wholeResponse() message.ModelReply {
	return message.ModelReply{
		Content: message.ListOf(
			marked(reasoning("Both are needed.\n\nI read “both”."), `{"id":"rs_01","model":"m","encrypted":"gAAA+/signed==","summary":["Both are needed.","I read “both”."]}`),
			marked(message.TextBlock(`I look — at "both".`), `{"id":"msg_01","model":"m","phase":"commentary"}`),
			marked(call("call_Ab1", "read", `{"path":"a.txt"}`), `{"id":"fc_01","model":"m"}`),
			marked(call("call_Cd2", "read", `{"path":"b.txt"}`), `{"id":"fc_02","model":"m"}`),
		),
		Finish: message.FinishTools, Usage: message.Usage{Input: 120, Output: 48, CacheRead: 64, CacheWrite: 8, Reasoning: 12},
	}
}

// Encrypted content is that of the item's end; wherever the network cuts, the reply is the same.
func TestAResponse(t *testing.T) {
	t.Parallel()
	text := composed(t, "responses.sse")
	got, err := hears(t, text)
	require.NoError(t, err)
	assert.Equal(t, wholeResponse(), got)
	want, err := chunks(asks(serves(strings.NewReader(text)), responses()).Stream(t.Context(), hello()))
	require.NoError(t, err)
	bytewise, err := chunks(asks(serves(iotest.OneByteReader(strings.NewReader(text))), responses()).Stream(t.Context(), hello()))
	require.NoError(t, err)
	assert.Equal(t, want, bytewise)
	for at := 0; at < len(text); at += 3 {
		two, err := chunks(asks(serves(&pieces{[]string{text[:at], text[at:]}}), responses()).Stream(t.Context(), hello()))
		require.NoError(t, err, "cut at %d", at)
		require.Equal(t, want, two, "cut at %d", at)
	}
}

// A stream without its last event is no answer, wherever it ends.
func TestAResponseCutAnywhere(t *testing.T) {
	t.Parallel()
	text := composed(t, "responses.sse")
	end := len(strings.TrimRight(text, "\n"))
	for at := 0; at < end; at += 3 {
		reply, err := hears(t, text[:at])
		require.Error(t, err, "cut at %d", at)
		class, _ := provider.Classify(err)
		assert.True(t, class.Passing(), "cut at %d: %v", at, err)
		for range reply.Calls() {
			t.Errorf("a call of a stream cut at %d", at)
		}
	}
}

func TestWhatServersLeaveOut(t *testing.T) {
	t.Parallel()
	full := `{"type":"message","id":"msg_0","content":[{"type":"output_text","text":"hi"}]}`
	for name, text := range map[string]string{
		"plain":                       textItem("0", "hi") + completed,
		"no deltas":                   happens(added, `,"output_index":0,"item":{"type":"message"}`) + happens(doneItem, `,"output_index":0,"item":`+full) + completed,
		"no beginning":                happens(doneItem, `,"output_index":0,"item":`+full) + completed,
		"nothing but the last event":  happens("response.completed", `,"response":{"status":"completed","output":[`+full+`],"usage":{"input_tokens":3,"output_tokens":2}}`),
		"all and the last event too":  textItem("0", "hi") + happens("response.completed", `,"response":{"status":"completed","output":[`+full+`],"usage":{"input_tokens":3,"output_tokens":2}}`),
		"no end of the item":          happens(added, `,"output_index":0,"item":{"type":"message","id":"msg_0"}`) + happens("response.output_text.delta", `,"delta":"hi"`) + happens("response.completed", `,"response":{"output":[`+full+`],"usage":{"input_tokens":3,"output_tokens":2}}`),
		"no types in the data":        strings.ReplaceAll(strings.ReplaceAll(textItem("0", "hi")+completed, `"type":"response.output_text.delta",`, ""), `"type":"response.completed",`, ""),
		"no names of events":          strings.ReplaceAll(strings.ReplaceAll(textItem("0", "hi")+completed, "event: response.output_text.delta\n", ""), "event: response.completed\n", ""),
		"events that nobody knows":    happens("response.new_thing", `,"output_index":77,"delta":"x"`) + ": ping\n\n" + textItem("0", "hi") + completed,
		"another item in between":     happens(added, `,"output_index":0,"item":{"type":"web_search_call","id":"ws_1"}`) + happens(doneItem, `,"output_index":0,"item":{"type":"web_search_call","id":"ws_1"}`) + strings.ReplaceAll(textItem("1", "hi"), "msg_1", "msg_0") + completed,
		"[DONE] behind it":            textItem("0", "hi") + completed + "data: [DONE]\n\n",
		"an empty delta, then a text": happens(added, `,"output_index":0,"item":{"type":"message"}`) + happens("response.output_text.delta", `,"output_index":0,"delta":""`) + happens(doneItem, `,"output_index":0,"item":`+full) + completed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := hears(t, text)
			require.NoError(t, err)
			assert.Equal(t, message.ModelReply{
				Content: message.ListOf(marked(message.TextBlock("hi"), `{"id":"msg_0","model":"m"}`)),
				Finish:  message.FinishStop, Usage: message.Usage{Input: 3, Output: 2},
			}, got)
		})
	}
}

func TestHalvesOnTheResponsesWire(t *testing.T) {
	t.Parallel()
	delta := func(text string) string {
		return happens("response.output_text.delta", `,"output_index":0,"delta":"`+text+`"`)
	}
	got, err := hears(t, delta(`h\ud83d`)+delta(`\ude00i`)+delta(`\ud83d`)+completed)
	require.NoError(t, err)
	assert.Equal(t, "h😀i\uFFFD", got.Text())
}

func TestCallsOnTheResponsesWire(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		ids  []string
	}{
		"in parts":       {callBegins("0") + argsPart("0", `{\"p\"`) + argsPart("0", `:1}`) + callEnds("0", `{\"p\":1}`), []string{"call_0"}},
		"whole":          {callBegins("0") + callEnds("0", `{\"p\":1}`), []string{"call_0"}},
		"only its end":   {callEnds("0", `{\"p\":1}`), []string{"call_0"}},
		"not repeated":   {callBegins("0") + argsPart("0", `{\"p\":1}`) + callEnds("0", ""), []string{"call_0"}},
		"args, then end": {callBegins("0") + argsPart("0", `{\"p\"`) + happens("response.function_call_arguments.done", `,"output_index":0,"arguments":"{\"p\":1}"`) + callEnds("0", `{\"p\":1}`), []string{"call_0"}},
		"interleaved":    {callBegins("0") + callBegins("1") + argsPart("1", `{\"p\"`) + argsPart("0", `{\"p\":`) + argsPart("1", `:1}`) + argsPart("0", `1}`) + callEnds("1", `{\"p\":1}`) + callEnds("0", `{\"p\":1}`), []string{"call_0", "call_1"}},
		"the same id":    {callEnds("0", `{\"p\":1}`) + strings.ReplaceAll(callEnds("1", `{\"p\":1}`), "call_1", "call_0"), []string{"call_0", "call_1_1"}},
		"no call id":     {strings.ReplaceAll(callEnds("0", `{\"p\":1}`), `"call_id":"call_0",`, ""), []string{"fc_0"}},
		"no id at all":   {strings.ReplaceAll(strings.ReplaceAll(callEnds("0", `{\"p\":1}`), `"call_id":"call_0",`, ""), `"id":"fc_0",`, ""), []string{"call_1_0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := hears(t, tc.text+completed)
			require.NoError(t, err)
			assert.Equal(t, message.FinishTools, got.Finish)
			var ids []string
			for _, c := range got.Calls() {
				ids = append(ids, c.CallID)
				assert.Equal(t, message.JSON(`{"p":1}`), c.JSON)
			}
			assert.Equal(t, tc.ids, ids)
		})
	}
}

func TestReasoningOnTheResponsesWire(t *testing.T) {
	t.Parallel()
	hidden := happens(added, `,"output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"other"}`) +
		happens(doneItem, `,"output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"signed"}`)
	got, err := hears(t, hidden+textItem("1", "hi")+completed)
	require.NoError(t, err)
	assert.Equal(t, marked(reasoning(""), `{"id":"rs_1","model":"m","encrypted":"signed"}`), got.Content.At(0), "no text, and yet it goes back")

	open := happens("response.reasoning_text.delta", `,"output_index":0,"delta":"hm"`) +
		happens(doneItem, `,"output_index":0,"item":{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]}`)
	got, err = hears(t, open+textItem("1", "hi")+completed)
	require.NoError(t, err)
	assert.Equal(t, reasoning("hm"), got.Content.At(0), "nothing is signed")
}

func TestEndsOnTheResponsesWire(t *testing.T) {
	t.Parallel()
	partly := func(reason string) string {
		return happens("response.incomplete", `,"response":{"status":"incomplete","incomplete_details":{"reason":"`+reason+`"}}`)
	}
	refusal := happens("response.refusal.delta", `,"output_index":0,"delta":"I cannot."`) +
		happens(doneItem, `,"output_index":0,"item":{"type":"message","id":"msg_0","content":[{"type":"refusal","refusal":"I cannot."}]}`)
	for name, tc := range map[string]struct {
		text string
		want message.FinishReason
		said string
	}{
		"length":                     {textItem("0", "hi") + partly("max_output_tokens"), message.FinishLength, "hi"},
		"a filter":                   {textItem("0", "hi") + partly("content_filter"), message.FinishFilter, "hi"},
		"another reason":             {textItem("0", "hi") + partly("steered"), message.FinishOther, "hi"},
		"incomplete, completed":      {textItem("0", "hi") + happens("response.completed", `,"response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`), message.FinishLength, "hi"},
		"a refusal":                  {refusal + completed, message.FinishFilter, "I cannot."},
		"a refusal without its end":  {happens("response.refusal.delta", `,"output_index":0,"delta":"I cannot."`) + completed, message.FinishFilter, "I cannot."},
		"a refusal without parts":    {strings.Replace(refusal, `"delta":"I cannot."`, `"delta":""`, 1) + completed, message.FinishFilter, "I cannot."},
		"a refusal and a call":       {refusal + callEnds("1", "{}") + completed, message.FinishFilter, "I cannot."},
		"a call cut by the limit":    {textItem("0", "hi") + callBegins("1") + argsPart("1", `{\"p`) + partly("max_output_tokens"), message.FinishLength, "hi"},
		"a cut call that ends":       {textItem("0", "hi") + callBegins("1") + argsPart("1", `{\"p`) + strings.Replace(callEnds("1", `{\"p`), `"status":"completed"`, `"status":"incomplete"`, 1) + partly("max_output_tokens"), message.FinishLength, "hi"},
		"nothing but a blocked text": {partly("content_filter"), message.FinishFilter, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := hears(t, tc.text)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got.Finish)
			assert.Equal(t, tc.said, got.Text())
		})
	}
	all, err := chunks(asks(serves(strings.NewReader(callBegins("0")+argsPart("0", `{\"p`)+partly("max_output_tokens"))), responses()).Stream(t.Context(), hello()))
	require.NoError(t, err)
	for _, c := range all {
		assert.NotEqual(t, message.ChunkCallEnd, c.Kind, "a cut call has no end")
	}
}

func TestBrokenResponses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text, reason string
		class        message.FailureClass
	}{
		"nothing":                  {"", "ended without a finish", message.FailureNetwork},
		"no last event":            {textItem("0", "hi"), "ended without a finish", message.FailureNetwork},
		"[DONE] alone":             {textItem("0", "hi") + done, "[DONE]", message.FailureNetwork},
		"an error event":           {textItem("0", "hi") + happens("error", `,"code":"rate_limit_exceeded","message":"slow down","param":null`), "openai: rate_limit_exceeded: slow down", message.FailureRateLimit},
		"an error in the old":      {textItem("0", "hi") + happens("error", `,"error":{"type":"server_error","message":"boom"}`), "openai: server_error: boom", message.FailureServer},
		"an error, no name":        {textItem("0", "hi") + `data: {"type":"error","code":"server_error","message":"boom"}` + "\n\n", "boom", message.FailureServer},
		"a bare error":             {textItem("0", "hi") + `data: {"error":{"code":"server_error","message":"boom"}}` + "\n\n", "boom", message.FailureServer},
		"an error without data:":   {textItem("0", "hi") + `{"error":{"code":"server_error","message":"boom"}}` + "\n\n", "boom", message.FailureServer},
		"failed":                   {textItem("0", "hi") + happens("response.failed", `,"response":{"status":"failed","error":{"code":"server_error","message":"boom"}}`), "openai: server_error: boom", message.FailureServer},
		"failed by the prompt":     {happens("response.failed", `,"response":{"status":"failed","error":{"code":"invalid_prompt","message":"no"}}`), "invalid_prompt", message.FailureContent},
		"a wrong image":            {happens("response.failed", `,"response":{"status":"failed","error":{"code":"invalid_image_format","message":"no"}}`), "invalid_image_format", message.FailureRequest},
		"failed without a word":    {happens("response.failed", `,"response":{"status":"failed"}`), "the server gave up: failed", message.FailureServer},
		"cancelled":                {happens("response.completed", `,"response":{"status":"cancelled"}`), "the server gave up: cancelled", message.FailureServer},
		"a call without an end":    {callBegins("0") + argsPart("0", `{}`) + completed, "a tool call has no end", message.FailureProtocol},
		"arguments that differ":    {callBegins("0") + argsPart("0", `{\"a\":1`) + callEnds("0", `{\"b\":1}`), "differ from their parts", message.FailureProtocol},
		"more parts than args":     {callBegins("0") + argsPart("0", `{\"a\":1} `) + callEnds("0", `{\"a\":1}`), "differ from their parts", message.FailureProtocol},
		"arguments of no call":     {argsPart("0", "{}"), "of no tool call", message.FailureProtocol},
		"a delta of nothing":       {happens("response.output_text.delta", `,"delta":"x"`), "no item", message.FailureProtocol},
		"a call without a name":    {happens(added, `,"output_index":0,"item":{"type":"function_call","call_id":"1"}`), "no name", message.FailureProtocol},
		"too many items":           {happens("response.output_text.delta", `,"output_index":5000,"delta":"x"`), "more than 1024", message.FailureProtocol},
		"text behind its end":      {textItem("0", "hi") + happens("response.output_text.delta", `,"output_index":0,"delta":"x"`), "after its end", message.FailureProtocol},
		"another kind":             {callBegins("0") + happens(doneItem, `,"output_index":0,"item":{"type":"message"}`), "another kind", message.FailureProtocol},
		"a call that begins again": {callBegins("0") + callBegins("0") + argsPart("0", `{}`) + callEnds("0", `{}`) + completed, "an item begins twice", message.FailureProtocol},
		"no JSON":                  {"data: nonsense\n\n", "no JSON", message.FailureProtocol},
		"a list":                   {"data: []\n\n", "no JSON object", message.FailureProtocol},
		"two values":               {"data: {} {}\n\n", "behind its JSON", message.FailureProtocol},
		"a garbage line":           {textItem("0", "hi") + "garbage " + canary + "\n\n", "[hidden]", message.FailureProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := hears(t, tc.text)
			require.ErrorContains(t, err, tc.reason)
			assert.NotContains(t, err.Error(), canary)
			class, _ := provider.Classify(err)
			assert.Equal(t, tc.class, class)
			for range reply.Calls() {
				t.Error("a call of a broken answer")
			}
		})
	}
}

func TestUsageIsEstimatedWithoutOne(t *testing.T) {
	t.Parallel()
	got, err := hears(t, textItem("0", "hello")+happens("response.completed", `,"response":{"status":"completed"}`))
	require.NoError(t, err)
	assert.Positive(t, got.Usage.Input)
	assert.EqualValues(t, 2, got.Usage.Output)
}
