package wires

import (
	"net/http"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

// Chat is OpenAI's chat completions, with the reasoning that servers of its wire add to it.
func Chat(open Open) providertest.Wire {
	return providertest.Wire{
		Name: "openai", Open: open, Answer: chat, Failures: chatFailures,
		Lacks: providertest.Lacks{Signatures: true, CacheWrite: true},
	}
}

func chatEvent(delta object, finish any) string {
	return data(object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
	})
}

func chat(a providertest.Answer) (s providertest.Stream) {
	add := func(delta object) { s.Events = append(s.Events, chatEvent(delta, nil)) }
	call := func(entry object) { add(object{"tool_calls": []any{entry}}) }
	said := "content"
	reason := map[message.FinishReason]string{
		message.FinishStop: "stop", message.FinishTools: "tool_calls", message.FinishLength: "length", message.FinishFilter: "content_filter",
	}[a.Finish]
	if reason == "" {
		return s
	}
	if a.Finish == message.FinishFilter && len(a.Pieces) > 0 {
		said, reason = "refusal", "stop"
	}
	add(object{"role": "assistant", "content": ""})
	for _, p := range a.Pieces {
		switch p.Kind {
		case providertest.PieceText:
			add(object{said: p.Text})
		case providertest.PieceReasoning:
			add(object{"reasoning_content": p.Text})
		case providertest.PieceCall:
			entry := object{"index": p.Call, "type": "function", "function": object{"name": p.Tool, "arguments": ""}}
			if p.ID != "" {
				entry["id"] = p.ID
			}
			call(entry)
		case providertest.PieceArguments:
			call(object{"index": p.Call, "function": object{"arguments": p.Text}})
		}
	}
	s.Finish = len(s.Events)
	u := a.Usage
	s.Events = append(s.Events, chatEvent(object{}, reason), data(object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{},
		"usage": object{
			"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Total(),
			"prompt_tokens_details":     object{"cached_tokens": u.CacheRead},
			"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
		},
	}), "data: [DONE]\n\n")
	return s
}

// openAIError is the error object of both of OpenAI's wires.
func openAIError(kind string, code any, text string) object {
	return object{"error": object{"message": text, "type": kind, "param": nil, "code": code}}
}

// openAIFailures are the failures that both of OpenAI's wires share.
func openAIFailures(text string) []providertest.Failure {
	wait := failure(message.FailureRateLimit, http.StatusTooManyRequests, openAIError("requests", "rate_limit_exceeded", text))
	wait.RetryAfter, wait.Header = waits, http.Header{"Content-Type": {"application/json"}, "Retry-After": {"7"}}
	return []providertest.Failure{
		wait,
		failure(message.FailureRateLimit, http.StatusTooManyRequests, openAIError("tokens", "rate_limit_exceeded", text)),
		failure(message.FailureAuth, http.StatusUnauthorized, openAIError("invalid_request_error", "invalid_api_key", text)),
		failure(message.FailureAuth, http.StatusTooManyRequests, openAIError("insufficient_quota", "insufficient_quota", text)),
		failure(message.FailureRequest, http.StatusBadRequest, openAIError("invalid_request_error", "unsupported_parameter", text)),
		failure(message.FailureRequest, http.StatusNotFound, openAIError("invalid_request_error", "model_not_found", text)),
		failure(message.FailureContext, http.StatusBadRequest, openAIError("invalid_request_error", "context_length_exceeded", text)),
		failure(message.FailureContent, http.StatusBadRequest, openAIError("invalid_request_error", "content_policy_violation", text)),
		failure(message.FailureServer, http.StatusInternalServerError, openAIError("server_error", nil, text)),
		failure(message.FailureOverloaded, http.StatusServiceUnavailable, openAIError("service_unavailable_error", nil, text)),
		failure(message.FailureTimeout, http.StatusGatewayTimeout, openAIError("timeout", nil, text)),
	}
}

func chatFailures(text string) []providertest.Failure {
	return append(openAIFailures(text),
		providertest.Failure{Class: message.FailureServer, Status: http.StatusOK, Body: data(openAIError("server_error", nil, text))},
		providertest.Failure{Class: message.FailureRateLimit, Status: http.StatusOK, Body: data(openAIError("requests", "rate_limit_exceeded", text))},
	)
}
