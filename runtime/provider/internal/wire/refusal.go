package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"mime"
	"net/http"
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

// refusal returns the error of a response that is not 2xx.
func (s *Server) refusal(resp *http.Response, from io.Reader) error {
	body, _ := io.ReadAll(io.LimitReader(from, maxRefusal)) // use the part read before any error
	e := refusalOf(body, resp.StatusCode)
	if after := retryAfter(resp.Header, time.Now()); after > 0 {
		e.RetryAfter = after
	}
	if e.Message == "" {
		e.Message = unworded(resp, body)
	}
	return s.Shown(e)
}

// Shown names the vendor in an error, removes secrets from its texts and shortens them.
func (s *Server) Shown(e *provider.ServerError) error {
	e.Vendor = s.c.Vendor
	e.Message = s.veil.line(e.Message, maxMessage)
	e.Code, e.Type = s.veil.line(e.Code, 100), s.veil.line(e.Type, 100)
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
// {"object":"error","message":…}, {"type":"error","error":{…}}, {"detail":…}.
type refusal struct {
	Error   *Reason `json:"error"`
	Object  Text    `json:"object"`
	Message Words   `json:"message"`
	Type    Words   `json:"type"`
	Code    Words   `json:"code"`
	Detail  detail  `json:"detail"`
}

// says reports whether the object is an error and not an answer.
func (r *refusal) says() bool { return r.Error != nil || r.Object == "error" || r.Type == "error" }

// readRefusal reads the body of an error object as far as it can. Google sends a list of
// one where it streams lists.
func readRefusal(body []byte) (r refusal) {
	body = bytes.TrimLeft(body, " \t\r\n")
	if bytes.HasPrefix(body, []byte("[")) {
		body = bytes.TrimLeft(body[1:], " \t\r\n")
	}
	if bytes.HasPrefix(body, []byte("{")) {
		// The decoder stops behind the first value. Use the part before a mistake.
		_ = json.UnmarshalDecode(jsontext.NewDecoder(bytes.NewBuffer(body), Lax()), &r)
	}
	return r
}

// refusalOf returns the error of a body; its Message is "" if the body has none.
func refusalOf(body []byte, status int) *provider.ServerError {
	r := readRefusal(body)
	e := &provider.ServerError{Status: status}
	if r.Error != nil {
		e = r.Error.Error(status)
	}
	e.Message = cmp.Or(e.Message, string(r.Message), string(r.Detail))
	if e.Type = cmp.Or(e.Type, string(r.Type)); e.Type == "error" {
		e.Type = ""
	}
	e.Code = cmp.Or(e.Code, string(r.Code))
	return e
}

// InStream returns the error that an event's data has instead of a part of an answer; false
// if it has none. Show it with Shown.
func InStream(data []byte) (*provider.ServerError, bool) {
	if r := readRefusal(data); !r.says() {
		return nil, false
	}
	return refusalOf(data, http.StatusOK), true
}

// Failure returns the error of an event of the name Failed.
func (s *Server) Failure(data []byte) error {
	e := refusalOf(data, http.StatusOK)
	e.Message = cmp.Or(e.Message, string(data))
	return s.Shown(e)
}

// Reason is the value of "error": an object or a text.
type Reason struct {
	Message Words `json:"message"`
	Type    Words `json:"type"`
	Code    Words `json:"code"`
	// Status and Details are Google's: a word for the code, the time to wait, and what is
	// wrong exactly.
	Status  Words              `json:"status"`
	Details List[Object[more]] `json:"details"`
}

// more is an entry of Google's details: a RetryInfo or an ErrorInfo.
type more struct {
	RetryDelay Text `json:"retryDelay"`
	Reason     Text `json:"reason"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (r *Reason) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginObject {
		return r.Message.UnmarshalJSONFrom(d)
	}
	type fields Reason
	return json.UnmarshalDecode(d, (*fields)(r))
}

// Error returns the error of a response with the status; 200 is a stream.
func (r *Reason) Error(status int) *provider.ServerError {
	e := &provider.ServerError{Status: status, Message: string(r.Message), Type: string(r.Type), Code: string(r.Code)}
	if r.Status != "" {
		e.Code = string(r.Status)
	}
	for _, m := range r.Details {
		if d, err := time.ParseDuration(string(m.Is.RetryDelay)); err == nil {
			e.RetryAfter = bounded(d.Seconds())
		}
		if m.Is.Reason == "API_KEY_INVALID" { // the status is that of a wrong argument
			e.Code = string(m.Is.Reason)
		}
	}
	return e
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
		*t = detail(Unquote(value[1 : len(value)-1]))
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

// Broken returns an ErrProtocol with an excerpt of the stream; text may be nil.
func (s *Server) Broken(what string, text []byte) error {
	const most = 120
	if len(text) == 0 {
		return faulty(message.FailureProtocol, fmt.Errorf("%s: %w: %s", s.c.Vendor, provider.ErrProtocol, what))
	}
	text = text[:min(len(text), maxRefusal)]
	return faulty(message.FailureProtocol, fmt.Errorf("%s: %w: %s: %q", s.c.Vendor, provider.ErrProtocol, what, s.veil.line(string(text), most)))
}
