package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
)

// Defaults of Timeouts.
const (
	DefaultHeaderTimeout = 10 * time.Second
	DefaultBodyTimeout   = 30 * time.Second
	DefaultIdleTimeout   = 2 * time.Minute
)

// Timeouts bound the time in which a client must send a request; 0 of each is its default.
// They do not bound answers: a stream of events may take days.
type Timeouts struct {
	// Header is how long the head of a request may take.
	Header time.Duration
	// Body is how long the body may take, plus one second for every 64 KiB received.
	Body time.Duration
	// Idle is how long a connection may wait for its next request.
	Idle time.Duration
}

// slowest is the least rate of a long body, in bytes a second.
const slowest = 64 << 10

// maxBodies bounds the bodies of all requests that are read at a time, in bytes. One of the largest fits in.
const maxBodies = 384 << 20

// small is the size up to which a body or an answer passes also beside many long ones: somebody who answers an ask is not kept from it.
const small = 64 << 10

var errManyBodies = errors.New("the bodies of all requests together are too long")

// patientBody is a body with a deadline, which counts for all bodies until its request is answered, or what was read is not needed any more.
type patientBody struct {
	io.ReadCloser
	conn  *http.ResponseController
	until time.Time
	n     int64
	all   *atomic.Int64
}

// awaitBody sets the deadline of the request's body, if it has one. It is set at the
// beginning, because net/http reads a body to its end even if the handler does not.
// Call done when the request is answered.
func (s *Server) awaitBody(w http.ResponseWriter, r *http.Request) (done func()) {
	if r.Body == nil || r.ContentLength == 0 {
		return func() {}
	}
	body := &patientBody{ReadCloser: r.Body, conn: http.NewResponseController(w), until: time.Now().Add(s.o.Timeouts.Body), all: &s.bodies}
	body.wait()
	r.Body = body
	return body.release
}

// release has what was read until now count no more.
func (b *patientBody) release() {
	b.all.Add(-b.n)
	b.n = 0
	if outer, ok := b.ReadCloser.(*patientBody); ok { // of the server that has handed the request over
		outer.release()
	}
}

// wait sets the deadline. Only the connections of tests have no deadlines.
func (b *patientBody) wait() {
	_ = b.conn.SetReadDeadline(b.until.Add(time.Duration(b.n/slowest) * time.Second))
}

// Read removes the deadline at the end of the body: after that, net/http reads only to
// notice that the client has gone.
func (b *patientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	if b.all.Add(int64(n)) > maxBodies && b.n > small {
		return n, errManyBodies
	}
	if err == nil {
		b.wait()
	}
	if errors.Is(err, io.EOF) {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// hold makes an answer of so many bytes count for all bodies, because a client may take its time to read it. Call done when it was written.
// w is that of serve.
func hold(w http.ResponseWriter, n int) (done func(), err error) {
	all := w.(*patientWriter).bodies
	if all.Add(int64(n)) > maxBodies && n > small {
		all.Add(-int64(n))
		return nil, bodyFailure(w, errManyBodies, 0)
	}
	return func() { all.Add(-int64(n)) }, nil
}

// builders is how many long answers are built at a time: each holds a whole conversation or turn until it counts for all bodies.
const builders = 8

// build builds a long answer. It waits for its turn, and not for the client: w is written later.
func (s *Server) build(ctx context.Context, write func(text *bytes.Buffer) error) (*bytes.Buffer, error) {
	select {
	case s.building <- struct{}{}:
		defer func() { <-s.building }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var text bytes.Buffer
	return &text, write(&text)
}

// drain reads and drops the body before an answer that may last for days. Otherwise its deadline would end the answer, and its bytes count
// for as long.
func drain(w http.ResponseWriter, r *http.Request) error {
	_, err := io.Copy(io.Discard, bounded(w, r, maxBody))
	if body, ok := r.Body.(*patientBody); ok {
		body.release()
	}
	return bodyFailure(w, err, maxBody)
}

// bounded returns the body, limited to that many bytes. A longer one ends the connection;
// it needs the writer of net/http, so that the client still reads the error.
func bounded(w http.ResponseWriter, r *http.Request, most int64) io.Reader {
	if p, ok := w.(*patientWriter); ok {
		w = p.ResponseWriter
	}
	return http.MaxBytesReader(w, r.Body, most)
}

// bodyFailure returns the error of a body that could not be read to its end; nil if err has
// another cause.
func bodyFailure(w http.ResponseWriter, err error, most int64) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &failure{http.StatusRequestEntityTooLarge, wire.CodeTooLarge, fmt.Sprintf("the body is longer than %d bytes; send a shorter one", most)}
	case errors.Is(err, errManyBodies):
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", "1")
		return &failure{http.StatusTooManyRequests, wire.CodeTooMany, "there are too many long requests and answers at a time; send it again in a moment"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close") // the rest of the body may still come
		return &failure{http.StatusRequestTimeout, wire.CodeTooSlow, "the body did not come in time; send it in one go"}
	}
	return nil
}

// patientWriter closes the connection of a client that does not read its answer.
type patientWriter struct {
	http.ResponseWriter
	conn  *http.ResponseController
	stall time.Duration
	// bodies are those of the server that let the request in, whichever owner's answers.
	bodies *atomic.Int64
	// status is that of the answer; 0 before it begins.
	status int
	// token is the name of the caller's token, once that is known.
	token string
}

// WriteHeader begins the answer.
func (w *patientWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// piece is how many bytes of an answer share one deadline.
const piece = 64 << 10

// Write writes p in pieces, each with a deadline of its own.
func (w *patientWriter) Write(p []byte) (written int, err error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	for {
		_ = w.conn.SetWriteDeadline(time.Now().Add(w.stall)) // a writer without deadlines cannot stall
		n, err := w.ResponseWriter.Write(p[:min(len(p), piece)])
		written += n
		if p = p[n:]; err != nil || len(p) == 0 {
			return written, err
		}
	}
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
