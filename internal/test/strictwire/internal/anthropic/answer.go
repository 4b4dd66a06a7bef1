package anthropic

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// New returns the vendor.
func New() *wire.Vendor {
	return wire.New(wire.Vendor{
		Name: "anthropic", MaxBody: maxBody, Rules: rules(), Route: route, Fault: fault, Check: check, Request: request, Body: body, Failed: failed, Cached: cached,
		Answer: func(out *wire.Out, ask *wire.Ask) wire.Answer {
			a := &answer{out: out, ask: ask, index: -1}
			return &wire.Serialized{Serial: wire.Serial{Next: a.chunk}, OnFail: a.fail}
		},
	})
}

func cached(root wire.Node) (tools, system wire.Node, messages []wire.Node) {
	return root.Get("tools"), root.Get("system"), root.Get("messages").List
}

// answer writes an answer as the vendor's events.
type answer struct {
	out *wire.Out
	ask *wire.Ask
	// begun: message_start is written. index is the index of the newest block, kind its
	// type while it is open.
	begun bool
	index int
	kind  string
	// text collects the open block; size is the length of everything.
	text strings.Builder
	size int
	// said is the text of the answer, proofs are the signatures of its thinking, and calls
	// the ids of its calls.
	said   strings.Builder
	proofs []string
	calls  []string
	how    wire.Directive
}

func (a *answer) begin() {
	if a.begun {
		return
	}
	a.begun = true
	u := a.usage(message.Usage{})
	u["output_tokens"] = 1
	a.event(wire.M{"type": "message_start", "message": wire.M{
		"id": "msg_01" + a.ask.ID, "type": "message", "role": "assistant", "model": a.ask.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": u,
	}})
}

// event writes an event under the name of its type.
func (a *answer) event(data wire.M) { a.out.Event(data["type"].(string), data) }

func (a *answer) open(kind string, block wire.M) {
	a.close()
	a.begin()
	a.index++
	a.kind = kind
	block["type"] = kind
	a.event(wire.M{"type": "content_block_start", "index": a.index, "content_block": block})
	if a.index == 0 {
		a.event(wire.M{"type": "ping"})
	}
}

func (a *answer) delta(kind, member, text string) {
	a.event(wire.M{"type": "content_block_delta", "index": a.index, "delta": wire.M{"type": kind, member: text}})
}

func (a *answer) close() {
	if a.kind == "" {
		return
	}
	if a.kind == "thinking" {
		signature := a.ask.Signer.Sign(a.ask.Model, "thinking", a.text.String())
		a.proofs = append(a.proofs, wire.Digest(signature))
		a.delta("signature_delta", "signature", signature)
	}
	a.event(wire.M{"type": "content_block_stop", "index": a.index})
	a.text.Reset()
	a.kind = ""
}

func (a *answer) chunk(c *message.Chunk) {
	a.size += len(c.Text)
	switch c.Kind {
	case message.ChunkText:
		if a.kind != "text" {
			a.open("text", wire.M{"text": ""})
		}
		a.said.WriteString(c.Text)
		a.delta("text_delta", "text", c.Text)
	case message.ChunkReasoning:
		if a.kind != "thinking" {
			a.open("thinking", wire.M{"thinking": "", "signature": ""})
		}
		a.text.WriteString(c.Text)
		a.delta("thinking_delta", "thinking", c.Text)
	case message.ChunkCallStart:
		id := "toolu_01" + a.ask.ID + strconv.Itoa(len(a.calls))
		a.calls = append(a.calls, id)
		a.open("tool_use", wire.M{"id": id, "name": c.Tool, "input": wire.M{}})
		a.delta("input_json_delta", "partial_json", "")
	case message.ChunkCallArgs:
		a.delta("input_json_delta", "partial_json", c.Text)
	case message.ChunkCallEnd:
		a.close()
	case message.ChunkMeta:
		a.meta(c.Meta)
	case message.ChunkFinish:
		a.finish(c)
	}
}

func (a *answer) meta(meta message.JSON) {
	d, ok := wire.DirectiveOf(meta)
	if !ok {
		a.close() // as after a block that was signed elsewhere
		return
	}
	if d.Redacted == "" {
		a.how = d
		return
	}
	data := a.ask.Signer.Seal(a.ask.Model, "redacted", d.Redacted)
	a.open("redacted_thinking", wire.M{"data": data})
	a.proofs = append(a.proofs, wire.Digest(data))
	a.close()
}

func (a *answer) finish(c *message.Chunk) {
	a.close()
	a.begin()
	for _, id := range a.calls {
		a.ask.Memory.Note("thought "+id, a.ask.Model+" "+strings.Join(a.proofs, ","))
	}
	delta := wire.M{"stop_reason": reason(c.Finish), "stop_sequence": nil}
	if a.how.Stop != "" {
		delta["stop_reason"] = a.how.Stop
	}
	switch delta["stop_reason"] {
	case "pause_turn":
		a.ask.Memory.Note("paused "+wire.Digest(a.said.String()), "")
	case "refusal":
		delta["stop_details"] = wire.M{"type": "refusal", "category": wire.OrNull(a.how.Refusal), "explanation": nil}
	}
	usage := wire.M{}
	if c.Usage.Input > 0 {
		usage = a.usage(c.Usage)
	}
	usage["output_tokens"] = wire.UsageOf(a.ask, c, a.size).Output
	usage["output_tokens_details"] = wire.M{"thinking_tokens": c.Usage.Reasoning}
	a.event(wire.M{"type": "message_delta", "delta": delta, "usage": usage})
	a.event(wire.M{"type": "message_stop"})
}

func reason(f message.FinishReason) string {
	switch f {
	case message.FinishTools:
		return "tool_use"
	case message.FinishLength:
		return "max_tokens"
	case message.FinishFilter:
		return "refusal"
	case message.FinishPause:
		return "pause_turn"
	}
	return "end_turn"
}

func (a *answer) fail(f wire.Failure) {
	a.close()
	_, kind := classified(f.Class)
	a.event(wire.M{"type": "error", "error": wire.M{"type": kind, "message": f.Message}})
}

// classified returns the status and the type of a failure.
func classified(class message.FailureClass) (status int, kind string) {
	switch class {
	case message.FailureRateLimit:
		return http.StatusTooManyRequests, "rate_limit_error"
	case message.FailureOverloaded:
		return 529, "overloaded_error"
	case message.FailureTimeout:
		return http.StatusGatewayTimeout, "timeout_error"
	case message.FailureAuth:
		return http.StatusUnauthorized, "authentication_error"
	case message.FailureContext, message.FailureRequest, message.FailureContent:
		return http.StatusBadRequest, "invalid_request_error"
	}
	return http.StatusInternalServerError, "api_error"
}

func failed(f wire.Failure) (status int, response string) {
	status, kind := classified(f.Class)
	if f.Class == message.FailureContext {
		f.Message = "prompt is too long: " + f.Message
	}
	return status, body(&wire.Refusal{Type: kind, Message: f.Message})
}
