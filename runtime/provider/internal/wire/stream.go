package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

const (
	// afterFinish is how long to wait for the usage after the finish. Then the stream
	// counts as ended.
	afterFinish = 5 * time.Second
	// forWords is how long the words of a refusal may take. The part that has come is used.
	forWords = 10 * time.Second
	// afterDone is how long to wait for the end of a finished response, so that its
	// connection can serve the next request.
	afterDone = 50 * time.Millisecond
)

// Failed is the name of an event with an error. llama.cpp uses a field of that name.
const Failed = "error"

// Stream is the response to one request. One goroutine at a time. Close it.
type Stream struct {
	s *Server
	// parent is the caller's context; ctx ends with it, or with a timeout.
	parent, ctx context.Context
	cancel      context.CancelCauseFunc
	release     func() bool
	w           *watch
	head        *http.Response
	events      *sse.Reader
}

// Open posts the body and returns the stream of the response. Errors are those of
// [Stream.Next], and a *provider.ServerError for a response that is not 2xx.
func (s *Server) Open(ctx context.Context, url string, body []byte) (*Stream, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, s.unreachable(err)
	}
	req.Header = s.header.Clone()
	st := &Stream{s: s, parent: ctx}
	st.ctx, st.cancel = context.WithCancelCause(st.parent)
	st.w = &watch{cancel: func() { st.cancel(provider.ErrTimeout) }}
	n := &s.c.Network
	st.w.start(n.FirstByteTimeout)
	resp, err := n.Client.Do(req.WithContext(st.ctx))
	st.w.stop()
	if err != nil {
		defer st.Close()
		return nil, st.ended(err, fmt.Sprintf("no answer began within %s; %s changes that", n.FirstByteTimeout, s.setting("FIRST_BYTE_TIMEOUT", "FirstByteTimeout")))
	}
	st.head = resp
	st.release = context.AfterFunc(st.ctx, func() { _ = resp.Body.Close() }) // even if the client's transport ignores ctx
	st.w.body, st.w.quiet = resp.Body, n.IdleTimeout
	if err = st.accept(); err != nil {
		defer st.Close()
		return nil, st.paused(err)
	}
	st.events = sse.NewReader(st.w, &sse.Options{
		MaxEvent: n.MaxEvent, MaxStream: n.MaxStream, KeepCut: true, Strict: true, Named: []string{Failed},
	})
	return st, nil
}

// setting names what changes a setting: the variable, if there are any, and the option.
func (s *Server) setting(variable, option string) string {
	if s.c.Env == "" {
		return "Options." + option
	}
	return s.c.Env + "_" + variable + " or Options." + option
}

// Close releases the connection.
func (st *Stream) Close() {
	st.w.stop()
	if st.release != nil {
		st.release()
		_ = st.head.Body.Close() // nothing can be done about an error
	}
	st.cancel(nil)
}

// accept refuses a response that is no stream of events.
func (st *Stream) accept() error {
	s, resp := st.s, st.head
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		st.w.within(forWords)
		return s.refusal(resp, st.w)
	}
	kind := resp.Header.Get("Content-Type")
	if parsed, _, err := mime.ParseMediaType(kind); err == nil {
		kind = parsed
	}
	if kind == "text/event-stream" || kind == "" {
		return nil
	}
	st.w.within(forWords)
	head, _ := io.ReadAll(io.LimitReader(st.w, maxRefusal)) // only for the error's text
	if e := refusalOf(head, resp.StatusCode); e.Message != "" {
		return s.Shown(e)
	}
	if isHTML(resp.Header, strings.TrimSpace(string(head))) {
		head = []byte(unworded(resp, head))
	}
	return s.Broken("the server sent "+s.veil.line(kind, 100)+" instead of a stream of events", head)
}

// Next returns the next event; its data is valid until the next call. Errors end the stream:
// that of the caller's context, provider.ErrTimeout, provider.ErrNoFinish where the response
// ends, provider.ErrProtocol with an excerpt, an error of class FailureTooLarge, or one of
// the network.
func (st *Stream) Next() (sse.Event, error) {
	ev, err := st.events.Next()
	if err == nil {
		return ev, nil
	}
	s := st.s
	var line *sse.LineError
	switch {
	case errors.As(err, &line):
		err = st.damaged(line)
	case errors.Is(err, sse.ErrEventTooLong):
		err = s.tooLarge(err, "MaxEvent", s.c.Network.MaxEvent)
	case errors.Is(err, sse.ErrStreamTooLong):
		err = s.tooLarge(err, "MaxStream", s.c.Network.MaxStream)
	case st.parent.Err() != nil || context.Cause(st.ctx) != nil:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = st.NoFinish("")
	}
	return ev, st.paused(err)
}

// NoFinish returns the error of a stream that ended too early: provider.ErrNoFinish with the
// vendor's name; what may say more.
func (st *Stream) NoFinish(what string) error {
	if what != "" {
		what = ": " + what
	}
	return faulty(message.FailureNetwork, fmt.Errorf("%s: %w%s", st.s.c.Vendor, provider.ErrNoFinish, what))
}

// damaged returns the error of a line that is no field. A server that fails within a stream
// may write its error there as plain JSON over several lines.
func (st *Stream) damaged(line *sse.LineError) error {
	text := line.Line
	if c := bytes.TrimLeft(text, " \t"); len(c) > 0 && (c[0] == '{' || c[0] == '[') {
		all := bytes.Clone(text)
		for next := (*sse.LineError)(nil); len(all) < maxRefusal; all = append(append(all, '\n'), next.Line...) {
			if _, err := st.events.Next(); !errors.As(err, &next) {
				break
			}
		}
		if e, ok := InStream(all); ok {
			return st.s.Shown(e)
		}
	}
	return st.s.Broken(line.Error(), text)
}

// tooLarge returns an error that names the exceeded option.
func (s *Server) tooLarge(err error, option string, limit int) error {
	return faulty(message.FailureTooLarge, fmt.Errorf("%s: %w: Options.%s is %d bytes", s.c.Vendor, err, option, limit))
}

func (st *Stream) paused(err error) error {
	return st.ended(err, fmt.Sprintf("the answer paused for %s; %s changes that", st.s.c.Network.IdleTimeout, st.s.setting("IDLE_TIMEOUT", "IdleTimeout")))
}

// ended returns why there is no answer: first the end of the caller's context, then an
// error that is known, then a timeout, with the words of late, then the network's error.
func (st *Stream) ended(err error, late string) error {
	var known provider.Classified
	switch {
	case st.parent.Err() != nil:
		return fmt.Errorf("%s: %w", st.s.c.Vendor, st.parent.Err())
	case errors.As(err, &known):
		return err
	case errors.Is(context.Cause(st.ctx), provider.ErrTimeout):
		return faulty(message.FailureTimeout, fmt.Errorf("%s: %w (%s): %s", st.s.c.Vendor, provider.ErrTimeout, st.s.host, late))
	}
	return st.s.unreachable(err)
}

// Lost reports whether an error of Next is only the end of the connection or silence: an
// answer whose finish has come is whole all the same.
func (st *Stream) Lost(err error) bool {
	var e *provider.ServerError
	if st.parent.Err() != nil || errors.As(err, &e) {
		return false
	}
	class, _ := provider.Classify(err)
	return class == message.FailureNetwork || class == message.FailureTimeout
}

// Finishing says whether the answer is whole but for its usage. Then the rest of the stream
// has a short time, whatever comes in it.
func (st *Stream) Finishing(whole bool) {
	if whole {
		st.w.within(afterFinish)
	} else {
		st.w.until = time.Time{}
	}
}

// Drain reads the rest of a response that has ended, if it comes at once, so that its
// connection can serve the next request.
func (st *Stream) Drain() { st.w.drain() }
