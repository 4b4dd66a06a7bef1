// Package oai has what OpenAI's two wires share: the form of errors, and rules of names,
// schemas and models.
package oai

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// Bounds that both wires have.
const (
	MaxTools  = 128
	MaxName   = 64
	MaxString = 10 << 20
)

// Route checks the method, the path and the key of a request, by the rules path and auth.
func Route(path string) func(c *wire.Check, r *http.Request) {
	return func(c *wire.Check, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, path) {
			c.Refuse("path", "", "Invalid URL (%s %s)", r.Method, r.URL.Path)
		}
		if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); (!ok || key == "") && r.Header.Get("Api-Key") == "" {
			c.Refuse("auth", "", "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).")
		}
	}
}

// Fault refuses a body that is no JSON object, by the rule json.
func Fault(c *wire.Check, what string) {
	c.Refuse("json", "", "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. "+
		"The OpenAI API expects a JSON payload, but what was sent was not valid JSON: %s)", what)
}

// Body returns the response of a refusal.
func Body(r *wire.Refusal) string {
	if r.Type == "" {
		r.Type = "invalid_request_error"
	}
	return errorBody(r.Message, r.Type, r.Param, r.Code)
}

func errorBody(text, kind, param, code string) string {
	return wire.JSON(wire.M{"error": wire.M{"message": text, "type": kind, "param": wire.OrNull(param), "code": wire.OrNull(code)}})
}

// Classified returns the status, the type and the code of a failure.
func Classified(class message.FailureClass) (status int, kind, code string) {
	switch class {
	case message.FailureRateLimit:
		return http.StatusTooManyRequests, "requests", "rate_limit_exceeded"
	case message.FailureOverloaded:
		return http.StatusServiceUnavailable, "server_error", "server_is_overloaded"
	case message.FailureAuth:
		return http.StatusUnauthorized, "invalid_request_error", "invalid_api_key"
	case message.FailureContext:
		return http.StatusBadRequest, "invalid_request_error", "context_length_exceeded"
	case message.FailureContent:
		return http.StatusBadRequest, "invalid_request_error", "content_filter"
	case message.FailureRequest:
		return http.StatusBadRequest, "invalid_request_error", ""
	}
	return http.StatusInternalServerError, "server_error", "server_error"
}

// Failed returns the response of a failure before the answer has begun.
func Failed(f wire.Failure) (status int, body string) {
	status, kind, code := Classified(f.Class)
	return status, errorBody(f.Message, kind, "", code)
}

// Reasons reports whether a model thinks before it answers: gpt-5 and later, and the o
// series.
func Reasons(model string) bool {
	major, _ := wire.Version(model, "gpt-")
	return major >= 5 && !strings.Contains(model, "chat") || len(model) > 1 && model[0] == 'o' && model[1] >= '1' && model[1] <= '9'
}

// Sampling refuses temperature and top_p of models that think, by the rule sampling.
func Sampling(c *wire.Check, root wire.Node, effort string) {
	if !Reasons(c.Model) || effort == "none" {
		return
	}
	for _, key := range []string{"temperature", "top_p"} {
		if n := root.Get(key); n.Kind == wire.Number && n.Text != "1" && n.Text != "1.0" {
			c.Refuse("sampling", key, "Unsupported parameter: '%s' is not supported with this model.", key)
		}
	}
}

// TooLong refuses a string.
func TooLong(c *wire.Check, rule, param string, most, is int) {
	c.Refuse(rule, param, "Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", param, most, is)
}

// Empty refuses an empty string.
func Empty(c *wire.Check, rule, param string) {
	c.Refuse(rule, param, "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", param)
}

// Name refuses what is no name of a function.
func Name(c *wire.Check, rule, param string, name wire.Node) {
	switch {
	case wire.Word(name.Text) && len(name.Text) <= MaxName:
	case name.Kind == wire.None:
		c.Refuse(rule, param, "Missing required parameter: '%s'.", param)
	case name.Text == "":
		Empty(c, rule, param)
	case len(name.Text) > MaxName:
		TooLong(c, rule, param, MaxName, len(name.Text))
	default:
		c.Refuse(rule, param, "Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", param)
	}
}

// Schema refuses parameters that are not the schema of an object, by the rules tool-schema
// and, if they are strict, tool-strict.
func Schema(c *wire.Check, param, name string, schema wire.Node, strict bool) {
	what := ""
	switch kind := schema.Get("type"); {
	case schema.Kind <= wire.Null:
		return
	case schema.Kind != wire.Object:
		what = "the parameters are not of type 'object', 'boolean'."
	case kind.Kind == wire.None:
		what = `schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`
	case !kind.Is("object"):
		what = fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: %q'.", kind.Text)
	case schema.Get("properties").Kind != wire.Object:
		what = "In context=(), object schema missing properties."
	}
	if what != "" {
		c.Refuse("tool-schema", param, "Invalid schema for function '%s': %s", name, what)
	} else if strict {
		if what := loose(schema, "()"); what != "" {
			c.Refuse("tool-strict", param, "Invalid schema for function '%s': %s", name, what)
		}
	}
}

// loose says why a schema is not strict; "" if it is.
func loose(schema wire.Node, at string) string {
	if schema.Get("type").Is("object") {
		if more := schema.Get("additionalProperties"); more.Kind != wire.Boolean || more.True() {
			return fmt.Sprintf("In context=%s, 'additionalProperties' is required to be supplied and to be false.", at)
		}
		required := schema.Get("required").List
		for _, p := range schema.Get("properties").List {
			if !slices.ContainsFunc(required, func(n wire.Node) bool { return n.Is(p.Key) }) {
				return fmt.Sprintf("In context=%s, 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", at, p.Key)
			}
			if what := loose(p, fmt.Sprintf("('properties', '%s')", p.Key)); what != "" {
				return what
			}
		}
	}
	if items := schema.Get("items"); items.Kind == wire.Object {
		return loose(items, "('items',)")
	}
	return ""
}
