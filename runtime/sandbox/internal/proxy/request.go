package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// refusal is an error that says why a host cannot be reached.
type refusal struct {
	status int
	host   string
	why    string
	// ask is what to request to get there; "" if no request helps.
	ask string
}

// Error returns one line.
func (r *refusal) Error() string {
	text := r.host + " cannot be reached: " + r.why
	if r.ask != "" {
		text += "; to ask for it, request: connect " + r.ask
	}
	return text
}

// ServeHTTP serves one request of a program.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.begin() {
		return
	}
	defer p.work.Done()
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" || r.URL.User != nil {
		http.Error(w, "this is a proxy: it takes CONNECT, and whole addresses that begin with http:// and have no password", http.StatusBadRequest)
		return
	}
	t, err := p.admit(r.URL.Host, 80)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	p.forward(w, r, t)
}

// forward sends a plain request to a target. Nothing of the program chooses the host there but the name that was admitted.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, t target) {
	authority := t.address()
	if t.port == 80 {
		authority, _ = strings.CutSuffix(authority, ":80")
	}
	outer, err := p.outer(&http.Request{URL: &url.URL{Scheme: "http", Host: authority}})
	if err != nil {
		p.refuse(w, r, &refusal{http.StatusBadGateway, t.host().String(), "the setting of this machine's proxy is wrong", ""})
		return
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if outer == nil {
				return p.dialTarget(ctx, t)
			}
			p.admitted.add(t.host().String())
			return p.dialOuter(ctx, network, address)
		},
		ResponseHeaderTimeout: p.idle, MaxResponseHeaderBytes: int64(p.header), DisableKeepAlives: true, DisableCompression: true,
	}
	if outer != nil {
		transport.Proxy = http.ProxyURL(outer)
	}
	defer transport.CloseIdleConnections()
	(&httputil.ReverseProxy{
		Transport: transport, ErrorLog: silent(),
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Host, pr.Out.Host, pr.Out.URL.RawQuery = authority, authority, pr.In.URL.RawQuery
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { p.refuse(w, r, p.failed(t, err)) },
	}).ServeHTTP(w, r)
}

// failed returns the refusal in an error of the transport, or that the host has not answered.
func (p *Proxy) failed(t target, err error) error {
	if _, ok := errors.AsType[*refusal](err); ok {
		return err
	}
	return &refusal{http.StatusBadGateway, t.host().String(), "it does not answer", ""}
}

// admit returns the target that an authority names. The error is a *refusal.
func (p *Proxy) admit(authority string, standard int) (target, error) {
	t, ok := parseTarget(authority, standard)
	if !ok {
		return t, &refusal{http.StatusForbidden, shown(authority), "this is no name of a host in plain form (letters, digits, hyphens and dots), with a port", ""}
	}
	if found, ok := find(p.hosts, t.name, t.port); ok {
		return found, nil
	}
	ask := t.host().String()
	if _, err := ParseHost(ask); err != nil {
		return t, &refusal{http.StatusForbidden, ask, "this is the address of no host", ""}
	}
	return t, &refusal{http.StatusForbidden, ask, "it is not among the hosts that this command may reach", ask}
}

// refuse answers a request for a host that cannot be reached, and notes what may be granted. Many clients show of the answer to CONNECT
// only the line of the status, so that one says it too.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, err error) {
	why, ok := errors.AsType[*refusal](err)
	if !ok {
		why = &refusal{http.StatusBadGateway, "the host", "the proxy failed", ""}
	}
	if why.ask != "" {
		p.refused.add(why.ask)
	}
	text := why.Error()
	if r.Method != http.MethodConnect {
		http.Error(w, text, why.status)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, text, why.status)
		return
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		why.status, text, len(text)+1, text)
}

// shown returns what a program wrote as a person may see it: printable, and at most 260 bytes.
func shown(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '?'
		}
		return r
	}, text[:min(len(text), 260)])
}
