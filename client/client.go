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
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
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
	// Others are addresses of further daemons over the same store. A request goes to the daemon
	// that has answered last; only if none listens there it goes to the next one. The token is
	// for all of them.
	Others []string
}

// Defaults of Options.
const (
	DefaultRetries = 8
	DefaultWait    = 50 * time.Millisecond
	MaxWait        = 2 * time.Second
)

// Client speaks to one daemon, or to one of several over the same store. It is safe for concurrent
// use.
type Client struct {
	o     Options
	doors []door
	// at is the index of the door that has answered last.
	at atomic.Int64
}

// door is one way to a daemon.
type door struct {
	address string
	socket  bool // the address is the path of a unix socket
	base    *url.URL
	// bad is why the address is none; nil if it is one.
	bad  error
	http *http.Client
}

// New returns a client of the daemon at an address: the path of a unix socket, or a URL that begins with https:// or http://. The daemon
// need not be there yet. No token goes over http, except to this machine.
func New(address string, o *Options) *Client {
	c := new(Client)
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
	for _, address := range append([]string{address}, c.o.Others...) {
		c.doors = append(c.doors, c.o.door(address))
	}
	return c
}

func (o *Options) door(address string) door {
	d := door{address: address, socket: !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://")}
	base := strings.TrimRight(address, "/")
	if d.socket {
		base = socketBase
	}
	d.base, d.bad = url.Parse(base)
	transport := &http.Transport{DisableKeepAlives: true} // keep no connection between two calls
	if d.socket {
		transport.DialContext = d.dial(o.Named)
	} else {
		transport.Proxy, transport.TLSClientConfig = http.ProxyFromEnvironment, o.TLS.Clone()
	}
	d.http = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return d
}

// Address returns the path of the socket, or the URL, of the daemon that has answered last.
func (c *Client) Address() string { return c.doors[c.at.Load()].address }

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
	req, err := http.NewRequestWithContext(ctx, method, path, data)
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

// do sends a request, whose URL has no host, to the daemon that has answered last, or to the next
// one that listens. An answer that is no success is an error. The caller closes the body.
func (c *Client) do(req *http.Request) (*http.Response, error) {
	first := c.at.Load()
	var failed error
	for i := range int64(len(c.doors)) {
		at := (first + i) % int64(len(c.doors))
		resp, err := c.doors[at].do(req, c.o.Token)
		if err == nil {
			c.at.Store(at)
			if resp.StatusCode < 200 || resp.StatusCode > 299 {
				defer resp.Body.Close()
				return nil, refusal(resp)
			}
			return resp, nil
		}
		if err = c.doors[at].unreached(err, c.o.Start); failed == nil || !errors.Is(err, ErrNotRunning) {
			failed = err
		}
		if !errors.Is(err, ErrNotRunning) { // the request may have arrived
			break
		}
	}
	return nil, failed
}

// do sends the request through the door.
func (d *door) do(req *http.Request, token string) (*http.Response, error) {
	if d.bad != nil {
		return nil, d.bad
	}
	to := *req.URL
	if to.RawPath != "" {
		to.RawPath = d.base.EscapedPath() + to.RawPath
	}
	to.Scheme, to.Host, to.Path = d.base.Scheme, d.base.Host, d.base.Path+to.Path
	out := req.Clone(req.Context())
	out.URL, out.Host = &to, to.Host
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	if err := d.identify(out, token); err != nil {
		return nil, err
	}
	return d.http.Do(out)
}

// identify adds the token to a request that nobody else can read.
func (d *door) identify(req *http.Request, token string) error {
	if d.socket || token == "" {
		return nil
	}
	host := req.URL.Hostname()
	if ip, err := netip.ParseAddr(host); req.URL.Scheme != "https" && host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return fmt.Errorf("%w: %s is not encrypted, and others could read the token; nothing was sent; use https", ErrUntrusted, d.address)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// unreached returns ErrNotRunning in a sentence, if that is the cause; start is the command that helps then.
func (d *door) unreached(err error, start string) error {
	dial, _ := errors.AsType[*net.OpError](err)
	// A daemon that ends resets the connections that nobody has accepted.
	reset := dial != nil && dial.Op == "dial" && errors.Is(err, syscall.ECONNRESET)
	if reset || errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w on %s; start one with `%s`", ErrNotRunning, d.address, start)
	}
	of, asked := errors.AsType[*url.Error](err)
	if !asked { // nothing was sent, and the error says why
		return err
	}
	err = of.Err
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("ask the daemon on %s: its certificate is not trusted: %w; name its authority in Options.TLS, or with --ca FILE", d.address, err)
	}
	return fmt.Errorf("ask the daemon on %s: %w", d.address, err)
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
