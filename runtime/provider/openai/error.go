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

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

const (
	// maxMessage bounds the text of an error, in bytes.
	maxMessage = 500
	// maxRefusal bounds what is read of a response that is no stream.
	maxRefusal = 64 << 10
	// maxRetryAfter bounds what a server may ask for.
	maxRetryAfter = 24 * time.Hour
)

// Error is what the server calls an error.
type Error struct {
	// Status is that of the response; 200 if the error came within a stream.
	Status int
	// Code and Type are the server's own words, "" if it gave none:
	// "rate_limit_exceeded", "invalid_request_error".
	Code, Type string
	// Message is the server's text, or what can be said without one: one line of
	// at most 500 bytes.
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

// refusal makes an error of a response that is not 2xx.
func (p *Provider) refusal(resp *http.Response, from io.Reader) error {
	body, _ := io.ReadAll(io.LimitReader(from, maxRefusal)) // what came is better than why no more did
	e := &Error{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header, time.Now())}
	var c cursor
	c.reset(body)
	if c.peek() == '{' {
		c.refusal(e)
	}
	if e.Message == "" {
		e.Message = unworded(resp, body)
	}
	return p.shown(e)
}

// shown makes the texts of an error fit to be shown.
func (p *Provider) shown(e *Error) *Error {
	e.Message = p.veil.line(e.Message, maxMessage)
	e.Code, e.Type = p.veil.line(e.Code, 100), p.veil.line(e.Type, 100)
	return e
}

// unworded says what a response without an error object is.
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

// titled returns the title of a page.
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

// refusal reads an error object in any of its spellings: {"error":{…}},
// {"error":"text"}, {"object":"error","message":…}, {"detail":…}.
func (c *cursor) refusal(e *Error) {
	for m := c.object(); m.next(); {
		switch string(m.key) {
		case "error":
			c.reason(e)
		case "message":
			e.Message = orElse(e.Message, c.words())
		case "type":
			e.Type = orElse(e.Type, c.words())
		case "code":
			e.Code = orElse(e.Code, c.words())
		case "detail":
			if c.peek() == '"' {
				e.Message = orElse(e.Message, c.words())
				continue
			}
			e.Message = orElse(e.Message, string(c.raw()))
		default:
			c.skip()
		}
	}
}

// reason reads the value of "error".
func (c *cursor) reason(e *Error) {
	if c.peek() != '{' {
		e.Message = orElse(c.words(), e.Message)
		return
	}
	for m := c.object(); m.next(); {
		switch string(m.key) {
		case "message":
			e.Message = orElse(c.words(), e.Message)
		case "type":
			e.Type = orElse(c.words(), e.Type)
		case "code":
			e.Code = orElse(c.words(), e.Code)
		default:
			c.skip()
		}
	}
}

// retryAfter reads what the server asks to wait. A time of day is measured from
// the server's own clock, if it says what that shows.
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

// broken says what of the stream is not the wire, with an excerpt.
func (p *Provider) broken(what string, text []byte) error {
	const most = 120
	if len(text) == 0 {
		return fmt.Errorf("openai: %w: %s", provider.ErrProtocol, what)
	}
	text = text[:min(len(text), maxRefusal)]
	return fmt.Errorf("openai: %w: %s: %q", provider.ErrProtocol, what, p.veil.line(string(text), most))
}

// unreachable is why no response came, without what net/http adds to it: the
// whole address.
func (p *Provider) unreachable(err error) error {
	if ue := (*url.Error)(nil); errors.As(err, &ue) {
		err = ue.Err
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the connection was closed before an answer began: %w", err)
	}
	return faulty(message.FailureNetwork, fmt.Errorf("openai: %s: %w", p.host, p.veil.hide(err)))
}
