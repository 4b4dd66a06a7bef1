package providertest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

const (
	// host is the name of the kit's server, elsewhere that of another one.
	host      = "model.test"
	elsewhere = "elsewhere.test"
	// key is a key that may appear nowhere but in a header.
	key = "sk-canary-0123456789abcdef"
)

// request is what an adapter has asked.
type request struct {
	url    string
	header http.Header
	body   string
}

// reply is how the server answers a request.
type reply struct {
	// status 0 is no head until the request is cancelled; err is a failure of the network
	// instead.
	status int
	err    error
	header http.Header
	// pieces are what the reads of the body return, and end what comes behind them; nil is
	// io.EOF. hold: nothing comes behind them.
	pieces []string
	end    error
	hold   bool
}

// server answers in the place of the vendor. It is safe for concurrent use.
type server struct {
	answer func(request) reply

	mu       sync.Mutex
	requests []request
	bodies   []*sending
	// waiting gets a value, if there is room, whenever a request waits for something that
	// does not come.
	waiting chan struct{}
	// over is closed when the rule ends, and ends all that still waits.
	over chan struct{}
}

func newServer(answer func(request) reply) *server {
	return &server{answer: answer, waiting: make(chan struct{}, 1), over: make(chan struct{})}
}

// asked returns the requests so far.
func (s *server) asked() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.requests...)
}

// sent returns the bodies so far.
func (s *server) sent() []*sending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*sending(nil), s.bodies...)
}

// forget drops what was asked and sent so far.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.bodies = nil, nil
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	this := request{url: req.URL.String(), header: req.Header.Clone()}
	if req.Body != nil {
		data, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		this.body = string(data)
	}
	s.mu.Lock()
	s.requests = append(s.requests, this)
	s.mu.Unlock()
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	r := s.answer(this)
	switch {
	case r.err != nil:
		return nil, r.err
	case r.status == 0:
		s.wait()
		select {
		case <-req.Context().Done():
			return nil, req.Context().Err()
		case <-s.over:
			return nil, errReset
		}
	}
	b := &sending{ctx: req.Context(), reply: r, server: s, closed: make(chan struct{})}
	b.pieces = append([]string(nil), r.pieces...)
	s.mu.Lock()
	s.bodies = append(s.bodies, b)
	s.mu.Unlock()
	return &http.Response{
		Status: http.StatusText(r.status), StatusCode: r.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.header.Clone(), Body: b, ContentLength: -1, Request: req,
	}, nil
}

func (s *server) wait() {
	select {
	case s.waiting <- struct{}{}:
	default:
	}
}

// sending is the body of a response.
type sending struct {
	reply
	ctx    context.Context
	server *server
	once   sync.Once
	closed chan struct{}
}

// Read implements io.Reader.
func (b *sending) Read(p []byte) (int, error) {
	select {
	case <-b.closed:
		return 0, http.ErrBodyReadAfterClose
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	default:
	}
	switch {
	case len(p) == 0:
		return 0, nil
	case len(b.pieces) > 0:
		n := copy(p, b.pieces[0])
		if b.pieces[0] = b.pieces[0][n:]; b.pieces[0] == "" {
			b.pieces = b.pieces[1:]
		}
		return n, nil
	case !b.hold:
		return 0, cmp.Or(b.end, io.EOF)
	}
	b.server.wait()
	select {
	case <-b.closed:
		return 0, http.ErrBodyReadAfterClose
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	case <-b.server.over:
		return 0, errReset
	}
}

// Close implements io.Closer.
func (b *sending) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// errReset is what a reader sees of a connection that was reset.
var errReset = &resetError{errors.New("read tcp 192.0.2.1:443: connection reset by peer")}

// resetError is a net.Error.
type resetError struct{ error }

// Timeout implements net.Error.
func (*resetError) Timeout() bool { return false }

// Temporary implements net.Error.
func (*resetError) Temporary() bool { return true }

// streams returns a reply with these pieces of a body.
func (w *Wire) streams(pieces ...string) reply {
	return reply{
		status: http.StatusOK, pieces: pieces,
		header: http.Header{"Content-Type": {cmp.Or(w.ContentType, "text/event-stream")}},
	}
}

// fails returns a reply with the failure. An error within a stream follows the first event
// of the answer.
func (w *Wire) fails(f Failure) reply {
	if f.Status == http.StatusOK {
		return w.streams(w.Answer(hello()).Events[0], f.Body)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	for name, values := range f.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	return reply{status: f.Status, header: header, pieces: []string{f.Body}}
}

// size is the number of bytes of the first n events.
func (s Stream) size(n int) int { return len(strings.Join(s.Events[:n], "")) }

// whole is the body of the stream.
func (s Stream) whole() string { return strings.Join(s.Events, "") }

// holdsKey reports whether the text has the key in it.
func holdsKey(text string) bool { return strings.Contains(text, key) }
