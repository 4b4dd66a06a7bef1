package proxy

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// settings are what tests change. The zero value of a field is never used: see standard.
type settings struct {
	lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	// outer returns the proxy of this process for a request, nil for none.
	outer func(*http.Request) (*url.URL, error)
	// connections is how many a program may have at once; further ones wait.
	connections int
	// header is how many bytes the head of a request or a response may have.
	header int
	// hello is the time for the head of a request, and for the first bytes of a tunnel.
	hello time.Duration
	// reach is the time for looking a name up and connecting.
	reach time.Duration
	// idle ends a tunnel in which no byte has moved; models may think this long before they answer.
	idle time.Duration
	// keep ends a connection without a request.
	keep time.Duration
}

func standard() settings {
	return settings{
		lookup: func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		},
		dial: new(net.Dialer).DialContext, outer: http.ProxyFromEnvironment,
		connections: 64, header: 64 << 10, hello: 10 * time.Second, reach: 10 * time.Second, idle: 2 * time.Minute, keep: time.Minute,
	}
}

// Proxy serves one listener until Close. It is safe for concurrent use.
type Proxy struct {
	settings
	hosts  []Host
	server *http.Server
	life   context.Context
	end    context.CancelFunc

	refused, admitted names

	mu     sync.Mutex // guards closed, and Go of work after it
	closed bool
	work   sync.WaitGroup
}

// Serve begins to serve a listener, and takes it over: Close closes it. An empty list of hosts admits none.
//
// A program has at most 64 connections at once, further ones wait. A head has at most 64 KiB. A host must be connected within 10 seconds,
// and a tunnel ends when nothing has moved in it for two minutes.
func Serve(l net.Listener, hosts []Host) *Proxy { return serve(l, hosts, standard()) }

func serve(l net.Listener, hosts []Host, s settings) *Proxy {
	p := &Proxy{settings: s, hosts: slices.Clone(hosts)}
	p.life, p.end = context.WithCancel(context.Background())
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: s.hello, IdleTimeout: s.keep, MaxHeaderBytes: s.header, ErrorLog: silent(),
		DisableGeneralOptionsHandler: true, BaseContext: func(net.Listener) context.Context { return p.life },
	}
	limited := newLimited(l, s.connections, s.idle)
	p.work.Go(func() { _ = p.server.Serve(limited) })
	return p
}

// silent returns a logger that drops everything: what a program does to its proxy is no news for the operator.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// Close ends all connections and waits for what serves them. It may be called more than once.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	_ = p.server.Close()
	p.work.Wait()
}

// begin counts a request that is served; the caller calls p.work.Done. It reports false after Close.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.work.Add(1)
	return true
}

// Refused returns what was asked for in vain and may be granted, each once, in order, at most 20, in the form of [ParseHost]: hosts, and
// addresses to which an admitted name leads.
func (p *Proxy) Refused() []string { return p.refused.all() }

// Admitted returns the hosts that were reached, each once, in order, at most 20, in the form of [ParseHost].
func (p *Proxy) Admitted() []string { return p.admitted.all() }

// names is a bounded list without duplicates. The zero value is empty.
type names struct {
	mu   sync.Mutex
	list []string
}

func (n *names) add(name string) {
	const most = 20
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.list) < most && !slices.Contains(n.list, name) {
		n.list = append(n.list, name)
	}
}

func (n *names) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// Environment returns the variables by which programs find a proxy at a port of 127.0.0.1. Servers on a program's own loopback are reached
// without it.
func Environment(port int) []string {
	at := "http://127.0.0.1:" + strconv.Itoa(port)
	const not = "localhost,127.0.0.1,::1"
	return []string{
		"HTTP_PROXY=" + at, "HTTPS_PROXY=" + at, "ALL_PROXY=" + at, "NO_PROXY=" + not,
		"http_proxy=" + at, "https_proxy=" + at, "all_proxy=" + at, "no_proxy=" + not,
		"NODE_USE_ENV_PROXY=1", "npm_config_proxy=" + at, "npm_config_https_proxy=" + at,
	}
}
