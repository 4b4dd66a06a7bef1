package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// dialTarget connects to a target, after its name was looked up and its addresses were checked. The error is a *refusal.
func (p *Proxy) dialTarget(ctx context.Context, t target) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.reach)
	defer cancel()
	addrs, err := p.addresses(ctx, t.name)
	if err != nil || len(addrs) == 0 {
		return nil, &refusal{http.StatusBadGateway, t.host().String(), "its name cannot be resolved", ""}
	}
	own := machine()
	last := &refusal{http.StatusBadGateway, t.host().String(), "it does not answer", ""}
	for i, a := range addrs {
		where, ok := reachable(p.hosts, t, a, own)
		if !ok {
			last = t.misled(a, where)
			continue
		}
		// An address that does not answer leaves time for the others.
		part, cancel := context.WithTimeout(ctx, max(p.reach/time.Duration(len(addrs)-i), p.reach/5))
		c, err := p.dial(part, "tcp", net.JoinHostPort(a.Unmap().String(), strconv.Itoa(t.port)))
		cancel()
		if err == nil {
			p.admitted.add(t.host().String())
			return newIdler(c, p.idle), nil
		}
		last = &refusal{http.StatusBadGateway, t.host().String(), "it does not answer", ""}
	}
	return nil, last
}

// misled returns the refusal of an address to which the name of a target leads.
func (t target) misled(a netip.Addr, where place) *refusal {
	at := target{name: a.WithZone("").Unmap().String(), port: t.port}.host()
	r := &refusal{http.StatusForbidden, t.host().String(), "it leads to " + at.name + ", " + where.String(), ""}
	if where != never {
		r.ask = at.String()
	}
	return r
}

func (p *Proxy) addresses(ctx context.Context, name string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{a}, nil
	}
	return p.lookup(ctx, name)
}

// dialOuter connects to the proxy of this process. The operator has set it, so its address is not checked.
func (p *Proxy) dialOuter(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.reach)
	defer cancel()
	c, err := p.dial(ctx, network, address)
	if err != nil {
		return nil, &refusal{http.StatusBadGateway, "the network", "the proxy of this machine does not answer", ""}
	}
	return newIdler(c, p.idle), nil
}

// connect returns a connection to the target of a tunnel: directly, or through the proxy of this process if there is one for it.
func (p *Proxy) connect(ctx context.Context, t target) (net.Conn, error) {
	failed := func(why string) error { return &refusal{http.StatusBadGateway, t.host().String(), why, ""} }
	outer, err := p.outer(&http.Request{URL: &url.URL{Scheme: "https", Host: t.address()}})
	switch {
	case err != nil:
		return nil, failed("the setting of this machine's proxy is wrong")
	case outer == nil:
		return p.dialTarget(ctx, t)
	case outer.Scheme != "http" && outer.Scheme != "https":
		return nil, failed("the proxy of this machine is of a kind that tunnels cannot use: " + outer.Scheme)
	}
	standard := map[string]string{"http": "80", "https": "443"}[outer.Scheme]
	if outer.Port() != "" {
		standard = outer.Port()
	}
	ctx, cancel := context.WithTimeout(ctx, p.reach)
	defer cancel()
	c, err := p.dialOuter(ctx, "tcp", net.JoinHostPort(outer.Hostname(), standard))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if outer.Scheme == "https" {
		c = tls.Client(c, &tls.Config{ServerName: outer.Hostname(), MinVersion: tls.VersionTLS12})
	}
	if err := askOuter(c, outer, t); err != nil {
		_ = c.Close()
		return nil, failed("the proxy of this machine refuses it: " + shown(err.Error()))
	}
	p.admitted.add(t.host().String())
	return c, nil
}

// askOuter asks the proxy of this process for a tunnel.
func askOuter(c net.Conn, outer *url.URL, t target) error {
	request := "CONNECT " + t.address() + " HTTP/1.1\r\nHost: " + t.address() + "\r\n"
	if u := outer.User; u != nil {
		password, _ := u.Password()
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(c, request+"\r\n"); err != nil {
		return err
	}
	// Byte by byte: what follows the answer belongs to the tunnel.
	answer, err := http.ReadResponse(bufio.NewReaderSize(io.LimitReader(oneByte{c}, 64<<10), 16), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// oneByte reads one byte at a time.
type oneByte struct{ io.Reader }

// Read implements [io.Reader].
func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }
