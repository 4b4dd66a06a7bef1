package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Settings are what a test changes; the zero value of a field leaves the proxy's own.
type Settings struct {
	Lookup            func(ctx context.Context, name string) ([]netip.Addr, error)
	Dial              func(ctx context.Context, network, address string) (net.Conn, error)
	Outer             *url.URL
	Connections       int
	Idle, Keep, Hello time.Duration
}

// ServeForTest is Serve with other settings.
func ServeForTest(l net.Listener, hosts []Host, o Settings) *Proxy {
	s := standard()
	s.outer = func(*http.Request) (*url.URL, error) { return o.Outer, nil }
	if o.Lookup != nil {
		s.lookup = o.Lookup
	}
	if o.Dial != nil {
		s.dial = o.Dial
	}
	if o.Connections > 0 {
		s.connections = o.Connections
	}
	for _, d := range []struct {
		to    *time.Duration
		value time.Duration
	}{{&s.idle, o.Idle}, {&s.keep, o.Keep}, {&s.hello, o.Hello}} {
		if d.value > 0 {
			*d.to = d.value
		}
	}
	return serve(l, hosts, s)
}

// PlaceForTest says where an address leads.
func PlaceForTest(a netip.Addr, own ...netip.Addr) string { return placeOf(a, own).String() }

// HelloForTest reads the first message of TLS.
func HelloForTest(r io.Reader) (name string, read []byte, err error) { return helloName(nil, r) }
