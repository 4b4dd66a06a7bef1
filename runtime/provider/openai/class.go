package openai

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

var _ provider.Classified = (*Error)(nil)

// Classify implements provider.Classified: first by the server's own words, which say more
// than the status, then by the status. An error within a stream has a status only if its
// code is one; without any word it is a failure of the server. "Invalid request" says
// nothing, because many servers send it with every status from 400 on.
func (e *Error) Classify() (message.FailureClass, time.Duration) {
	status := e.Status
	if n, err := strconv.Atoi(e.Code); err == nil && status == http.StatusOK && n >= 300 && n <= 599 {
		status = n
	}
	class := classOfWord(e.Code)
	if class == "" {
		class = classOfWord(e.Type)
	}
	if class == "" || class == message.FailureRequest && status < 500 && status != http.StatusOK {
		class = classOfStatus(status)
	}
	if class == message.FailureRequest && tooLong(e.Message) {
		class = message.FailureContext
	}
	return class, e.RetryAfter
}

// classOfWord returns the class of an error's code or type; "" if it is unknown.
func classOfWord(word string) message.FailureClass {
	switch strings.ToLower(word) {
	case "rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "tokens", "requests":
		return message.FailureRateLimit
	case "overloaded", "overloaded_error", "engine_overloaded", "engine_overloaded_error", "service_unavailable",
		"service_unavailable_error", "unavailable", "slow_down", "loading_model":
		return message.FailureOverloaded
	case "server_error", "api_error", "internal_error", "internal_server_error", "internalservererror":
		return message.FailureServer
	case "timeout", "timeout_error", "request_timeout", "deadline_exceeded":
		return message.FailureTimeout
	case "context_length_exceeded", "string_above_max_length", "exceed_context_size_error", "request_too_large":
		return message.FailureContext
	case "invalid_api_key", "authentication_error", "permission_error", "permission_denied", "access_denied",
		"insufficient_quota", "billing_error", "billing_hard_limit_reached", "account_deactivated":
		return message.FailureAuth
	case "invalid_request_error", "invalid_request", "bad_request", "badrequesterror", "not_found_error", "model_not_found",
		"unsupported_parameter", "unsupported_value":
		return message.FailureRequest
	case "content_filter", "content_policy_violation":
		return message.FailureContent
	}
	return ""
}

func classOfStatus(status int) message.FailureClass {
	switch status {
	case http.StatusOK:
		return message.FailureServer
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return message.FailureAuth
	case http.StatusRequestTimeout, http.StatusGatewayTimeout, 524: // the last one is Cloudflare's
		return message.FailureTimeout
	case http.StatusRequestEntityTooLarge:
		return message.FailureContext
	case http.StatusTooManyRequests:
		return message.FailureRateLimit
	case http.StatusServiceUnavailable, 529: // the last one is Anthropic's
		return message.FailureOverloaded
	}
	if status >= 500 {
		return message.FailureServer
	}
	return message.FailureRequest
}

// tooLong reports whether the text says that the request is too long for the
// model: most local servers have no code for it.
func tooLong(message string) bool {
	message = strings.ToLower(message)
	for _, words := range []string{"context length", "context size", "context window", "maximum context", "prompt is too long", "input is too long", "too many tokens"} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

// faulty gives an error of our own its class.
func faulty(class message.FailureClass, err error) error {
	return &provider.Error{Class: class, Err: err}
}
