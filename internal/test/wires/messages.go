package wires

import (
	"net/http"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

// Messages is Anthropic's Messages.
func Messages(open Open) providertest.Wire {
	return providertest.Wire{
		Name: "anthropic", Model: "claude-opus-4-8", Open: open, Answer: messages, Failures: messagesFailures, Marks: []string{"cache_control"},
		Lacks: providertest.Lacks{ReasoningTokens: true},
	}
}

// messagesAnswer writes the events of a message.
type messagesAnswer struct {
	events []string
	// index is that of the open block, kind its kind, "" if none is open.
	index int
	kind  string
}

func (a *messagesAnswer) event(kind string, v object) {
	v["type"] = kind
	a.events = append(a.events, named(kind, v))
}

// open opens a block. A block of text or thinking goes on if it is open.
func (a *messagesAnswer) open(kind string, block object) {
	if a.kind == kind && kind != "tool_use" {
		return
	}
	a.close()
	a.kind = kind
	block["type"] = kind
	a.event("content_block_start", object{"index": a.index, "content_block": block})
	if a.index == 0 {
		a.event("ping", object{})
	}
}

func (a *messagesAnswer) close() {
	if a.kind != "" {
		a.event("content_block_stop", object{"index": a.index})
		a.index++
	}
	a.kind = ""
}

func (a *messagesAnswer) delta(v object) {
	a.event("content_block_delta", object{"index": a.index, "delta": v})
}

func (a *messagesAnswer) piece(p providertest.Piece) {
	switch p.Kind {
	case providertest.PieceText:
		a.open("text", object{"text": ""})
		a.delta(object{"type": "text_delta", "text": p.Text})
	case providertest.PieceReasoning:
		a.open("thinking", object{"thinking": "", "signature": ""})
		a.delta(object{"type": "thinking_delta", "thinking": p.Text})
	case providertest.PieceSignature:
		if a.kind != "thinking" {
			a.open("redacted_thinking", object{"data": p.Text})
			a.close()
			return
		}
		a.delta(object{"type": "signature_delta", "signature": p.Text})
		a.close()
	case providertest.PieceCall:
		block := object{"name": p.Tool, "input": object{}}
		if p.ID != "" {
			block["id"] = p.ID
		}
		a.open("tool_use", block)
		a.delta(object{"type": "input_json_delta", "partial_json": ""})
	case providertest.PieceArguments:
		a.delta(object{"type": "input_json_delta", "partial_json": p.Text})
	}
}

func messages(answer providertest.Answer) (s providertest.Stream) {
	u := answer.Usage
	usage := object{
		"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"output_tokens": min(u.Output, 1),
	}
	a := messagesAnswer{}
	a.event("message_start", object{"message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-8", "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": usage,
	}})
	for _, p := range answer.Grouped().Pieces {
		a.piece(p)
	}
	a.close()
	delta := object{"stop_reason": map[message.FinishReason]string{
		message.FinishStop: "end_turn", message.FinishTools: "tool_use", message.FinishLength: "max_tokens", message.FinishFilter: "refusal",
		message.FinishPause: "pause_turn",
	}[answer.Finish], "stop_sequence": nil}
	if answer.Finish == message.FinishFilter {
		delta["stop_details"] = object{"type": "refusal", "category": nil, "explanation": nil}
	}
	s.Finish = len(a.events)
	a.event("message_delta", object{"delta": delta, "usage": object{"output_tokens": u.Output}})
	a.event("message_stop", object{})
	s.Events = a.events
	return s
}

func messagesError(kind, text string) object {
	return object{"type": "error", "error": object{"type": kind, "message": text}, "request_id": "req_1"}
}

func messagesFailures(text string) []providertest.Failure {
	wait := failure(message.FailureRateLimit, http.StatusTooManyRequests, messagesError("rate_limit_error", text))
	wait.RetryAfter, wait.Header = waits, http.Header{"Content-Type": {"application/json"}, "Retry-After": {"7"}}
	within := func(class message.FailureClass, kind string) providertest.Failure {
		return providertest.Failure{Class: class, Status: http.StatusOK, Body: named("error", messagesError(kind, text))}
	}
	return []providertest.Failure{
		wait,
		failure(message.FailureRateLimit, http.StatusTooManyRequests, messagesError("rate_limit_error", text)),
		failure(message.FailureAuth, http.StatusUnauthorized, messagesError("authentication_error", text)),
		failure(message.FailureAuth, http.StatusForbidden, messagesError("permission_error", text)),
		failure(message.FailureRequest, http.StatusBadRequest, messagesError("invalid_request_error", text)),
		failure(message.FailureRequest, http.StatusNotFound, messagesError("not_found_error", text)),
		failure(message.FailureContext, http.StatusBadRequest, messagesError("invalid_request_error", "prompt is too long: "+text)),
		failure(message.FailureContext, http.StatusRequestEntityTooLarge, messagesError("request_too_large", text)),
		failure(message.FailureServer, http.StatusInternalServerError, messagesError("api_error", text)),
		failure(message.FailureOverloaded, 529, messagesError("overloaded_error", text)),
		within(message.FailureOverloaded, "overloaded_error"), within(message.FailureServer, "api_error"),
	}
}
