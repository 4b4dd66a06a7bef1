// Package client is a client of the daemon, over its unix socket or over TCP: the operations of its API
// as methods, and its streams as sequences that reconnect and resume by themselves.
//
//	c := client.New("https://build.example:7777", &client.Options{Token: token})
//	conv, err := c.Conversation(ctx, "grapnel", "ann")
//	turn, err := c.Send(ctx, conv.ID, "What is in this directory?")
//	for item, err := range c.Follow(ctx, turn) {
//		…
//	}
//
// A client holds no connection between two calls and starts no goroutine of its
// own: there is nothing to close.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
)

// Sentinels that callers test with errors.Is.
var (
	// ErrNotRunning: no daemon listens at the address.
	ErrNotRunning = errors.New("no daemon is running")
	// ErrUntrusted: another user may have made the socket, or could read the token on its way. The client sent nothing.
	ErrUntrusted = errors.New("the socket cannot be trusted")
	// ErrClosed: the daemon has ended the stream because it stops.
	ErrClosed = errors.New("the daemon has ended")
	// ErrTurnLost: the end of the turn was missed, and the daemon does not have it any
	// more. The conversation has the turn's messages.
	ErrTurnLost = errors.New("the end of the turn was missed")
)

// Error is an error that the daemon answered.
type Error struct {
	// Status is the HTTP status.
	Status  int
	Code    wire.Code
	Message string
}

// Error returns the daemon's sentence.
func (e *Error) Error() string { return e.Message }

// CodeOf returns the code of the daemon's error; "" if err is no such error.
func CodeOf(err error) wire.Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Options of a Client; nil is all zero values.
type Options struct {
	// Retries is how often in a row a stream is connected again before it fails; 0
	// is DefaultRetries, negative is never.
	Retries int
	// Wait is the time before the first of them; it doubles with each, up to
	// MaxWait. 0 is DefaultWait.
	Wait time.Duration
	// Hooks is the least visibility of the hook runs in streams; "" is those for users.
	Hooks hook.Visibility
	// Start is the command that starts a daemon on the socket, for the error that no
	// daemon is running; "" is grapnel serve.
	Start string
	// Token is sent with each request over TCP; over the socket none is needed. It is a secret.
	Token string
	// TLS are settings for https, such as the authority of the daemon's certificate; nil trusts those of the system. New clones it.
	TLS *tls.Config
	// Named: a person chose the socket. Then its directory may belong to another user, if
	// the system says that the user or root listens.
	Named bool
}

// Defaults of Options.
const (
	DefaultRetries = 8
	DefaultWait    = 50 * time.Millisecond
	MaxWait        = 2 * time.Second
)

// Client speaks to one daemon. It is safe for concurrent use.
type Client struct {
	address string
	socket  bool // the address is the path of a unix socket
	base    string
	o       Options
	http    *http.Client
}

// New returns a client of the daemon at an address: the path of a unix socket, or a URL that begins with https:// or http://. The daemon
// need not be there yet. No token goes over http, except to this machine.
func New(address string, o *Options) *Client {
	c := &Client{address: address, base: strings.TrimRight(address, "/"), socket: !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://")}
	if c.socket {
		c.base = socketBase
	}
	if o != nil {
		c.o = *o
	}
	if c.o.Retries == 0 {
		c.o.Retries = DefaultRetries
	}
	if c.o.Start == "" {
		c.o.Start = "grapnel serve"
	}
	if c.o.Wait <= 0 {
		c.o.Wait = DefaultWait
	}
	transport := &http.Transport{DisableKeepAlives: true} // keep no connection between two calls
	if c.socket {
		transport.DialContext = c.dial
	} else {
		transport.Proxy, transport.TLSClientConfig = http.ProxyFromEnvironment, c.o.TLS.Clone()
	}
	c.http = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// Address returns the path of the daemon's socket, or its URL.
func (c *Client) Address() string { return c.address }

// socketBase is the URL of a daemon on a socket.
const socketBase = "http://grapnel"

// call sends a request and reads the answer into a T. A nil body sends none.
func call[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var v T
	resp, err := c.send(ctx, method, path, body, "")
	if err != nil {
		return v, err
	}
	return answer[T](resp)
}

// maxAnswer bounds an answer that is read as a whole: a server may not be what it seems.
const maxAnswer = 256 << 20

func answer[T any](resp *http.Response) (T, error) {
	var v T
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return v, nil
	}
	body := &io.LimitedReader{R: resp.Body, N: maxAnswer}
	err := json.NewDecoder(body).Decode(&v)
	if body.N == 0 {
		err = fmt.Errorf("it is longer than %d MiB", maxAnswer>>20)
	}
	if err != nil {
		return v, fmt.Errorf("read the answer of the daemon to %s %s: %w", resp.Request.Method, resp.Request.URL.Path, err)
	}
	return v, nil
}

// send sends a request; an answer that is no success is an error. The caller
// closes the body.
func (c *Client) send(ctx context.Context, method, path string, body any, last string) (*http.Response, error) {
	var data io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("write the request %s %s: %w", method, path, err)
		}
		data = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, data)
	if err != nil {
		return nil, fmt.Errorf("request %s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	return c.do(req)
}

// do sends a request; an answer that is no success is an error. The caller closes
// the body.
func (c *Client) do(req *http.Request) (*http.Response, error) {
	if err := c.identify(req); err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreached(err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, refusal(resp)
	}
	return resp, nil
}

// identify adds the token to a request that nobody else can read.
func (c *Client) identify(req *http.Request) error {
	if c.socket || c.o.Token == "" {
		return nil
	}
	host := req.URL.Hostname()
	if ip, err := netip.ParseAddr(host); req.URL.Scheme != "https" && host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return fmt.Errorf("%w: %s is not encrypted, and others could read the token; nothing was sent; use https", ErrUntrusted, c.address)
	}
	req.Header.Set("Authorization", "Bearer "+c.o.Token)
	return nil
}

// unreached returns ErrNotRunning in a sentence, if that is the cause.
func (c *Client) unreached(err error) error {
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w on %s; start one with `%s`", ErrNotRunning, c.address, c.o.Start)
	}
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("ask the daemon on %s: its certificate is not trusted: %w; name its authority in Options.TLS, or with --ca FILE", c.address, err)
	}
	return fmt.Errorf("ask the daemon on %s: %w", c.address, err)
}

// maxRefusal limits the bytes read of an error answer.
const maxRefusal = 1 << 20

func refusal(resp *http.Response) error {
	var f wire.Failure
	err := json.NewDecoder(io.LimitReader(resp.Body, maxRefusal)).Decode(&f)
	if err != nil || f.Error.Message == "" {
		f.Error.Message = "the daemon answered " + resp.Status
	}
	return &Error{Status: resp.StatusCode, Code: f.Error.Code, Message: f.Error.Message}
}
