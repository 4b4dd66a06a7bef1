package api

import (
	"context"
	"net"
	"net/http"

	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/internal/peer"
)

// Hosts are what a request may name as its host. A unix socket has none, so that
// a name is only what the client makes up: our own client says "grapnel", and
// "localhost" is what people write. A browser that was made to come here says
// something else.
const (
	Host      = "grapnel"
	localhost = "localhost"
)

// browserHeaders are sent by browsers and nobody else.
var browserHeaders = [...]string{"Origin", "Referer", "Sec-Fetch-Site"}

// admit refuses what no client of this daemon sends.
func admit(r *http.Request) error {
	if r.Host != Host && r.Host != localhost {
		return forbidden("requests are for the host grapnel or localhost, without a port; use http://grapnel/v1/… over the socket")
	}
	for _, name := range browserHeaders {
		if _, sent := r.Header[name]; sent {
			return forbidden("requests with a header " + name + " come from a browser, and the daemon serves none; leave it out")
		}
	}
	if p, ok := r.Context().Value(callerKey{}).(caller); ok && !p.allowed {
		return forbidden("the socket belongs to another user")
	}
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodDelete:
		return nil
	}
	return &failure{http.StatusMethodNotAllowed, wire.CodeMethod, "the methods are GET, POST and DELETE"}
}

// caller is the process at the other end of a connection, where it is known.
type caller struct{ allowed bool }

type callerKey struct{}

// identify notes who has connected.
func identify(ctx context.Context, conn net.Conn) context.Context {
	if uid, known := peer.User(conn); known {
		return context.WithValue(ctx, callerKey{}, caller{peer.Allowed(uid)})
	}
	return ctx
}
