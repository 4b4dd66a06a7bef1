package wires

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

// Gemini is Gemini's generateContent.
func Gemini(open Open) providertest.Wire {
	return providertest.Wire{
		Name: "gemini", Model: "gemini-3-pro", Open: open, Answer: gemini, Failures: geminiFailures,
		Lacks: providertest.Lacks{CacheWrite: true},
	}
}

// geminiAnswer writes the responses of a stream.
type geminiAnswer struct {
	events []string
	usage  object
	// signature waits for the part that it stands on.
	signature string
}

func (a *geminiAnswer) response(v object) {
	v["modelVersion"], v["responseId"], v["usageMetadata"] = "gemini-3-pro", "r1", a.usage
	a.events = append(a.events, data(v))
}

func (a *geminiAnswer) part(p, candidate object) {
	if a.signature != "" && p["thought"] == nil {
		p["thoughtSignature"], a.signature = a.signature, ""
	}
	candidate["index"], candidate["content"] = 0, object{"role": "model", "parts": []any{p}}
	a.response(object{"candidates": []any{candidate}})
}

// gemini writes an answer. Calls are whole, so an answer with arguments that are no JSON
// has no events. The signature stands on the first call, or else on the last part.
func gemini(answer providertest.Answer) (s providertest.Stream) {
	u := answer.Usage
	a := geminiAnswer{usage: object{
		"promptTokenCount": u.Input, "candidatesTokenCount": u.Output - u.Reasoning, "thoughtsTokenCount": u.Reasoning,
		"cachedContentTokenCount": u.CacheRead, "totalTokenCount": u.Total(),
	}}
	signature := ""
	for _, p := range answer.Pieces {
		switch p.Kind {
		case providertest.PieceText:
			a.part(object{"text": p.Text}, object{})
		case providertest.PieceReasoning:
			a.part(object{"text": p.Text, "thought": true}, object{})
		case providertest.PieceSignature:
			signature = p.Text
		case providertest.PieceCall:
			args := answer.Arguments(p.Call)
			if args == "" {
				args = "{}"
			}
			if !json.Valid([]byte(args)) {
				return s
			}
			call := object{"name": p.Tool, "args": json.RawMessage(args)}
			if p.ID != "" {
				call["id"] = p.ID
			}
			a.signature, signature = signature, ""
			a.part(object{"functionCall": call}, object{})
		}
	}
	s.Finish = len(a.events)
	a.signature = signature
	switch answer.Finish {
	case message.FinishFilter:
		if len(answer.Pieces) == 0 {
			a.response(object{"promptFeedback": object{"blockReason": "PROHIBITED_CONTENT"}})
			break
		}
		a.response(object{"candidates": []any{object{"index": 0, "finishReason": "SAFETY"}}})
	case message.FinishLength:
		a.part(object{"text": ""}, object{"finishReason": "MAX_TOKENS"})
	case message.FinishStop, message.FinishTools:
		a.part(object{"text": ""}, object{"finishReason": "STOP"})
	default:
		return providertest.Stream{}
	}
	s.Events = a.events
	return s
}

func geminiError(status int, kind, text string, details ...any) object {
	return object{"error": object{"code": status, "message": text, "status": kind, "details": details}}
}

func geminiFailures(text string) []providertest.Failure {
	wait := failure(message.FailureRateLimit, http.StatusTooManyRequests, geminiError(http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", text,
		object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%ds", int(waits.Seconds()))}))
	wait.RetryAfter = waits
	fails := func(class message.FailureClass, status int, kind string, details ...any) providertest.Failure {
		return failure(class, status, geminiError(status, kind, text, details...))
	}
	// An error within a stream is bare JSON.
	within := fails(message.FailureOverloaded, http.StatusServiceUnavailable, "UNAVAILABLE")
	within.Status = http.StatusOK
	within.Body += "\n"
	return []providertest.Failure{
		wait,
		fails(message.FailureRateLimit, http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"),
		fails(message.FailureAuth, http.StatusForbidden, "PERMISSION_DENIED"),
		fails(message.FailureAuth, http.StatusUnauthorized, "UNAUTHENTICATED"),
		fails(message.FailureAuth, http.StatusBadRequest, "INVALID_ARGUMENT",
			object{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}),
		fails(message.FailureRequest, http.StatusBadRequest, "INVALID_ARGUMENT"),
		fails(message.FailureRequest, http.StatusNotFound, "NOT_FOUND"),
		fails(message.FailureServer, http.StatusInternalServerError, "INTERNAL"),
		fails(message.FailureOverloaded, http.StatusServiceUnavailable, "UNAVAILABLE"),
		fails(message.FailureTimeout, http.StatusGatewayTimeout, "DEADLINE_EXCEEDED"),
		within,
	}
}
