package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The limits of a proxy.
const (
	maxConnections = 64
	maxHeader      = 64 << 10
	maxRefused     = 20
	dialTime       = 10 * time.Second
	idleTime       = 2 * time.Minute
)

// Proxy serves one listener until Close. It is safe for concurrent use.
type Proxy struct {
	hosts  []Host
	server *http.Server
	life   context.Context
	end    context.CancelFunc
	slots  chan struct{}
	work   sync.WaitGroup

	mu      sync.Mutex // guards refused
	refused []string
}

// Serve begins to serve a listener, and takes it over: Close closes it. An empty list of hosts admits none. The proxy of the environment
// (HTTP_PROXY, HTTPS_PROXY, NO_PROXY) is used to reach a host; it then looks names up, so addresses are not checked.
func Serve(l net.Listener, hosts []Host) *Proxy {
	p := &Proxy{hosts: hosts, slots: make(chan struct{}, maxConnections)}
	p.life, p.end = context.WithCancel(context.Background())
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: dialTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return p.life }, ConnState: p.count,
	}
	p.work.Go(func() { _ = p.server.Serve(l) })
	return p
}

// count keeps count of the connections that the server serves.
func (p *Proxy) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		p.work.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.work.Done()
	}
}

// Close ends all connections and waits for what serves them.
func (p *Proxy) Close() {
	p.end()
	_ = p.server.Close()
	p.work.Wait()
}

// Refused returns the hosts that were asked for in vain, each once, at most 20.
func (p *Proxy) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.refused)
}

// Environment returns the variables by which programs find a proxy at a port of 127.0.0.1.
func Environment(port int) []string {
	at := "http://127.0.0.1:" + strconv.Itoa(port)
	const not = "localhost,127.0.0.1,::1"
	return []string{
		"HTTP_PROXY=" + at, "HTTPS_PROXY=" + at, "ALL_PROXY=" + at, "NO_PROXY=" + not,
		"http_proxy=" + at, "https_proxy=" + at, "all_proxy=" + at, "no_proxy=" + not,
		"NODE_USE_ENV_PROXY=1", "npm_config_proxy=" + at, "npm_config_https_proxy=" + at,
	}
}

// ServeHTTP serves one request of a program.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		http.Error(w, "too many connections at once", http.StatusServiceUnavailable)
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" || r.URL.User != nil {
		http.Error(w, "this is a proxy: it takes CONNECT, and whole addresses that begin with http://", http.StatusBadRequest)
		return
	}
	host, name, port, err := p.admitted(r.URL.Host, 80)
	if err != nil {
		p.refuse(w, r.URL.Host, err)
		return
	}
	authority := name
	if port != 80 {
		authority = net.JoinHostPort(name, strconv.Itoa(port))
	}
	transport := &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return host.dial(ctx, address) }, ResponseHeaderTimeout: idleTime, DisableKeepAlives: true,
	}
	defer transport.CloseIdleConnections()
	forward := &httputil.ReverseProxy{
		Transport: transport, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(out *httputil.ProxyRequest) {
			out.Out.URL.Host, out.Out.Host = authority, authority
			out.Out.Header.Del("Proxy-Authorization")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { p.refuse(w, authority, err) },
	}
	forward.ServeHTTP(w, r)
}

// admitted returns the host that admits an authority, whose name and port it returns in their plain form.
func (p *Proxy) admitted(authority string, standard int) (h Host, name string, port int, err error) {
	name, port = authority, standard
	if host, text, err := net.SplitHostPort(authority); err == nil {
		if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 || text[0] == '+' {
			return h, "", 0, errors.New("its port is none")
		}
		name = host
	}
	name, ok := plain(name)
	if !ok {
		return h, "", 0, errors.New("its name is none")
	}
	for _, h := range p.hosts {
		if h.admits(name, port) {
			h.name, h.wild = name, false
			return h, name, port, nil
		}
	}
	return h, "", 0, errors.New("it is not among the hosts that this command may reach")
}

// refuse answers a request for a host that cannot be reached, and notes it.
func (p *Proxy) refuse(w http.ResponseWriter, authority string, why error) {
	shown := strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '?'
		}
		return r
	}, authority)
	if len(shown) > 260 {
		shown = shown[:260]
	}
	shown = strings.TrimSuffix(strings.TrimSuffix(shown, ":443"), ":80")
	p.mu.Lock()
	if len(p.refused) < maxRefused && !slices.Contains(p.refused, shown) {
		p.refused = append(p.refused, shown)
	}
	p.mu.Unlock()
	http.Error(w, fmt.Sprintf("%s cannot be reached: %v; to ask for it, request: connect %s", shown, why, shown), http.StatusForbidden)
}

// tunnel connects a program with a host.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	host, name, port, err := p.admitted(r.Host, 443)
	if err != nil {
		p.refuse(w, r.Host, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), dialTime)
	defer cancel()
	there, err := host.through(ctx, net.JoinHostPort(name, strconv.Itoa(port)))
	if err != nil {
		p.refuse(w, r.Host, err)
		return
	}
	defer there.Close()
	p.work.Add(1) // until the tunnel has ended: the server no longer counts it
	defer p.work.Done()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot become a tunnel", http.StatusInternalServerError)
		return
	}
	defer here.Close()
	defer context.AfterFunc(p.life, func() { _, _ = here.Close(), there.Close() })()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { carry(there, buffered, here) })
	both.Go(func() { carry(here, there, there) })
	both.Wait()
}

// carry copies from r, which reads from, to another connection until one of them ends or nothing comes for a while.
func carry(to net.Conn, r io.Reader, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		_ = from.SetReadDeadline(time.Now().Add(idleTime))
		n, err := r.Read(buf)
		if n > 0 {
			_ = to.SetWriteDeadline(time.Now().Add(idleTime))
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}

// dial connects to an address under the host's name, after it was looked up and checked.
func (h Host) dial(ctx context.Context, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if clean, ok := plain(name); !ok || clean != h.name { // the proxy of the environment
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	addrs, err := addresses(ctx, name)
	if err != nil {
		return nil, errors.New("its name cannot be resolved")
	}
	last := errPrivate
	for _, a := range addrs {
		if !h.reachable(a) {
			continue
		}
		c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return c, nil
		}
		last = errors.New("it does not answer")
	}
	return nil, last
}

func addresses(ctx context.Context, name string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{a}, nil
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

// through connects to an address, through the proxy of the environment if there is one for it.
func (h Host) through(ctx context.Context, address string) (net.Conn, error) {
	outer, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: address}})
	if err != nil || outer == nil {
		return h.dial(ctx, address)
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", withPort(outer))
	if err != nil {
		return nil, errors.New("the proxy of this machine does not answer")
	}
	if outer.Scheme == "https" {
		c = tls.Client(c, &tls.Config{ServerName: outer.Hostname()})
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
	}
	request := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n"
	if u := outer.User; u != nil {
		password, _ := u.Password()
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)) + "\r\n"
	}
	if _, err = io.WriteString(c, request+"\r\n"); err == nil {
		// Byte by byte: what follows the answer belongs to the tunnel.
		var answer *http.Response
		answer, err = http.ReadResponse(bufio.NewReaderSize(oneByte{c}, 16), nil)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
	}
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("the proxy of this machine refuses it: %w", err)
	}
	return c, c.SetDeadline(time.Time{})
}

func withPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// oneByte reads one byte at a time.
type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }
