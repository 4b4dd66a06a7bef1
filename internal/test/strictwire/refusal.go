package strictwire

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Rule is one rule of a wire.
type Rule struct {
	// ID names the rule in a Refusal.
	ID string
	// Why says what the rule is for, or where it has been seen.
	Why string
}

// Refusal is a server's answer to a request that breaks a rule.
type Refusal struct {
	// Rule is the ID of the rule.
	Rule string
	// Status is the status of the response.
	Status int
	// Message, Type, Code and Param are those of the vendor's error; "" is null or
	// missing.
	Message, Type, Code, Param string
	// Body is the whole response.
	Body string
}

const invalidRequest = "invalid_request_error"

func openAIRefusal(rule, code, param, message string) *Refusal {
	r := &Refusal{Rule: rule, Status: http.StatusBadRequest, Message: message, Type: invalidRequest, Code: code, Param: param}
	orNull := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	r.Body = encoded(map[string]any{"error": map[string]any{
		"message": message, "type": r.Type, "param": orNull(param), "code": orNull(code),
	}})
	return r
}

func anthropicRefusal(rule, message string) *Refusal {
	r := &Refusal{Rule: rule, Status: http.StatusBadRequest, Message: message, Type: invalidRequest}
	if rule == "size" {
		r.Status, r.Type = http.StatusRequestEntityTooLarge, "request_too_large"
	}
	r.Body = encoded(map[string]any{
		"type": "error", "error": map[string]any{"type": r.Type, "message": message}, "request_id": "req_strictwire",
	})
	return r
}

func encoded(v any) string {
	data, _ := json.Marshal(v) // strings in maps always marshal
	return string(data)
}

// unknown returns the first member of an object that is none of the names, which
// are separated by blanks; "" if there is none.
func unknown(n node, names string) string {
	for i := range n.list {
		if key := n.list[i].key; !among(names, key) {
			return key
		}
	}
	return ""
}

func among(names, name string) bool {
	for one := range strings.SplitSeq(names, " ") {
		if one == name {
			return true
		}
	}
	return false
}

// word reports whether s matches ^[a-zA-Z0-9_-]+$.
func word(s string) bool {
	for i := range len(s) {
		switch b := s[i]; {
		case b|0x20 >= 'a' && b|0x20 <= 'z', b >= '0' && b <= '9', b == '_', b == '-':
		default:
			return false
		}
	}
	return s != ""
}
