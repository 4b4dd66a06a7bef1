package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/internal/peer"
)

// Host is the host of requests over the unix socket. The socket has no host, so the client chooses the name: our own client sends
// "grapnel", and people write "localhost". A browser that was tricked into a request sends another name.
const (
	Host      = "grapnel"
	localhost = "localhost"
)

// browserHeaders are headers that only browsers send.
var browserHeaders = [...]string{"Origin", "Referer", "Sec-Fetch-Site"}

// Door is a way to the server over TCP, beside the unix socket.
type Door struct {
	Listener net.Listener
	access.Door
}

// check returns an error for requests that nobody may send through a door; nil is the unix socket.
func check(r *http.Request, door *access.Door) error {
	var err error
	if door == nil {
		err = checkLocal(r)
	} else {
		err = door.Check(r)
	}
	if err == nil && internode.Sent(r.Header) {
		err = forbidden("the headers " + internode.HeaderNode + " and " + internode.HeaderCaller + " are for daemons among themselves; leave them out")
	}
	if err == nil {
		err = checkMethod(r)
	}
	return err
}

func checkMethod(r *http.Request) error {
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete:
		return nil
	}
	return &failure{http.StatusMethodNotAllowed, wire.CodeMethod, "the methods are GET, POST, PUT and DELETE"}
}

// checkLocal returns an error for requests of browsers and of other users.
func checkLocal(r *http.Request) error {
	if r.Host != Host && r.Host != localhost {
		return forbidden("requests are for the host grapnel or localhost, without a port; use http://grapnel/v1/… over the socket")
	}
	for _, name := range browserHeaders {
		if _, sent := r.Header[name]; sent {
			return forbidden("requests with a header " + name + " come from a browser, and the daemon serves none over the socket; leave it out")
		}
	}
	if p, ok := r.Context().Value(peerKey{}).(otherEnd); ok && !p.allowed {
		return forbidden("the socket belongs to another user; start a daemon of your own, or name its socket with --socket")
	}
	return nil
}

// otherEnd is the process at the other end of a unix socket, if its user is known.
type otherEnd struct{ allowed bool }

type peerKey struct{}

// identify adds the other end to the context of the connection.
func identify(ctx context.Context, conn net.Conn) context.Context {
	if uid, known := peer.User(conn); known {
		return context.WithValue(ctx, peerKey{}, otherEnd{peer.Allowed(uid)})
	}
	return ctx
}

// visit is a request that was let in.
type visit struct {
	door   *access.Door // nil is the unix socket, or another node
	caller access.Caller
	// node: another node passes the request on. local: the caller is the user of a unix socket, here or there.
	node, local bool
	// meant is the id of the node that another one means.
	meant string
	// handed: another server has let it in, and handed it to that of the caller's owner.
	handed bool
}

type visitKey struct{}

// visitOf returns the visit of a request that a handler got.
func visitOf(r *http.Request) visit { return visitIn(r.Context()) }

// visitIn returns the visit of the context of a request.
func visitIn(ctx context.Context) visit {
	v, _ := ctx.Value(visitKey{}).(visit)
	return v
}

// enter finds out who sends a request, and whether they may do what the operation does. Call done when it is answered.
func enter(r *http.Request, need access.Scope) (_ *http.Request, done func(), err error) {
	v, done := visitOf(r), func() {}
	switch {
	case v.handed:
	case v.door != nil && need != public:
		if v.caller, err = v.door.Caller(r); err != nil {
			return r, done, err
		}
		if done, err = v.door.Gate.Begin(v.caller); err != nil {
			return r, func() {}, err
		}
	case v.door == nil && !v.node:
		v.caller = access.Local()
	}
	if need != public && !v.caller.May(need) {
		done()
		return r, func() {}, forbidden("this needs the scope " + string(need) + ", and the token " + v.caller.Name + " has " + access.Join(v.caller.Scopes))
	}
	return r.WithContext(context.WithValue(r.Context(), visitKey{}, v)), done, nil
}

// stays reports whether who was let in still may be: a stream and a message that waits last longer than a token may.
func (s *Server) stays(v visit) bool {
	switch {
	case v.door != nil:
		return v.door.Gate.Valid(v.caller)
	case v.node && s.o.Nodes.Tokens != nil:
		return s.o.Nodes.Tokens.Valid(v.caller)
	}
	return true
}

// everywhere reads the parameter all, by which a caller sees all projects.
func everywhere(r *http.Request) (bool, error) {
	all, err := flagIn(r, "all")
	if err == nil && all && !visitOf(r).caller.Everywhere() {
		return false, forbidden("all projects are for callers who may see them all, and this token is for some; leave all out")
	}
	return all, err
}

// codeOfRefusal returns the code of what the gate refuses, by its status.
func codeOfRefusal(status int) wire.Code {
	switch status {
	case http.StatusUnauthorized:
		return wire.CodeUnauthorized
	case http.StatusTooManyRequests:
		return wire.CodeTooMany
	case http.StatusServiceUnavailable:
		return wire.CodeUnavailable
	}
	return wire.CodeForbidden
}

// turnAway writes what a client that was refused has to know beside the answer.
func turnAway(w http.ResponseWriter, err error) {
	var refused *access.Refused
	if !errors.As(err, &refused) {
		return
	}
	w.Header().Set("Connection", "close")
	switch refused.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(refused.After.Seconds()))))
	}
}

// Where a browser goes that has followed a link: to the page, which is told whether the link counted.
const (
	afterEnter = "/?link=entered"
	afterUsed  = "/?link=used"
)

// link makes a link by which a page can be entered once.
func (s *Server) link(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.NewLink](w, r)
	if err != nil {
		return err
	}
	c := visitOf(r).caller
	if len(in.Scopes) > 0 {
		asked, err := access.Parse(strings.Join(in.Scopes, ","))
		if err != nil {
			return invalid("%v", err)
		}
		if slices.ContainsFunc(asked, func(s access.Scope) bool { return !c.May(s) }) {
			return forbidden("a link cannot have more than its maker: " + access.Join(c.Scopes))
		}
		c.Scopes = asked
	}
	if len(s.o.Doors) == 0 {
		return &failure{http.StatusConflict, wire.CodeIdle, "there is no page without TCP; start the daemon with --listen 127.0.0.1:7777"}
	}
	code, until, err := s.o.Doors[0].Gate.Link(c)
	if err != nil {
		return &access.Refused{Status: http.StatusTooManyRequests, Text: err.Error()}
	}
	out := wire.Link{Expires: until.UTC()}
	for _, d := range s.o.Doors {
		out.URLs = append(out.URLs, d.URL+"/enter?code="+code)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// enterPage uses a link: the browser gets a cookie for its page. One whose link does not count is sent to the page all the same, which
// knows it already or says what to do.
func (s *Server) enterPage(w http.ResponseWriter, r *http.Request) error {
	door := visitOf(r).door
	if door == nil {
		return notFound("links are for pages, which come over TCP")
	}
	if r.Header.Get("Sec-Fetch-Site") == "same-origin" { // a text in the page may have made somebody another person
		return forbidden("a link is not followed from within the page; paste it into the address line of a new tab")
	}
	if strings.Contains(r.Header.Get("Sec-Purpose")+r.Header.Get("Purpose")+r.Header.Get("X-Moz"), "prefetch") {
		return forbidden("a link is used by who follows it, not by a program that looks ahead")
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	cookie, err := door.Enter(r.URL.Query().Get("code"))
	switch {
	case err == nil:
		http.SetCookie(w, cookie)
		http.Redirect(w, r, afterEnter, http.StatusSeeOther)
		return nil
	case strings.Contains(r.Header.Get("Accept"), "text/html"): // a person who is to read it
		http.Redirect(w, r, afterUsed, http.StatusSeeOther)
		return nil
	}
	return err
}

// leavePage ends the session of a page.
func (s *Server) leavePage(w http.ResponseWriter, r *http.Request) error {
	if door := visitOf(r).door; door != nil {
		http.SetCookie(w, door.Leave(r))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
