package recordings

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
)

// replay is a recording that answers requests.
type replay struct {
	Recording
	body []byte
	// piece limits one read of the body; 0 is no limit.
	piece int
	// cut is the error at the end of the body; nil is io.EOF.
	cut error
}

// Handler returns a server that gives the recording's answer to every request of its wire, and
// 404 to others. It is safe for concurrent use.
func Handler(t testing.TB, r Recording) http.Handler {
	t.Helper()
	return &replay{Recording: r, body: r.Response(t)}
}

func (p *replay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resp, err := p.RoundTrip(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // the client may leave
}

var _ http.RoundTripper = (*replay)(nil)

// RoundTrip answers without a network.
func (p *replay) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	resp := &http.Response{Request: r, StatusCode: p.Status, Status: strconv.Itoa(p.Status) + " " + http.StatusText(p.Status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Header: http.Header{"Content-Type": {p.ContentType}}}
	if p.RetryAfter != "" {
		resp.Header.Set("Retry-After", p.RetryAfter)
	}
	resp.Body = io.NopCloser(&pieces{rest: bytes.NewReader(p.body), size: p.piece, end: p.cut})
	if r.Method != http.MethodPost || !p.Wire.serves(r.URL.Path) {
		text := fmt.Sprintf("the recording is of the wire %q, which does not have %s %s", p.Wire, r.Method, r.URL.Path)
		resp.StatusCode, resp.Status, resp.Body = http.StatusNotFound, "404 Not Found", io.NopCloser(bytes.NewReader([]byte(text)))
		resp.Header.Set("Content-Type", "text/plain")
	}
	return resp, nil
}

// pieces reads at most size bytes at once.
type pieces struct {
	rest *bytes.Reader
	size int
	end  error
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.size > 0 && len(b) > p.size {
		b = b[:p.size]
	}
	n, err := p.rest.Read(b)
	if err == io.EOF && p.end != nil {
		err = p.end
	}
	return n, err
}
