package openai

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

const (
	// maxMessage limits the text of an error, in bytes.
	maxMessage = 500
	// maxRefusal limits the bytes read of a response that is no stream.
	maxRefusal = 64 << 10
	// maxRetryAfter limits the time that a server may ask to wait.
	maxRetryAfter = 24 * time.Hour
)

// Error is an error that the server reports.
type Error struct {
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

// Error returns one line: the status, the server's code and its message.
func (e *Error) Error() string {
	var sb strings.Builder
	sb.WriteString("openai: ")
	if e.Status != http.StatusOK {
		fmt.Fprintf(&sb, "%d %s: ", e.Status, orElse(http.StatusText(e.Status), "unknown status"))
	}
	if word := orElse(e.Code, e.Type); word != "" && word != strconv.Itoa(e.Status) {
		sb.WriteString(word + ": ")
	}
	sb.WriteString(orElse(e.Message, "no reason given"))
	return sb.String()
}

// refusal returns the error of a response that is not 2xx.
func (p *Provider) refusal(resp *http.Response, from io.Reader) error {
	body, _ := io.ReadAll(io.LimitReader(from, maxRefusal)) // use the part read before any error
	e := refusalOf(body, resp.StatusCode)
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	if e.Message == "" {
		e.Message = unworded(resp, body)
	}
	return p.shown(e)
}

// shown removes secrets from the texts of an error and shortens them.
func (p *Provider) shown(e *Error) *Error {
	e.Message = p.veil.line(e.Message, maxMessage)
	e.Code, e.Type = p.veil.line(e.Code, 100), p.veil.line(e.Type, 100)
	return e
}

// unworded describes a response without an error object.
func unworded(resp *http.Response, body []byte) string {
	text := strings.TrimSpace(string(body))
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return "the server redirects; the base URL must be the final address"
	case isHTML(resp.Header, text):
		return "an HTML page instead of the API" + titled(text)
	case text == "":
		return "the server gave no reason"
	}
	return text
}

func isHTML(h http.Header, text string) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "text/html" || strings.HasPrefix(text, "<")
}

func titled(page string) string {
	low := strings.ToLower(page)
	from := strings.Index(low, "<title>")
	if from < 0 || len(low) != len(page) {
		return ""
	}
	from += len("<title>")
	to := strings.Index(low[from:], "</title>")
	if to < 0 {
		return ""
	}
	return ": " + strings.TrimSpace(page[from:from+to])
}

// refusal is an error object in any of its spellings: {"error":{…}}, {"error":"text"},
// {"object":"error","message":…}, {"detail":…}.
type refusal struct {
	Error   reason `json:"error"`
	Message words  `json:"message"`
	Type    words  `json:"type"`
	Code    words  `json:"code"`
	Detail  detail `json:"detail"`
}

// refusalOf reads the body of an error object as far as it can.
func refusalOf(body []byte, status int) *Error {
	var r refusal
	if jsontext.Value(body).Kind() == jsontext.KindBeginObject {
		_ = json.Unmarshal(body, &r, lax()) // use the part before a mistake
	}
	return &Error{
		Status: status, Message: orElse(orElse(string(r.Error.Message), string(r.Message)), string(r.Detail)),
		Type: orElse(string(r.Error.Type), string(r.Type)), Code: orElse(string(r.Error.Code), string(r.Code)),
	}
}

// reason is the value of "error".
type reason struct {
	Message words `json:"message"`
	Type    words `json:"type"`
	Code    words `json:"code"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (r *reason) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginObject {
		return r.Message.UnmarshalJSONFrom(d)
	}
	type fields reason
	return json.UnmarshalDecode(d, (*fields)(r))
}

func (r *reason) error(status int) *Error {
	return &Error{Status: status, Message: string(r.Message), Type: string(r.Type), Code: string(r.Code)}
}

// detail is a text, or the JSON of anything else.
type detail string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *detail) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if *t = detail(value); value.Kind() == jsontext.KindString {
		*t = detail(unquote(value[1 : len(value)-1]))
	}
	return nil
}

// retryAfter reads the time that the server asks to wait. For a time of day it uses the
// server's own clock, if the response has a Date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return bounded(ms / 1000)
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return bounded(s)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return bounded(at.Sub(now).Seconds())
}

func bounded(seconds float64) time.Duration {
	switch {
	case seconds > maxRetryAfter.Seconds():
		return maxRetryAfter
	case seconds > 0: // and a number at all
		return time.Duration(seconds * float64(time.Second))
	}
	return 0
}

// broken returns an ErrProtocol with an excerpt of the stream.
func (p *Provider) broken(what string, text []byte) error {
	const most = 120
	if len(text) == 0 {
		return fmt.Errorf("openai: %w: %s", provider.ErrProtocol, what)
	}
	text = text[:min(len(text), maxRefusal)]
	return fmt.Errorf("openai: %w: %s: %q", provider.ErrProtocol, what, p.veil.line(string(text), most))
}

// unreachable returns why no response came, without the address that net/http adds.
func (p *Provider) unreachable(err error) error {
	if ue := (*url.Error)(nil); errors.As(err, &ue) {
		err = ue.Err
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the connection was closed before an answer began: %w", err)
	}
	return faulty(message.FailureNetwork, fmt.Errorf("openai: %s: %w", p.host, p.veil.hide(err)))
}
