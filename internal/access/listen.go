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

	"golang.org/x/net/netutil"
)

// maxConnections bounds the connections over TCP, of all callers together.
const maxConnections = 4096

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
	ln = netutil.LimitListener(ln, maxConnections)
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
	if names := cert.now().Leaf.DNSNames; len(names) > 0 {
		host = strings.TrimPrefix(names[0], "*.")
	} else if ips := cert.now().Leaf.IPAddresses; len(ips) > 0 {
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
