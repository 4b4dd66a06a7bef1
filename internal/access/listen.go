package access

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// limits are bounds on the connections over TCP: of all clients together, and of one address, so that no client keeps all others out; an
// eighth of them is for addresses without one. A connection beyond them is closed at once.
type limits struct{ all, ofOne, ofLocal int }

// clientLimits are half of the files that this process may open, and nodeLimits another quarter: the rest is for everything else.
func clientLimits() limits {
	all := min(4096, files()/2)
	return limits{all: all, ofOne: all / 4, ofLocal: all * 3 / 4}
}

// nodeLimits give one address half of all, because a node passes on the requests of many clients.
func nodeLimits() limits {
	all := min(4096, files()/4)
	return limits{all: all, ofOne: all / 2, ofLocal: all * 3 / 4}
}

// bounded is a listener that closes connections beyond the bounds.
type bounded struct {
	net.Listener
	limits limits

	mu  sync.Mutex
	all int
	of  map[netip.Addr]int
}

func bound(ln net.Listener, l limits) *bounded {
	return &bounded{Listener: ln, limits: l, of: map[netip.Addr]int{}}
}

// Accept waits for the next connection within the bounds.
func (l *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := origin(conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap())
		if l.take(from) {
			return &counted{Conn: conn, release: sync.OnceFunc(func() { l.release(from) })}, nil
		}
		_ = conn.Close() // nothing was promised
	}
}

// origin returns the address by which a client counts: one for this machine, and one for a network of IPv6, which has as many as it wants.
func origin(from netip.Addr) netip.Addr {
	switch {
	case from.IsLoopback():
		return netip.IPv6Loopback()
	case from.Is6():
		network, err := from.Prefix(64)
		if err == nil {
			return network.Addr()
		}
	}
	return from
}

func (l *bounded) take(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := l.limits.ofOne
	if from.IsLoopback() {
		most = l.limits.ofLocal
	}
	all := l.limits.all
	if l.of[from] > 0 {
		all -= l.limits.all / 8 // the rest is for those who have none
	}
	if l.all >= all || l.of[from] >= most {
		return false
	}
	l.all++
	l.of[from]++
	return true
}

func (l *bounded) release(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.of[from]--; l.of[from] == 0 {
		delete(l.of, from)
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	release func()
}

// Close closes the connection.
func (c *counted) Close() error {
	c.release()
	return c.Conn.Close()
}

// Listen listens on an address such as 127.0.0.1:7777, and returns the door for requests that come there. Without a certificate, which
// is nil, the address has to be one of this machine's own. hosts are further values of Host that requests may have, with their ports.
func Listen(ctx context.Context, address string, cert *Certificate, hosts []string, gate *Gate) (net.Listener, Door, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, Door{}, fmt.Errorf("--listen %s: %w", address, err)
	}
	at := ln.Addr().(*net.TCPAddr)
	door := Door{Gate: gate, Secure: cert != nil}
	if cert == nil && !at.IP.IsLoopback() {
		_ = ln.Close()
		return nil, Door{}, fmt.Errorf("--listen %s: others could read everything on the way; give a certificate with --tls-cert and --tls-key, or listen on 127.0.0.1", address)
	}
	door.Names = func(host string) bool {
		if slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
			return true
		}
		name, port := host, standardPort(door.Secure)
		if h, p, err := net.SplitHostPort(host); err == nil {
			name, port = h, p
		}
		if port != strconv.Itoa(at.Port) {
			return false
		}
		name = strings.Trim(name, "[]")
		if cert != nil && cert.Names(name) {
			return true
		}
		ip, err := netip.ParseAddr(name)
		return at.IP.IsLoopback() && (name == "localhost" || err == nil && ip.IsLoopback())
	}
	door.URL = door.url(cert, at)
	ln = bound(ln, clientLimits())
	if cert != nil {
		ln = tls.NewListener(ln, cert.Config())
	}
	return ln, door, nil
}

// url returns the URL of the door under the first of its names.
func (d Door) url(cert *Certificate, at *net.TCPAddr) string {
	host := at.IP.String()
	if cert == nil {
		return "http://" + net.JoinHostPort(host, strconv.Itoa(at.Port))
	}
	if names := cert.Current().Leaf.DNSNames; len(names) > 0 {
		host = strings.TrimPrefix(names[0], "*.")
	} else if ips := cert.Current().Leaf.IPAddresses; len(ips) > 0 {
		host = ips[0].String()
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(at.Port))
}

func standardPort(secure bool) string {
	if secure {
		return "443"
	}
	return "80"
}
