package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// counted is the usage of finished.
var counted = message.Usage{Input: 13, Output: 25, CacheRead: 4, Reasoning: 5}

func thought(text, signature string) message.Block {
	m := `"model":"` + modern + `"`
	if signature != "" {
		m += `,"signature":"` + signature + `"`
	}
	return message.Block{Kind: message.BlockReasoning, Text: text, Meta: own(m)}
}

// Answers are compared whole, in one piece and byte by byte.
func TestAnswers(t *testing.T) {
	t.Parallel()
	said := func(s string, signature string) message.Block {
		return message.Block{Kind: message.BlockText, Text: s, Meta: own(`"model":"` + modern + `","signature":"` + signature + `"`)}
	}
	for _, c := range []struct {
		name, wire string
		want       message.ModelReply
	}{
		{"text", parts(`{"text":"Hel"}`) + parts(`{"text":"lo 😀\u2028"}`) + finished("STOP"),
			message.ModelReply{Content: message.ListOf(text("Hello 😀\u2028")), Finish: message.FinishStop, Usage: counted}},
		{"thoughts, then text", parts(`{"text":"h","thought":true}`) + parts(`{"text":"m","thought":true}`) + parts(`{"text":"ok"}`) + finished("STOP"),
			message.ModelReply{Content: message.ListOf(thought("hm", ""), text("ok")), Finish: message.FinishStop, Usage: counted}},
		{"thoughts alone", parts(`{"text":"hm","thought":true}`) + finished("MAX_TOKENS"),
			message.ModelReply{Content: message.ListOf(thought("hm", "")), Finish: message.FinishLength, Usage: counted}},
		{"signatures stay on their parts", parts(`{"text":"a"},{"text":"b","thoughtSignature":"S+/="},{"text":"c"},{"text":"d","thoughtSignature":"T"},{"text":"e","thoughtSignature":"U"}`) +
			parts(`{"text":"hm","thought":true,"thoughtSignature":"V"},{"text":"f"}`) + parts(`{"text":"","thoughtSignature":"W"}`) + finished("STOP"),
			message.ModelReply{Content: message.ListOf(message.Block{Kind: message.BlockText, Text: "a", Meta: own("")}, said("b", "S+/="),
				message.Block{Kind: message.BlockText, Text: "c", Meta: own("")}, said("d", "T"), said("e", "U"), thought("hm", "V"), text("f"), said("", "W")),
				Finish: message.FinishStop, Usage: counted}},
		{"parallel calls, in one event and in several", parts(`{"functionCall":{"id":"i1","name":"read","args":{"n":12345678901234567890}},"thoughtSignature":"S"},{"functionCall":{"id":"i2","name":"read","args":{ }}}`) +
			parts(`{"functionCall":{"name":"list"}}`) + parts(`{"functionCall":{"id":"i2","name":"read","args":{"b":null}}}`) + finished("STOP"),
			message.ModelReply{Content: message.ListOf(
				call("i1", "read", `{"n":12345678901234567890}`, own(`"model":"`+modern+`","id":"i1","signature":"S"`)),
				call("i2", "read", `{ }`, own(`"model":"`+modern+`","id":"i2"`)), call("call_1_2", "list", `{}`, ""), call("call_1_3", "read", `{"b":null}`, "")),
				Finish: message.FinishTools, Usage: counted}},
		{"a repeated event", strings.Repeat(parts(`{"functionCall":{"id":"i1","name":"read","args":{"a":1}},"thoughtSignature":"S"}`), 2) + finished("STOP"),
			message.ModelReply{Content: message.ListOf(call("i1", "read", `{"a":1}`, own(`"model":"`+modern+`","id":"i1","signature":"S"`))), Finish: message.FinishTools, Usage: counted}},
		{"a call behind a text, of a reason nobody knows", parts(`{"text":"I look."},{"functionCall":{"name":"read","args":null}}`) + finished("SOMETHING_NEW"),
			message.ModelReply{Content: message.ListOf(text("I look."), call("call_1_0", "read", `{}`, "")), Finish: message.FinishTools, Usage: counted}},
		{"media", parts(`{"inlineData":{"mimeType":"image/png","data":"DRAFT"},"thought":true},{"inlineData":{"mimeType":"image/png","data":"iVBO"},"thoughtSignature":"S"},`+
			`{"inlineData":{"mimeType":"audio/L16;rate=24000","data":"UklG"}},{"fileData":{"mimeType":"application/pdf","fileUri":"https://example.com/a.pdf"}},{"inlineData":{"mimeType":"text/csv","data":"YSxi"}}`) + finished("STOP"),
			message.ModelReply{Content: message.ListOf(
				message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "iVBO", Meta: own(`"model":"` + modern + `","signature":"S"`)},
				message.Block{Kind: message.BlockAudio, MIME: "audio/L16;rate=24000", Data: "UklG", Meta: own(`"model":"` + modern + `"`)},
				message.Block{Kind: message.BlockDocument, MIME: "application/pdf", URI: "https://example.com/a.pdf", Meta: own(`"model":"` + modern + `"`)},
				message.Block{Kind: message.BlockResource, MIME: "text/csv", Data: "YSxi", Meta: own(`"model":"` + modern + `"`)}),
				Finish: message.FinishStop, Usage: counted}},
		{"parts of unknown kinds", parts(`{"executableCode":{"code":"1","id":9007199254740993},"thoughtSignature":"S"}`) + parts(`{"text":"one","speechMetadata":{}}`) + finished("STOP"),
			message.ModelReply{Content: message.ListOf(
				message.Block{Kind: message.BlockReasoning, Meta: own(`"model":"` + modern + `","signature":"S","part":{"executableCode":{"code":"1","id":9007199254740993}}`)}, text("one")),
				Finish: message.FinishStop, Usage: counted}},
		{"a blocked prompt", `data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":7}}` + "\n\n",
			message.ModelReply{Finish: message.FinishFilter, Usage: message.Usage{Input: 7}}},
		{"feedback that blocks nothing", `data: {"promptFeedback":{"safetyRatings":[]}}` + "\n\n" + parts(`{"text":"a"}`) + finished("STOP"),
			message.ModelReply{Content: message.ListOf(text("a")), Finish: message.FinishStop, Usage: counted}},
		{"nothing", finished("STOP"), message.ModelReply{Finish: message.FinishStop, Usage: counted}},
		{"a finish in every event", event(`"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"`) + event(`"content":{"parts":[{"text":"b"}]},"finishReason":"MAX_TOKENS"`) + finished("FINISH_REASON_UNSPECIFIED"),
			message.ModelReply{Content: message.ListOf(text("ab")), Finish: message.FinishLength, Usage: counted}},
		{"usage behind the finish", event(`"finishReason":"STOP"`) + `data: {"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2}}` + "\n\ndata: [DONE]\n\n",
			message.ModelReply{Finish: message.FinishStop, Usage: message.Usage{Input: 1, Output: 2}}},
		{"other candidates", `data: {"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]}},{"content":{"parts":[{"text":"yes"}]},"finishReason":"STOP"}],"usageMetadata":{}}` + "\n\n",
			message.ModelReply{Content: message.ListOf(text("yes")), Finish: message.FinishStop}},
		{"an interrupted answer", parts(`{"text":"a"}`) + event(`"continuationToken":"T=="`) + finished("CONTINUATION"),
			message.ModelReply{Content: message.ListOf(text("a"), message.Block{Kind: message.BlockReasoning, Meta: own(`"model":"` + modern + `","token":"T=="`)}), Finish: message.FinishPause, Usage: counted}},
		{"interrupted without a token", parts(`{"text":"a"}`) + finished("CONTINUATION"),
			message.ModelReply{Content: message.ListOf(text("a")), Finish: message.FinishLength, Usage: counted}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reply, err := answers(t.Context(), c.wire)
			require.NoError(t, err)
			assert.Equal(t, c.want, reply)
			slow, err := provider.Collect(asks(says(iotest.OneByteReader(strings.NewReader(c.wire)))).Stream(t.Context(), hello()))
			require.NoError(t, err)
			assert.Equal(t, c.want, slow)
		})
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for want, reasons := range map[message.FinishReason]string{
		message.FinishStop:   "STOP",
		message.FinishLength: "MAX_TOKENS",
		message.FinishFilter: "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR",
		message.FinishOther:  "OTHER LANGUAGE NO_IMAGE IMAGE_OTHER WHAT_EVER",
	} {
		for reason := range strings.FieldsSeq(reasons) {
			reply, err := answers(t.Context(), parts(`{"text":"a"}`)+finished(reason))
			require.NoError(t, err)
			assert.Equal(t, want, reply.Finish, reason)
		}
	}
	// A call that was withheld does not run.
	reply, err := answers(t.Context(), parts(`{"functionCall":{"name":"read","args":{}}}`)+finished("SAFETY"))
	require.NoError(t, err)
	assert.Equal(t, message.FinishFilter, reply.Finish)
}

// What is no answer is an error of a class that tells whether to try again.
func TestErrorsWithinStreams(t *testing.T) {
	t.Parallel()
	half := parts(`{"text":"half"}`) + parts(`{"functionCall":{"name":"read","args":{}}}`)
	for _, c := range []struct {
		name, wire string
		class      message.FailureClass
		is         error
		want       string
	}{
		{"no finish", half, message.FailureNetwork, provider.ErrNoFinish, "ended without a finish"},
		{"an unspecified finish", half + finished("FINISH_REASON_UNSPECIFIED"), message.FailureNetwork, provider.ErrNoFinish, "ended without a finish"},
		{"more behind a finish", finished("STOP") + half, message.FailureNetwork, provider.ErrNoFinish, "ended without a finish"},
		{"nothing", "", message.FailureNetwork, provider.ErrNoFinish, "ended without a finish"},
		{"only an end", "data: [DONE]\n\n", message.FailureNetwork, provider.ErrNoFinish, "ended without a finish"},
		{"a cut event", half + `data: {"candidates":[{"fin`, message.FailureNetwork, provider.ErrNoFinish, "ended without a finish"},
		{"bare JSON", half + "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"The model is overloaded.\",\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n", message.FailureOverloaded, nil, "gemini: UNAVAILABLE: The model is overloaded."},
		{"an error event", half + `data: {"error":{"code":429,"message":"Quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}` + "\n\n", message.FailureRateLimit, nil, "gemini: RESOURCE_EXHAUSTED: Quota."},
		{"a malformed call", half + event(`"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(default_api.read("`), message.FailureProtocol, provider.ErrProtocol, "MALFORMED_FUNCTION_CALL: \"Malformed function call: print"},
		{"an unexpected call", finished("UNEXPECTED_TOOL_CALL"), message.FailureProtocol, provider.ErrProtocol, "UNEXPECTED_TOOL_CALL"},
		{"too many calls", finished("TOO_MANY_TOOL_CALLS"), message.FailureProtocol, provider.ErrProtocol, "TOO_MANY_TOOL_CALLS"},
		{"a history without signatures", finished("MISSING_THOUGHT_SIGNATURE"), message.FailureRequest, nil, "gemini: MISSING_THOUGHT_SIGNATURE"},
		{"a call without a name", parts(`{"functionCall":{"args":{}}}`) + finished("STOP"), message.FailureProtocol, provider.ErrProtocol, "no name"},
		{"a name without end", parts(`{"functionCall":{"name":"`+strings.Repeat("x", 1025)+`"}}`) + finished("STOP"), message.FailureProtocol, provider.ErrProtocol, "without end"},
		{"a call in pieces", parts(`{"functionCall":{"name":"read","willContinue":true}}`) + finished("STOP"), message.FailureProtocol, provider.ErrProtocol, "in pieces"},
		{"parts of a call", parts(`{"functionCall":{"name":"read","partialArgs":[{"jsonPath":"$.a"}]}}`) + finished("STOP"), message.FailureProtocol, provider.ErrProtocol, "in pieces"},
		{"calls without end", strings.Repeat(parts(`{"functionCall":{"name":"read"}}`), 1025) + finished("STOP"), message.FailureProtocol, provider.ErrProtocol, "too many tool calls"},
		{"a list without end", event(`"content":{"parts":[` + strings.Repeat(`{},`, 1024) + `{}]}`), message.FailureProtocol, provider.ErrProtocol, "more than 1024"},
		{"a list", "data: []\n\n", message.FailureProtocol, provider.ErrProtocol, "it is no JSON object"},
		{"a wrong type", event(`"content":{"parts":7}`), message.FailureProtocol, provider.ErrProtocol, "/candidates/0/content/parts is of the wrong type"},
		{"half an event", "data: {\"candidates\":[\n\n" + finished("STOP"), message.FailureProtocol, provider.ErrProtocol, "it ends in the middle"},
		{"garbage", "data: {nothing}\n\n", message.FailureProtocol, provider.ErrProtocol, "it is no JSON"},
		{"a page", "<html>busy</html>\n", message.FailureProtocol, provider.ErrProtocol, "busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reply, err := answers(t.Context(), c.wire)
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			class, after := provider.Classify(err)
			assert.Equal(t, c.class, class)
			assert.Equal(t, c.class == message.FailureRateLimit, after == 7*time.Second)
			for _, b := range reply.Content.All() {
				assert.Equal(t, message.BlockText, b.Kind, "no call of an answer that is none")
			}
		})
	}
}

// An answer whose connection breaks behind its finish is whole.
func TestABreakBehindTheFinish(t *testing.T) {
	t.Parallel()
	body := io.MultiReader(strings.NewReader(parts(`{"text":"a"}`)+finished("STOP")), iotest.ErrReader(io.ErrUnexpectedEOF))
	reply, err := provider.Collect(asks(says(body)).Stream(t.Context(), hello()))
	require.NoError(t, err)
	assert.Equal(t, "a", reply.Text())
	body = io.MultiReader(strings.NewReader(parts(`{"text":"a"}`)), iotest.ErrReader(io.ErrUnexpectedEOF))
	_, err = provider.Collect(asks(says(body)).Stream(t.Context(), hello()))
	require.ErrorIs(t, err, provider.ErrNoFinish)
	body = io.MultiReader(strings.NewReader(finished("STOP")+`data: {"error":{"code":500,"message":"Late.","status":"INTERNAL"}}`+"\n\n"), iotest.ErrReader(io.EOF))
	_, err = provider.Collect(asks(says(body)).Stream(t.Context(), hello()))
	require.ErrorContains(t, err, "INTERNAL: Late.")
}

// A stream that is cut at any byte is an error until its finish is there.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	head := parts(`{"text":"hm","thought":true}`) + parts(`{"text":"a 😀"}`) + parts(`{"functionCall":{"id":"1","name":"read","args":{"path":"a"}},"thoughtSignature":"S"}`)
	wire := head + finished("STOP")
	whole, err := answers(t.Context(), wire)
	require.NoError(t, err)
	for at := range len(wire) {
		reply, err := answers(t.Context(), wire[:at])
		switch {
		case err == nil:
			assert.Equal(t, whole, reply, at)
			assert.GreaterOrEqual(t, at, len(strings.TrimSpace(wire)), "cut at %d", at)
		default:
			assert.NotErrorIs(t, err, provider.ErrProtocol, "cut at %d", at)
			class, _ := provider.Classify(err)
			assert.True(t, class.Passing(), "cut at %d: %v", at, err)
		}
	}
}

// Without usage of the server's own it is estimated.
func TestEstimatedUsage(t *testing.T) {
	t.Parallel()
	reply, err := answers(t.Context(), parts(`{"text":"12345678"}`)+event(`"finishReason":"STOP"`))
	require.NoError(t, err)
	assert.Equal(t, int64(2), reply.Usage.Output)
	assert.Positive(t, reply.Usage.Input)
}

// The consumer may stop at any chunk; then the response is closed.
func TestStopEarly(t *testing.T) {
	t.Parallel()
	wire := parts(`{"text":"hm","thought":true},{"text":"a"},{"functionCall":{"id":"1","name":"read"}}`) + finished("STOP")
	for n := range 9 {
		closed := false
		p := asks(func(r *http.Request) (*http.Response, error) {
			resp, err := says(strings.NewReader(wire))(r)
			resp.Body = body{resp.Body, &closed}
			return resp, err
		})
		i := 0
		for _, err := range p.Stream(t.Context(), hello()) {
			require.NoError(t, err)
			if i++; i > n {
				break
			}
		}
		assert.True(t, closed, n)
	}
}

type body struct {
	io.Reader
	closed *bool
}

func (b body) Close() error {
	*b.closed = true
	return nil
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, parts(`{"text":"a"}`)) }()
	var last error
	for c, err := range asks(says(r)).Stream(ctx, hello()) {
		if last = err; err == nil && c.Kind == message.ChunkText {
			cancel()
		}
	}
	require.ErrorIs(t, last, context.Canceled)
	_, err := provider.Collect(asks(says(strings.NewReader(finished("STOP")))).Stream(ctx, hello()))
	require.ErrorIs(t, err, context.Canceled)
}

// Responses that are no stream, and secrets in what servers say.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		class  message.FailureClass
		want   provider.ServerError
	}{
		{400, `{"error":{"code":400,"message":"API key not valid: ` + canary + `","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, message.FailureAuth,
			provider.ServerError{Vendor: "gemini", Status: 400, Code: "API_KEY_INVALID", Message: "API key not valid: [hidden]"}},
		{400, `[{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, message.FailureContext,
			provider.ServerError{Vendor: "gemini", Status: 400, Code: "INVALID_ARGUMENT", Message: "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."}},
		{429, `{"error":{"code":429,"message":"Quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x","quotaMetric":"m"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36.5s"}]}}`, message.FailureRateLimit,
			provider.ServerError{Vendor: "gemini", Status: 429, Code: "RESOURCE_EXHAUSTED", Message: "Quota.", RetryAfter: 36500 * time.Millisecond}},
		{500, `{"error":{"code":500,"message":"Oh.","status":"INTERNAL"}}`, message.FailureServer, provider.ServerError{Vendor: "gemini", Status: 500, Code: "INTERNAL", Message: "Oh."}},
		{503, `{"error":{"code":503,"message":"Busy.","status":"UNAVAILABLE"}}`, message.FailureOverloaded, provider.ServerError{Vendor: "gemini", Status: 503, Code: "UNAVAILABLE", Message: "Busy."}},
		{504, `{"error":{"code":504,"message":"Late.","status":"DEADLINE_EXCEEDED"}}`, message.FailureTimeout, provider.ServerError{Vendor: "gemini", Status: 504, Code: "DEADLINE_EXCEEDED", Message: "Late."}},
		{404, `{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}`, message.FailureRequest, provider.ServerError{Vendor: "gemini", Status: 404, Code: "NOT_FOUND", Message: "models/x is not found"}},
	} {
		t.Run(fmt.Sprint(c.want.Code, c.status), func(t *testing.T) {
			t.Parallel()
			_, err := provider.Collect(asks(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: c.status, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(c.body))}, nil
			}).Stream(t.Context(), hello()))
			got, ok := errors.AsType[*provider.ServerError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, c.want, *got)
			class, after := provider.Classify(err)
			assert.Equal(t, c.class, class)
			assert.Equal(t, c.want.RetryAfter, after)
		})
	}
}
