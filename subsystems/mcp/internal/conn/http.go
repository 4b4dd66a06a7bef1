package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	answerMost  = 16 << 20 // bytes of an answer that is no stream; the library limits events alike
	refusalMost = 64 << 10 // bytes of an answer with an error status
	// retries is how often the library may reopen a stream. A probe, not this count,
	// finds out whether the server has died.
	retries = 100
)

// RejectedError says that an endpoint answered a request outside the protocol: with an
// HTTP status or a redirect. The request had no known effect; the connection stays.
type RejectedError struct {
	// Status is the HTTP status, 401.
	Status int
	reason string
}

// Error returns "HTTP 401 Unauthorized", or another reason. It quotes nothing that was
// sent or received.
func (r *RejectedError) Error() string {
	if r.reason != "" {
		return r.reason
	}
	return fmt.Sprintf("HTTP %d %s", r.Status, http.StatusText(r.Status))
}

// Away reports whether the status says that the server itself could not be reached.
func (r *RejectedError) Away() bool {
	switch r.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// reachError says that a request found no answer.
type reachError struct{ text string }

func (e *reachError) Error() string { return e.text }

// httpLine is the carrier over HTTP requests to an endpoint.
type httpLine struct {
	spec   Spec
	origin url.URL // scheme and host; no request goes anywhere else
	base   *http.Transport
	doubt  func()
	life   context.Context // every request ends with it
	cut    context.CancelFunc

	streams atomic.Int64 // requests for a stream so far

	mu   sync.Mutex
	conn sdk.Connection
}

func newHTTPLine(s Spec) (*httpLine, error) {
	if err := CheckURL(s.URL); err != nil {
		return nil, err
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("its url cannot be read")
	}
	h := &httpLine{spec: s, origin: url.URL{Scheme: u.Scheme, Host: u.Host}}
	h.base = http.DefaultTransport.(*http.Transport).Clone()
	if u.Scheme == "http" {
		// Plain text must not leave the machine, whatever the name resolves to.
		h.base.Proxy = nil
		h.base.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: loopbackOnly}).DialContext
	}
	h.life, h.cut = context.WithCancel(context.Background())
	return h, nil
}

func loopbackOnly(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !to.Addr().Unmap().IsLoopback() {
		return errors.New("http is for servers on this machine only")
	}
	return nil
}

// Connect lets the library connect, and keeps the connection, so that it can be closed when
// the library ignores its context.
func (h *httpLine) Connect(ctx context.Context) (sdk.Connection, error) {
	inner := &sdk.StreamableClientTransport{
		Endpoint: h.spec.URL, MaxRetries: retries,
		HTTPClient: &http.Client{Transport: h, CheckRedirect: h.redirect},
	}
	conn, err := inner.Connect(ctx)
	h.mu.Lock()
	h.conn = conn
	h.mu.Unlock()
	return conn, err
}

func (h *httpLine) transport(doubt func()) sdk.Transport {
	h.doubt = doubt
	return h
}

func (h *httpLine) gone() <-chan struct{} { return nil }

func (h *httpLine) pid() int { return 0 }

func (h *httpLine) exit() (string, bool) { return "", false }

func (h *httpLine) stop(grace time.Duration, hard <-chan struct{}) {
	t := time.NewTimer(grace)
	defer t.Stop()
	closed := make(chan struct{})
	go func() { h.close(); close(closed) }()
	select {
	case <-closed:
	case <-t.C:
	case <-hard:
	}
	h.cut()
	<-closed
}

func (h *httpLine) kill() {
	h.cut()
	h.close()
}

func (h *httpLine) close() {
	h.mu.Lock()
	conn := h.conn
	h.mu.Unlock()
	if conn != nil {
		_ = conn.Close() // the error only says that the other side has gone
	}
}

func (h *httpLine) release() {
	h.kill()
	h.base.CloseIdleConnections()
}

// redirect follows only redirects to the same origin that keep the whole request.
func (h *httpLine) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case req.URL.Scheme != h.origin.Scheme || req.URL.Host != h.origin.Host:
		return &RejectedError{reason: "it redirects to another host, which is not followed"}
	case req.Method != via[0].Method:
		return &RejectedError{reason: "it answers with a redirect that would lose the request"}
	case len(via) > 3:
		return &RejectedError{reason: "it redirects without end"}
	}
	return nil
}

// RoundTrip sends a request with the headers of the spec, and classifies the answer. An
// error ends this request only; a status that reaches the library would end the session.
func (h *httpLine) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(h.life, cancel)
	done := func() { stop(); cancel() }
	sent := req.Clone(ctx)
	for name, value := range h.spec.Headers {
		sent.Header.Set(name, value)
	}
	first := req.Method == http.MethodGet && h.streams.Add(1) == 1
	resp, err := h.base.RoundTrip(sent)
	if err != nil {
		defer done()
		return nil, h.unreached(req.Context(), err)
	}
	resp.Body = &body{ReadCloser: resp.Body, h: h, ctx: req.Context(), done: done, stream: req.Method == http.MethodGet}
	switch req.Method {
	case http.MethodPost:
		return h.posted(req, resp)
	case http.MethodGet:
		return streamed(resp, first)
	}
	return resp, nil
}

// unreached returns the error of a request without an answer. Unless we ended the request
// ourselves, it lets the server be probed.
func (h *httpLine) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if h.life.Err() == nil {
		h.doubt()
	}
	return &reachError{h.spec.clean(Clip(err.Error(), 300))}
}

// streamed judges the answer to a request for a stream. Servers need not offer one: after
// any answer to the first request, calls work without a stream.
func streamed(resp *http.Response, first bool) (*http.Response, error) {
	switch {
	case resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests:
	case first:
		resp.StatusCode = http.StatusMethodNotAllowed
	default:
		_ = resp.Body.Close()
		return nil, &RejectedError{Status: resp.StatusCode} // retried later
	}
	return resp, nil
}

// posted judges the answer to a message.
func (h *httpLine) posted(req *http.Request, resp *http.Response) (*http.Response, error) {
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if ok && kind == "text/event-stream" || resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return resp, nil
	}
	most := int64(answerMost)
	if !ok {
		most = refusalMost
	}
	// Read it here, because the library ends the session after a truncated answer.
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	_ = resp.Body.Close()
	switch {
	case err != nil && ok:
		return nil, h.unreached(req.Context(), err)
	case ok && int64(len(data)) > most:
		return nil, &reachError{fmt.Sprintf("its answer has more than %d bytes", most)}
	case ok || answers(req, data):
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		return resp, nil
	}
	lost := resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest
	if lost && req.Header.Get("Mcp-Session-Id") != "" {
		return nil, ErrSession
	}
	return nil, &RejectedError{Status: resp.StatusCode}
}

// answers reports whether data is the server's own error for the message of req.
func answers(req *http.Request, data []byte) bool {
	type message struct {
		ID    json.RawMessage `json:"id"`
		Error json.RawMessage `json:"error"`
	}
	var got, sent message
	if json.Unmarshal(data, &got) != nil || got.Error == nil || req.GetBody == nil {
		return false
	}
	text, err := req.GetBody()
	if err != nil || json.NewDecoder(text).Decode(&sent) != nil {
		return false
	}
	return sent.ID != nil && bytes.Equal(got.ID, sent.ID)
}

// body is the body of an answer. When a stream breaks, it lets the server be probed, which
// may have died.
type body struct {
	io.ReadCloser
	h      *httpLine
	ctx    context.Context // of the request as the library made it
	done   func()
	stream bool // a stream, which the server should not end
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && (err != io.EOF || b.stream) && b.ctx.Err() == nil && b.h.life.Err() == nil {
		b.h.doubt()
	}
	return n, err
}

func (b *body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
