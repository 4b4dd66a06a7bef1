package api

import (
	"context"
	"net"
	"net/http"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/peer"
)

// Host is the host of requests. A unix socket has no host, so the client chooses the name:
// our own client sends "grapnel", and people write "localhost". A browser that was tricked
// into a request sends another name.
const (
	Host      = "grapnel"
	localhost = "localhost"
)

// browserHeaders are headers that only browsers send.
var browserHeaders = [...]string{"Origin", "Referer", "Sec-Fetch-Site"}

// admit returns an error for requests of browsers, of other users, and with other methods.
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
		return forbidden("the socket belongs to another user; start a daemon of your own, or name its socket with --socket")
	}
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete:
		return nil
	}
	return &failure{http.StatusMethodNotAllowed, wire.CodeMethod, "the methods are GET, POST, PUT and DELETE"}
}

// caller is the process at the other end of a connection, if its user is known.
type caller struct{ allowed bool }

type callerKey struct{}

// identify adds the caller to the context of the connection.
func identify(ctx context.Context, conn net.Conn) context.Context {
	if uid, known := peer.User(conn); known {
		return context.WithValue(ctx, callerKey{}, caller{peer.Allowed(uid)})
	}
	return ctx
}
