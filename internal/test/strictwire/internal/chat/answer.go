// Package chat is the strict server of OpenAI's chat completions.
package chat

import (
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/oai"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// New returns the vendor.
func New() *wire.Vendor {
	return wire.New(wire.Vendor{
		Name: "openai", Rules: rules(), Route: oai.Route("/chat/completions"), Fault: oai.Fault, Check: check, Request: request,
		Body: oai.Body, Failed: oai.Failed, Cached: cached,
		Answer: func(out *wire.Out, ask *wire.Ask) wire.Answer { return &answer{out: out, ask: ask} },
	})
}

// cached: the standing instructions are the first message.
func cached(root wire.Node) (tools, system wire.Node, messages []wire.Node) {
	return root.Get("tools"), wire.Node{}, root.Get("messages").List
}

// answer writes an answer as the vendor's chunks. Calls may be streamed at the same time.
type answer struct {
	out   *wire.Out
	ask   *wire.Ask
	begun bool
	size  int
	// calls has the index of each call by the index of its chunks.
	calls map[int]int
	how   wire.Directive
}

func (a *answer) write(delta wire.M, finish any) {
	a.out.Data(a.part([]any{wire.M{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}, nil))
}

func (a *answer) part(choices []any, usage any) wire.M {
	part := wire.M{"id": "chatcmpl-" + a.ask.ID, "object": "chat.completion.chunk", "created": a.ask.Now, "model": a.ask.Model,
		"service_tier": "default", "system_fingerprint": "fp_strictwire", "choices": choices, "obfuscation": "x"}
	if a.ask.Root.Get("stream_options").Get("include_usage").True() {
		part["usage"] = usage
	}
	return part
}

func (a *answer) begin() {
	if !a.begun {
		a.begun = true
		a.write(wire.M{"role": "assistant", "content": "", "refusal": nil}, nil)
	}
}

// Chunk implements wire.Answer.
func (a *answer) Chunk(c *message.Chunk) {
	a.begin()
	a.size += len(c.Text)
	switch c.Kind {
	case message.ChunkText:
		a.write(wire.M{"content": c.Text}, nil)
	case message.ChunkCallStart:
		if a.calls == nil {
			a.calls = map[int]int{}
		}
		n := len(a.calls)
		a.calls[c.Index] = n
		a.call(n, wire.M{"id": fmt.Sprintf("call_%s%d", a.ask.ID, n), "type": "function", "function": wire.M{"name": c.Tool, "arguments": ""}})
	case message.ChunkCallArgs:
		a.call(a.calls[c.Index], wire.M{"function": wire.M{"arguments": c.Text}})
	case message.ChunkMeta:
		if d, ok := wire.DirectiveOf(c.Meta); ok {
			a.how = d
		}
	case message.ChunkFinish:
		a.finish(c)
	}
}

func (a *answer) call(index int, call wire.M) {
	call["index"] = index
	a.write(wire.M{"tool_calls": []any{call}}, nil)
}

func (a *answer) finish(c *message.Chunk) {
	if a.how.Refusal != "" {
		a.write(wire.M{"refusal": a.how.Refusal}, nil)
	}
	reason := "stop"
	switch c.Finish {
	case message.FinishTools, message.FinishLength:
		reason = string(c.Finish)
	case message.FinishFilter:
		if a.how.Refusal == "" {
			reason = "content_filter"
		}
	}
	a.write(wire.M{}, reason)
	if a.ask.Root.Get("stream_options").Get("include_usage").True() {
		u := wire.UsageOf(a.ask, c, a.size)
		a.out.Data(a.part([]any{}, wire.M{
			"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Total(),
			"prompt_tokens_details":     wire.M{"cached_tokens": u.CacheRead, "audio_tokens": 0},
			"completion_tokens_details": wire.M{"reasoning_tokens": u.Reasoning, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
		}))
	}
	a.out.WriteString("data: [DONE]\n\n")
}

// Fail implements wire.Answer.
func (a *answer) Fail(f wire.Failure) {
	_, kind, code := oai.Classified(f.Class)
	a.out.Data(wire.M{"error": wire.M{"message": f.Message, "type": kind, "param": nil, "code": wire.OrNull(code)}})
}
