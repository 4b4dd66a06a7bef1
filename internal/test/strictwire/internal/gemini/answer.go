// Package gemini is the strict server of Gemini's generateContent, version v1beta.
package gemini

import (
	"fmt"
	"net/http"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// New returns the vendor.
func New() *wire.Vendor {
	return wire.New(wire.Vendor{
		Name: "gemini", Rules: rules(), Route: route, Fault: fault, Check: check, Request: request, Body: body, Failed: failed, Cached: cached,
		Answer: func(out *wire.Out, ask *wire.Ask) wire.Answer {
			a := &answer{out: out, ask: ask}
			return &wire.Serialized{Serial: wire.Serial{Next: a.chunk}, OnFail: a.fail}
		},
	})
}

func cached(root wire.Node) (tools, system wire.Node, messages []wire.Node) {
	return root.Get("tools"), root.Get("systemInstruction"), root.Get("contents").List
}

// answer writes an answer as the vendor's responses. A call is one part.
type answer struct {
	out *wire.Out
	ask *wire.Ask
	// tool and args are the call that is being collected; calls is the number of calls.
	tool, args string
	calls      int
	size       int
	thought    int
	how        wire.Directive
}

func (a *answer) response(candidate wire.M, usage wire.M) {
	r := wire.M{"modelVersion": a.ask.Model, "responseId": a.ask.ID, "usageMetadata": usage}
	if candidate != nil {
		candidate["index"] = 0
		r["candidates"] = []any{candidate}
	}
	a.out.Data(r)
}

func (a *answer) part(p wire.M) {
	a.response(wire.M{"content": wire.M{"role": "model", "parts": []any{p}}},
		wire.M{"promptTokenCount": a.ask.Input, "totalTokenCount": a.ask.Input, "promptTokensDetails": []any{wire.M{"modality": "TEXT", "tokenCount": a.ask.Input}}})
}

// includes reports whether the request wants to see thoughts.
func (a *answer) includes() bool {
	return a.ask.Root.Get("generationConfig").Get("thinkingConfig").Get("includeThoughts").True()
}

// signs reports whether the model signs its calls. Gemini 2.5 does so only when it thinks.
func (a *answer) signs() bool {
	major, _ := wire.Version(a.ask.Model, "gemini-")
	return major >= 3 || a.thought > 0
}

func (a *answer) chunk(c *message.Chunk) {
	a.size += len(c.Text)
	switch c.Kind {
	case message.ChunkText:
		a.part(wire.M{"text": c.Text})
	case message.ChunkReasoning:
		a.thought += len(c.Text)
		if a.includes() {
			a.part(wire.M{"text": c.Text, "thought": true})
		}
	case message.ChunkCallStart:
		a.tool, a.args = c.Tool, ""
	case message.ChunkCallArgs:
		a.args += c.Text
	case message.ChunkCallEnd:
		a.call()
	case message.ChunkBlock:
		if b := c.Block; b != nil && b.Kind == message.BlockImage {
			a.part(wire.M{"inlineData": wire.M{"mimeType": b.MIME, "data": b.Data}})
		}
	case message.ChunkMeta:
		if d, ok := wire.DirectiveOf(c.Meta); ok {
			a.how = d
		}
	case message.ChunkFinish:
		a.finish(c)
	}
}

// call writes a call. Only the first of several at once is signed.
func (a *answer) call() {
	args := a.args
	if v, fault := new(wire.Parser).Parse(args); fault != "" || v.Kind != wire.Object {
		args = "{}"
	}
	part := wire.M{"functionCall": wire.M{"id": fmt.Sprintf("%s%d", a.ask.ID, a.calls), "name": a.tool, "args": raw(args)}}
	if a.calls == 0 && a.signs() {
		part["thoughtSignature"] = a.ask.Signer.Sign(a.ask.Model, "part", callText(a.tool, args))
	}
	a.calls++
	a.part(part)
}

// raw is JSON that is written as it is.
type raw string

// MarshalJSON implements json.Marshaler.
func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func (a *answer) finish(c *message.Chunk) {
	u := wire.UsageOf(a.ask, c, a.size)
	thoughts := u.Reasoning
	if thoughts == 0 {
		thoughts = min(int64(a.thought+3)/4, u.Output)
	}
	usage := wire.M{
		"promptTokenCount": u.Input, "candidatesTokenCount": u.Output - thoughts, "thoughtsTokenCount": thoughts,
		"cachedContentTokenCount": u.CacheRead, "totalTokenCount": u.Total(),
	}
	if a.how.Blocked != "" {
		a.out.Data(wire.M{"promptFeedback": wire.M{"blockReason": a.how.Blocked}, "usageMetadata": wire.M{"promptTokenCount": u.Input, "totalTokenCount": u.Input},
			"modelVersion": a.ask.Model, "responseId": a.ask.ID})
		return
	}
	candidate := wire.M{"finishReason": reason(c.Finish)}
	if a.how.Stop != "" {
		candidate["finishReason"] = a.how.Stop
	}
	parts := []any{wire.M{"text": ""}}
	if a.how.Signed {
		parts = []any{wire.M{"text": "", "thoughtSignature": a.ask.Signer.Sign(a.ask.Model, "part", "text ")}}
	}
	if candidate["finishReason"] == "STOP" || candidate["finishReason"] == "MAX_TOKENS" {
		candidate["content"] = wire.M{"role": "model", "parts": parts}
	}
	a.response(candidate, usage)
}

func reason(f message.FinishReason) string {
	switch f {
	case message.FinishLength:
		return "MAX_TOKENS"
	case message.FinishFilter:
		return "SAFETY"
	}
	return "STOP"
}

// fail writes an error as bare JSON, as the vendor does in a stream that has begun.
func (a *answer) fail(f wire.Failure) {
	_, text := failed(f)
	a.out.WriteString(text + "\n")
}

func failed(f wire.Failure) (status int, response string) {
	status, kind := classified(f.Class)
	var details []any
	if f.RetryAfter > 0 {
		details = []any{wire.M{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%gs", f.RetryAfter.Seconds())}}
	}
	return status, failure(status, kind, f.Message, details)
}

func classified(class message.FailureClass) (status int, kind string) {
	switch class {
	case message.FailureRateLimit:
		return http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"
	case message.FailureOverloaded:
		return http.StatusServiceUnavailable, "UNAVAILABLE"
	case message.FailureTimeout:
		return http.StatusGatewayTimeout, "DEADLINE_EXCEEDED"
	case message.FailureAuth:
		return http.StatusForbidden, "PERMISSION_DENIED"
	case message.FailureContext, message.FailureRequest, message.FailureContent:
		return http.StatusBadRequest, "INVALID_ARGUMENT"
	}
	return http.StatusInternalServerError, "INTERNAL"
}
