package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/grapnel-go/grapnel/internal/api/wire"
)

// Defaults of Timeouts.
const (
	DefaultHeaderTimeout = 10 * time.Second
	DefaultBodyTimeout   = 30 * time.Second
	DefaultIdleTimeout   = 2 * time.Minute
)

// Timeouts bound how long a client may keep a connection without asking for anything; 0 of
// each is its default. No answer is among them: a stream of events may take days.
type Timeouts struct {
	// Header is how long the head of a request may take.
	Header time.Duration
	// Body is how long the body may take, besides one second for every 64 KiB that have
	// come.
	Body time.Duration
	// Idle is how long a connection may wait for its next request.
	Idle time.Duration
}

// slowest is the rate in bytes a second at which a long body may come.
const slowest = 64 << 10

// patientBody is a body that has to come in time.
type patientBody struct {
	io.ReadCloser
	conn  *http.ResponseController
	until time.Time
	n     int64
}

// awaitBody bounds the time of the body of a request, if it has one. The deadline holds
// from the beginning: net/http reads to its end what a handler has left.
func (s *Server) awaitBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.ContentLength == 0 {
		return
	}
	body := &patientBody{ReadCloser: r.Body, conn: http.NewResponseController(w), until: time.Now().Add(s.o.Timeouts.Body)}
	body.wait()
	r.Body = body
}

// wait sets the deadline. A connection that has none is a test's.
func (b *patientBody) wait() {
	_ = b.conn.SetReadDeadline(b.until.Add(time.Duration(b.n/slowest) * time.Second))
}

// Read lifts the deadline at the end: what is read then is whether the client is there.
func (b *patientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.n += int64(n); err == nil {
		b.wait()
	}
	if errors.Is(err, io.EOF) {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// drain reads a body that says nothing here. Left alone, its deadline would end the
// answer.
func drain(w http.ResponseWriter, r *http.Request) error {
	_, err := io.Copy(io.Discard, bounded(w, r, maxBody))
	return bodyFailure(w, err, maxBody)
}

// bounded is the body, up to that many bytes. A longer one ends the connection, of which
// only the writer of net/http can see to it that the client reads why.
func bounded(w http.ResponseWriter, r *http.Request, most int64) io.Reader {
	if p, ok := w.(*patientWriter); ok {
		w = p.ResponseWriter
	}
	return http.MaxBytesReader(w, r.Body, most)
}

// bodyFailure is what is wrong if a body could not be read to its end; nil if err is about
// something else.
func bodyFailure(w http.ResponseWriter, err error, most int64) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &failure{http.StatusRequestEntityTooLarge, wire.CodeTooLarge, fmt.Sprintf("the body is longer than %d bytes; send less at once", most)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close") // the rest of the body may still come
		return &failure{http.StatusRequestTimeout, wire.CodeTooSlow, "the body did not come in time; send it in one go"}
	}
	return nil
}

// patientWriter ends the connection of a client that takes nothing of its answer.
type patientWriter struct {
	http.ResponseWriter
	conn  *http.ResponseController
	stall time.Duration
}

// piece is how much of an answer is written under one deadline, in bytes.
const piece = 64 << 10

// Write gives the client time for each piece.
func (w *patientWriter) Write(p []byte) (written int, err error) {
	for {
		_ = w.conn.SetWriteDeadline(time.Now().Add(w.stall)) // what has no deadline cannot stall
		n, err := w.ResponseWriter.Write(p[:min(len(p), piece)])
		written += n
		if p = p[n:]; err != nil || len(p) == 0 {
			return written, err
		}
	}
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
