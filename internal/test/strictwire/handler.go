package strictwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Options are what a Handler can be told.
type Options struct {
	// Key signs reasoning; empty is a fixed one. What was signed with another key is
	// refused.
	Key []byte
	// Without is the ID of a rule that does not count; "" is none.
	Without string
	// Answers is the number of answers before the first one, from which ids of answers and
	// calls follow: servers of one conversation need different ones, because vendors' ids
	// are random.
	Answers int
}

// Handler is a strict server of a wire over HTTP. It is safe for concurrent use and starts
// no goroutine of its own.
type Handler struct {
	wire    Wire
	inner   provider.Provider
	without string
	signer  *wire.Signer
	memory  wire.Memory

	mu       sync.Mutex
	requests []Request
	// total counts the requests, also those that are not kept.
	total int
}

var _ http.Handler = (*Handler)(nil)

// New returns a server of the wire that streams the answers of inner. o may be nil.
func New(w Wire, inner provider.Provider, o *Options) *Handler {
	if o == nil {
		o = &Options{}
	}
	key := o.Key
	if len(key) == 0 {
		key = []byte("strictwire")
	}
	return &Handler{wire: w, inner: inner, without: o.Without, total: o.Answers, signer: &wire.Signer{Key: bytes.Clone(key), Vendor: w.vendor.Name}}
}

// Request is a request that has reached a server.
type Request struct {
	// Model is the model that is asked.
	Model string
	Body  string
	// Refusal is why the request was refused; nil if it was not.
	Refusal *Refusal
	// Prefix compares the request with the one before.
	Prefix Prefix
}

// maxRequests bounds how many requests a server keeps; it forgets the oldest.
const maxRequests = 1000

// Requests returns the newest requests, at most 1,000, in the order in which they came.
func (h *Handler) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// Rejections returns those of Requests that were refused.
func (h *Handler) Rejections() (out []Rejection) {
	for _, r := range h.Requests() {
		if r.Refusal != nil {
			out = append(out, Rejection{Refusal: *r.Refusal, Request: r.Body})
		}
	}
	return out
}

// Client returns a client that reaches the server without a network, whatever the address.
func (h *Handler) Client() *http.Client { return &http.Client{Transport: inProcess{h}} }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	re := h.reply(r, body)
	defer re.stop()
	if re.err != nil {
		panic(http.ErrAbortHandler)
	}
	for key, values := range re.header {
		rw.Header()[key] = values
	}
	rw.WriteHeader(re.status)
	for {
		part, err := re.next()
		if _, writeErr := rw.Write(part); writeErr != nil || errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_ = http.NewResponseController(rw).Flush() // a writer without Flush sends later
	}
}

// reply is a response that is made while it is read.
type reply struct {
	status int
	header http.Header
	// err is set if the connection is cut before the response.
	err error
	// next returns the next part. io.EOF ends the response; another error cuts it.
	next func() ([]byte, error)
	// stop releases the model behind. It may be called twice.
	stop func()
}

// whole returns a reply that is there at once.
func whole(status int, kind, body string) *reply {
	parts := [][]byte{[]byte(body)}
	return &reply{status: status, header: http.Header{"Content-Type": {kind}}, stop: func() {}, next: func() ([]byte, error) {
		if len(parts) == 0 {
			return nil, io.EOF
		}
		part := parts[0]
		parts = nil
		return part, nil
	}}
}

func (h *Handler) reply(r *http.Request, body []byte) *reply {
	v := h.wire.vendor
	c := wire.NewCheck(v, new(wire.Parser), h.without)
	c.Signer, c.Memory = h.signer, &h.memory
	v.Route(c, r)
	root := c.Body(string(body))
	id := h.keep(c, string(body))
	if broken := c.Broken(); len(broken) > 0 {
		return whole(broken[0].Status, "application/json", broken[0].Body)
	}
	if stream := root.Get("stream"); h.wire.name != "gemini" && !stream.True() {
		return whole(http.StatusNotImplemented, "text/plain", "strictwire: this server answers streams only; set stream to true")
	}
	ask := &wire.Ask{Root: root, Model: c.Model, Signer: h.signer, Memory: &h.memory, ID: fmt.Sprintf("%08x", id), Now: 1_793_000_000, Input: int64(len(body)+3) / 4}
	req := v.Request(root)
	req.Model.Name = c.Model
	return h.stream(r.Context(), ask, req)
}

func (h *Handler) stream(ctx context.Context, ask *wire.Ask, req message.ModelRequest) *reply {
	next, stop := iter.Pull2(h.inner.Stream(ctx, req))
	chunk, err, ok := next()
	if err != nil {
		stop()
		f, cut := failure(ctx, err)
		if cut {
			return &reply{err: err, stop: stop}
		}
		status, body := h.wire.vendor.Failed(f)
		re := whole(status, "application/json", body)
		if s := int(f.RetryAfter.Seconds()); s > 0 && h.wire.name != "gemini" {
			re.header.Set("Retry-After", strconv.Itoa(s))
		}
		return re
	}
	out := new(wire.Out)
	answer := h.wire.vendor.Answer(out, ask)
	ended := !ok
	return &reply{status: http.StatusOK, header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, stop: stop, next: func() ([]byte, error) {
		if ended {
			return nil, io.EOF
		}
		out.Reset()
		if err != nil {
			ended = true
			f, cut := failure(ctx, err)
			if cut {
				return nil, io.ErrUnexpectedEOF
			}
			answer.Fail(f)
			return bytes.Clone(out.Bytes()), nil
		}
		answer.Chunk(&chunk)
		if ended = chunk.Kind == message.ChunkFinish; !ended {
			chunk, err, ok = next()
			ended = !ok
		}
		return bytes.Clone(out.Bytes()), nil
	}}
}

// failure returns what a server says of an error of the model behind it. cut: it says
// nothing, and the connection is cut.
func failure(ctx context.Context, err error) (f wire.Failure, cut bool) {
	class, retryAfter := provider.Classify(err)
	return wire.Failure{Class: class, Message: err.Error(), RetryAfter: retryAfter}, ctx.Err() != nil || class == message.FailureNetwork
}

// inProcess is a server as a client in the same process sees it.
type inProcess struct{ h *Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		if err = errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	re := p.h.reply(r, body)
	if re.err != nil {
		re.stop()
		return nil, errors.Join(r.Context().Err(), io.ErrUnexpectedEOF)
	}
	return &http.Response{
		StatusCode: re.status, Status: strconv.Itoa(re.status) + " " + http.StatusText(re.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Request: r, Header: re.header, Body: &pull{ctx: r.Context(), re: re}, ContentLength: -1,
	}, nil
}

// pull is the body of a reply.
type pull struct {
	ctx  context.Context
	re   *reply
	rest []byte
	// mu is held while the reply is used. A body may be closed while it is read: then who
	// reads ends the reply.
	mu     sync.Mutex
	closed atomic.Bool
}

// Read implements io.Reader.
func (p *pull) Read(b []byte) (int, error) {
	p.mu.Lock()
	n, err := p.read(b)
	p.mu.Unlock()
	if p.closed.Load() {
		p.end()
	}
	return n, err
}

// end ends the reply, unless somebody reads it.
func (p *pull) end() {
	if p.mu.TryLock() {
		p.re.stop()
		p.mu.Unlock()
	}
}

func (p *pull) read(b []byte) (int, error) {
	if p.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	for len(p.rest) == 0 {
		if err := p.ctx.Err(); err != nil {
			return 0, err
		}
		part, err := p.re.next()
		if err != nil {
			if ended := p.ctx.Err(); ended != nil {
				err = ended
			}
			return 0, err
		}
		p.rest = part
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (p *pull) Close() error {
	p.closed.Store(true)
	p.end()
	return nil
}
