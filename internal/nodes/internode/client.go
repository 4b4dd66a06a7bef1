package internode

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/peer"
	"github.com/grapnel-go/grapnel/internal/privatedir"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// The errors of a Client.
var (
	// ErrUnreached: the node got nothing, so the request can go to another one.
	ErrUnreached = errors.New("the node cannot be reached")
	// ErrMisdirected: the node has refused the request, because it is not the one to answer it. It has done nothing.
	ErrMisdirected = errors.New("the node is not the one to answer this request")
	// ErrBroken: the node may have got the request, and its answer did not come.
	ErrBroken = errors.New("the node did not answer")
)

// Client sends requests to other nodes. It is safe for concurrent use.
type Client struct {
	keys Keys
	http *http.Transport
}

// Keys are the certificate of this node and the authority that signs those of all nodes. *access.NodeKeys has them.
type Keys interface {
	// Client returns the settings of a connection to a host.
	Client(host string) *tls.Config
}

// dialTime is how long a connection to a node may take.
const dialTime = 2 * time.Second

// New returns a client. Without keys, which are nil, it reaches only nodes of this machine. The caller closes it.
func New(keys Keys) *Client {
	c := &Client{keys: keys}
	c.http = &http.Transport{
		DialContext: c.dialSocket, DialTLSContext: c.dialTLS,
		MaxIdleConnsPerHost: 32, IdleConnTimeout: 30 * time.Second,
	}
	return c
}

// Close closes the connections that wait for requests.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// socketHost ends the name by which net/http knows a unix socket; the path stands before it in hexadecimal digits.
const socketHost = ".unix"

// addressOf returns the scheme and the host of a node's URL.
func addressOf(n store.Node) (scheme, host string, err error) {
	if path, ok := strings.CutPrefix(n.URL, "unix:"); ok && filepath.IsAbs(path) {
		return "http", hex.EncodeToString([]byte(path)) + socketHost, nil
	}
	u, err := url.Parse(n.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || *u != (url.URL{Scheme: "https", Host: u.Host}) {
		return "", "", fmt.Errorf("%w: %s has the URL %.200q; a node has https://HOST:PORT or unix:/PATH", ErrUnreached, n.ID, n.URL)
	}
	return u.Scheme, u.Host, nil
}

// dialSocket connects to the unix socket of a node that the same user runs, or root.
func (c *Client) dialSocket(ctx context.Context, _, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	name, ok := strings.CutSuffix(host, socketHost)
	path, err := hex.DecodeString(name)
	if !ok || err != nil {
		return nil, fmt.Errorf("%w: %s is not encrypted", ErrUnreached, address)
	}
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "unix", string(path))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreached, err)
	}
	uid, known := peer.User(conn)
	switch {
	case known && !peer.Allowed(uid):
		err = fmt.Errorf("%w: user %d listens on %s", ErrUnreached, uid, path)
	case !known:
		if err = privatedir.Check(filepath.Dir(string(path))); err != nil {
			err = fmt.Errorf("%w: %w", ErrUnreached, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// dialTLS connects to a node with a certificate of the authority.
func (c *Client) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	if c.keys == nil {
		return nil, fmt.Errorf("%w: this node has no certificate for other machines; give --node-cert, --node-key and --node-ca", ErrUnreached)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTime}, Config: c.keys.Client(host)}).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreached, err)
	}
	return conn, nil
}

// address makes a request one for the node, on behalf of a caller. Of the headers only those stay that the API reads.
func address(r *http.Request, to store.Node, from Caller) error {
	scheme, host, err := addressOf(to)
	if err != nil {
		return err
	}
	r.URL.Scheme, r.URL.Host, r.Host = scheme, host, Host
	kept := http.Header{}
	for _, name := range []string{"Content-Type", "Last-Event-Id"} {
		if values := r.Header[name]; values != nil {
			kept[name] = values
		}
	}
	kept.Set(HeaderNode, to.ID)
	kept.Set(HeaderCaller, from.at(to).header())
	kept["User-Agent"] = nil // net/http sends none
	r.Header = kept
	return nil
}

// Host is the Host of requests between nodes.
const Host = "grapnel"

// Request is a request that this node makes of another one.
type Request struct {
	// Method is GET if it is "".
	Method string
	// Path is the path with its query.
	Path string
	// Last is the Last-Event-ID; "" is none.
	Last string
	// Body is JSON; nil is none.
	Body []byte
}

// Do sends a request to the node on behalf of a caller. The errors are those of the package, or the end of ctx. The caller closes the
// body of the answer.
func (c *Client) Do(ctx context.Context, to store.Node, from Caller, q Request) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, q.Method, q.Path, bytes.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	if q.Body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.Last != "" {
		r.Header.Set("Last-Event-ID", q.Last)
	}
	if err := address(r, to, from); err != nil {
		return nil, err
	}
	resp, err := c.http.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusMisdirectedRequest {
		_ = resp.Body.Close() // the status says it all
		err = ErrMisdirected
	}
	if err != nil {
		return nil, kindOf(ctx, err)
	}
	return resp, nil
}

// Forward sends the request, with this body, to the node on behalf of a caller, and writes the node's answer to w as it comes. After
// an error of the package nothing was written. An answer that breaks off in the middle panics with http.ErrAbortHandler, as net/http
// wants it.
func (c *Client) Forward(w http.ResponseWriter, r *http.Request, to store.Node, from Caller, body []byte) error {
	if _, _, err := addressOf(to); err != nil {
		return err
	}
	var failed error
	p := &httputil.ReverseProxy{
		Transport: c.http, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(p *httputil.ProxyRequest) {
			_ = address(p.Out, to, from) // it was checked before
			p.Out.Body, p.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			p.Out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode == http.StatusMisdirectedRequest {
				return ErrMisdirected
			}
			resp.Header = AnswerHeaders(resp.Header)
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	p.ServeHTTP(w, r)
	return kindOf(r.Context(), failed)
}

// AnswerHeaders returns those that this node does not set itself.
func AnswerHeaders(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range []string{"Content-Type", "Content-Length", "Location", "Retry-After"} {
		if values := h[name]; values != nil {
			out[name] = values
		}
	}
	return out
}

// kindOf makes an error one of the package.
func kindOf(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrUnreached), errors.Is(err, ErrMisdirected):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}
