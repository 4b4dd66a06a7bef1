package provider

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// ServerError is an error that a vendor's server reports. Adapters have taken keys and
// other secrets out of its texts.
type ServerError struct {
	// Vendor is the name of the server's vendor, with which the text begins: "openai".
	Vendor string
	// Status is the status of the response; 200 if the error came within a stream.
	Status int
	// Code and Type are the server's own words, "" if it gave none:
	// "rate_limit_exceeded", "invalid_request_error".
	Code, Type string
	// Message is the server's text, or a description of the response without one: one
	// line of at most 500 bytes.
	Message string
	// RetryAfter is how long the server asks to wait, at most a day; 0 if it does
	// not say.
	RetryAfter time.Duration
}

var _ Classified = (*ServerError)(nil)

// Error returns one line: the vendor, the status, the server's code and its message.
func (e *ServerError) Error() string {
	var sb strings.Builder
	sb.WriteString(firstOf(e.Vendor, "provider") + ": ")
	if e.Status != http.StatusOK {
		fmt.Fprintf(&sb, "%d %s: ", e.Status, firstOf(http.StatusText(e.Status), "unknown status"))
	}
	if word := firstOf(e.Code, e.Type); word != "" && word != strconv.Itoa(e.Status) {
		sb.WriteString(word + ": ")
	}
	sb.WriteString(firstOf(e.Message, "no reason given"))
	return sb.String()
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Classify implements Classified: first by the server's own words, which say more than the
// status, then by the status. An error within a stream has a status only if its code is
// one; without any word it is a failure of the server. "Invalid request" says nothing,
// because many servers send it with every status from 400 on.
func (e *ServerError) Classify() (message.FailureClass, time.Duration) {
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
	word = strings.ToLower(word)
	switch word {
	case "rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "tokens", "requests", "resource_exhausted":
		return message.FailureRateLimit
	case "overloaded", "overloaded_error", "engine_overloaded", "engine_overloaded_error", "service_unavailable",
		"service_unavailable_error", "unavailable", "slow_down", "loading_model":
		return message.FailureOverloaded
	case "server_error", "api_error", "internal_error", "internal_server_error", "internalservererror", "internal":
		return message.FailureServer
	case "timeout", "timeout_error", "request_timeout", "deadline_exceeded":
		return message.FailureTimeout
	case "context_length_exceeded", "string_above_max_length", "exceed_context_size_error", "request_too_large":
		return message.FailureContext
	case "invalid_api_key", "api_key_invalid", "authentication_error", "permission_error", "permission_denied", "unauthenticated", "access_denied",
		"insufficient_quota", "billing_error", "billing_hard_limit_reached", "account_deactivated":
		return message.FailureAuth
	case "invalid_request_error", "invalid_request", "bad_request", "badrequesterror", "not_found_error", "model_not_found",
		"unsupported_parameter", "unsupported_value", "invalid_argument", "failed_precondition", "not_found", "out_of_range":
		return message.FailureRequest
	case "content_filter", "content_policy_violation", "invalid_prompt", "image_content_policy_violation", "bio_policy", "misalignment_policy_violation":
		return message.FailureContent
	}
	if strings.HasPrefix(word, "invalid_") || strings.HasPrefix(word, "unsupported_") { // "invalid_image_format"
		return message.FailureRequest
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
	for _, words := range []string{"context length", "context size", "context window", "maximum context", "prompt is too long", "input is too long",
		"too many tokens", "exceeds the maximum number of tokens"} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}
