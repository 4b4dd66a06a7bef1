package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Client returns a client for the vendor's SDK. It has the times, limits and rules of Open:
// a response that is no 2xx stream of events fails the request with the error of Open, and
// reading the body fails with those of [Stream.Next], or a *provider.ServerError for an
// error within the stream. The body has nothing but whole events of valid JSON. The SDK
// sets the address, the key and its own headers; those of Network are added.
//
// Construct the SDK with retries and environment off.
func (s *Server) Client() *http.Client {
	return &http.Client{Transport: transport{s}, CheckRedirect: stay}
}

// Ended returns the error of a stream without what the SDK has wrapped around it; ctx is the
// caller's. An error that the SDK made itself is one of the network or a provider.ErrProtocol.
func (s *Server) Ended(ctx context.Context, err error) error {
	var known provider.Classified
	var request *url.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", s.c.Vendor, ctx.Err())
	case errors.As(err, &known):
		return known
	case errors.As(err, &request):
		return s.unreachable(err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return s.NoFinish("")
	}
	return s.Broken("the vendor's library cannot read the answer", []byte(err.Error()))
}

type transport struct{ s *Server }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	own := req.Clone(req.Context())
	own.RequestURI = ""
	for name, values := range t.s.c.Network.Header {
		own.Header[http.CanonicalHeaderKey(name)] = values
	}
	st, err := t.s.open(own)
	if err != nil {
		return nil, err
	}
	resp := *st.head
	resp.Request, resp.ContentLength = req, -1
	resp.Header = resp.Header.Clone()
	resp.Header.Set("Content-Type", "text/event-stream")
	resp.Body = &frames{st: st}
	return &resp, nil
}

// frames is a stream written again, one event at a time.
type frames struct {
	st  *Stream
	buf bytes.Buffer
	err error
	// last: the event that ends the answer has come.
	last bool
}

// Read implements io.Reader.
func (f *frames) Read(b []byte) (int, error) {
	for f.buf.Len() == 0 {
		if f.err != nil {
			return 0, f.err
		}
		ev, err := f.st.next()
		if err == nil {
			err = f.take(ev)
		}
		if f.last && err != nil && f.st.Lost(err) {
			err = io.EOF
		}
		f.err = err
	}
	return f.buf.Read(b)
}

// Close implements io.Closer.
func (f *frames) Close() error {
	f.st.Close()
	return nil
}

func (f *frames) take(ev sse.Event) error {
	s := f.st.s
	if ev.Name == Failed && len(ev.Data) > 0 {
		return s.Failure(ev.Data)
	}
	if len(ev.Data) == 0 {
		return nil // a comment with a name
	}
	if !IsObject(ev.Data) {
		if ev.Cut {
			return s.NoFinish("")
		}
		return s.Broken("an event is no JSON object", ev.Data)
	}
	if bytes.Contains(ev.Data, []byte(`"error"`)) {
		if e, ok := InStream(ev.Data); ok {
			return s.Shown(e)
		}
	}
	if ev.Name != "" {
		fmt.Fprintf(&f.buf, "event: %s\n", strings.ToValidUTF8(ev.Name, "\uFFFD"))
		if ev.Name == s.c.Last {
			f.last = true
			f.st.w.within(afterDone)
		}
	}
	data := jsontext.Value(bytes.ToValidUTF8(ev.Data, []byte("\uFFFD"))) // a copy: blocks are kept and sent back as they are
	if bytes.IndexByte(data, '\n') >= 0 { // SDKs read one line
		_ = data.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // it is valid
	}
	f.buf.WriteString("data: ")
	f.buf.Write(data)
	f.buf.WriteString("\n\n")
	return nil
}
