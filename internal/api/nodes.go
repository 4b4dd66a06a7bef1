package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/api/internal/streams"
	"github.com/grapnel-go/grapnel/internal/nodes"
	"github.com/grapnel-go/grapnel/internal/nodes/dispatch"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// nodeFailure sets the response for an error of a request that another node should have answered, or of a store that is down; false is
// another error.
func nodeFailure(err error, f **failure) bool {
	status, code := http.StatusServiceUnavailable, wire.CodeUnavailable
	switch {
	case errors.Is(err, internode.ErrMisdirected):
		status = http.StatusMisdirectedRequest
	case errors.Is(err, dispatch.ErrNowhere):
		code = wire.CodeNoNode
	case errors.Is(err, dispatch.ErrSilent), errors.Is(err, dispatch.ErrUncertain), errors.Is(err, store.ErrDown):
	default:
		return false
	}
	*f = &failure{status, code, err.Error()}
	return true
}

// Nodes are the daemons that share the store with this one.
type Nodes struct {
	Members *nodes.Members
	Client  *internode.Client
	// Listener gets the requests of other nodes. Run closes it.
	Listener net.Listener
	// Tokens says which tokens still count, of callers whose requests other nodes pass on; nil believes those nodes.
	Tokens *access.Tokens
	// Wakes says which conversations were written to.
	Wakes *nodes.Wakes
	// Wait is how long a request waits for a node that can answer it; 0 is dispatch.DefaultWait.
	Wait time.Duration
	// dispatch finds the node that answers. New makes it.
	dispatch *dispatch.Dispatcher
}

// join sets up the nodes of the server.
func (s *Server) join(n Nodes) {
	if n.Wakes == nil {
		n.Wakes = new(nodes.Wakes)
	}
	n.dispatch = dispatch.New(dispatch.Options{
		Members: n.Members, Client: n.Client, Find: s.o.Store.Find, Wait: n.Wait,
		Busy: func(err error) bool { return codeOf(err) == wire.CodeBusy },
	})
	s.o.Nodes = &n
	s.streams.Members, s.streams.Dispatch, s.streams.Wakes = n.Members, n.dispatch, n.Wakes
}

// serveNode answers a request of another node.
func (s *Server) serveNode(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, func() (visit, error) {
		if err := checkNode(r); err != nil {
			return visit{}, err
		}
		from, meant, err := internode.Received(r.Header)
		if err != nil {
			return visit{}, invalid("%v", err)
		}
		if !callerOf(from).Sees(s.o.Project) {
			return visit{}, forbidden("the token " + from.Name + " is not for the project of this daemon")
		}
		return visit{node: true, meant: meant, local: from.Local, caller: callerOf(from)}, nil
	})
}

// meant returns an error if a request of another node is meant for another one than this: a node that was started again is another one,
// and so is each tenant of a daemon.
func (s *Server) meant(v visit) error {
	if v.node && (s.o.Nodes == nil || v.meant != s.o.Nodes.Members.Self().ID) {
		return internode.ErrMisdirected
	}
	return nil
}

// checkNode returns an error for requests that do not come from a node. TLS has checked the certificate of one.
func checkNode(r *http.Request) error {
	end, known := r.Context().Value(peerKey{}).(otherEnd)
	switch {
	case r.TLS != nil && len(r.TLS.VerifiedChains) == 0, r.TLS == nil && known && !end.allowed:
		return forbidden("this is a way for other nodes")
	case r.Host != internode.Host:
		return forbidden("requests of nodes are for the host " + internode.Host)
	}
	return nil
}

// from describes the caller of a request to another node.
func from(r *http.Request) internode.Caller {
	v := visitOf(r)
	if v.local {
		return internode.Caller{Local: true}
	}
	out := internode.Caller{Token: v.caller.Token, Name: v.caller.Name, Owner: v.caller.Owner, Projects: v.caller.Projects}
	for _, scope := range v.caller.Scopes {
		out.Scopes = append(out.Scopes, string(scope))
	}
	return out
}

// callerOf returns the caller for checks of scopes and projects.
func callerOf(c internode.Caller) access.Caller {
	if c.Local {
		return access.Local()
	}
	out := access.Caller{Token: c.Token, Name: c.Name, Owner: c.Owner, Projects: c.Projects}
	for _, scope := range c.Scopes {
		out.Scopes = append(out.Scopes, access.Scope(scope)) // one that this version does not know permits nothing
	}
	return out
}

// owned makes a handler one of requests about the conversation of the path, on the node where they belong.
func (s *Server) owned(where dispatch.Where, h handler) handler {
	if s.o.Nodes == nil {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		return s.direct(w, r, r.PathValue("id"), where, false, h)
	}
}

// begins is owned for operations that begin a turn, and may stream its events.
func (s *Server) begins(h handler) handler {
	if s.o.Nodes == nil {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		return s.direct(w, r, r.PathValue("id"), dispatch.Held, true, h)
	}
}

// erased makes a handler one of deletions. That of a conversation is done where its turns have left something on the disk.
func (s *Server) erased(h handler) handler {
	if s.o.Nodes == nil {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := whole(w, r)
		if err != nil {
			return err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		var in wire.Deletion
		if json.Unmarshal(body, &in) != nil || in.Conversation == "" { // the handler says what is wrong
			return h(w, r)
		}
		return s.direct(w, r, in.Conversation, dispatch.Last, false, h)
	}
}

// direct answers a request about a conversation on the node where it belongs.
func (s *Server) direct(w http.ResponseWriter, r *http.Request, id string, where dispatch.Where, begins bool, h handler) error {
	rec, err := s.anywhere(r.Context(), id)
	if err != nil {
		return err
	}
	q := dispatch.Request{Conversation: rec.ID, Where: where, From: from(r)}
	if visitOf(r).node {
		return s.o.Nodes.dispatch.Received(w, r, q, s.isClosing() || !s.o.Nodes.Members.Fresh(), dispatch.Handler(h))
	}
	if q.Body, err = whole(w, r); err != nil {
		return err
	}
	var turn wire.Turn // of another node, to be streamed from here
	if begins {
		streamed, err := wantsStream(r)
		if err != nil {
			return err
		}
		if streamed {
			q.Forward = func(w http.ResponseWriter, r *http.Request, to store.Node) (err error) {
				turn, err = s.beginThere(w, r, to, q)
				return err
			}
		}
	}
	if err := s.o.Nodes.dispatch.Answer(w, r, q, dispatch.Handler(h)); err != nil || turn.ID == "" {
		return err
	}
	at, err := runtime.ParsePosition(turn.LastEventID)
	if err != nil {
		return err
	}
	return s.stream(w, r, streams.Request{Conversation: turn.Conversation, At: at, Turn: turn.ID})
}

// whole reads the body of a request.
func whole(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Body == nil || r.ContentLength == 0 {
		return nil, nil
	}
	body, err := io.ReadAll(bounded(w, r, maxMessage))
	if known := bodyFailure(w, err, maxMessage); known != nil {
		return nil, known
	}
	return body, err
}

// beginThere has another node begin a turn, and returns it: this node streams its events, so that the stream outlives that node. It
// returns none if the node has refused, which is written.
func (s *Server) beginThere(w http.ResponseWriter, r *http.Request, to store.Node, q dispatch.Request) (turn wire.Turn, err error) {
	values := r.URL.Query()
	values.Del("stream")
	resp, err := s.o.Nodes.Client.Do(r.Context(), to, q.From, internode.Request{Method: r.Method, Path: pathOf(r.URL, values), Body: q.Body})
	if err != nil {
		return turn, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		dispatch.Copy(w, resp)
		return turn, nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(&turn); err != nil {
		return turn, errors.Join(internode.ErrBroken, err)
	}
	return turn, nil
}

// holds reports whether this node has the lease of the conversation.
func (s *Server) holds(rec store.Record) bool {
	return !rec.Lease.Until.IsZero() && rec.Lease.Owner == s.o.Nodes.Members.Self().ID
}

// pathOf returns the path of a URL with another query.
func pathOf(u *url.URL, query url.Values) string {
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: query.Encode()}).RequestURI()
}

// asked makes a handler one of answers to what some node has asked.
func (s *Server) asked(h handler) handler {
	if s.o.Nodes == nil {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		if visitOf(r).node {
			return h(w, r)
		}
		body, err := whole(w, r)
		if err != nil {
			return err
		}
		q := dispatch.Request{From: from(r), Body: body}
		unknown := func(err error) bool { return codeOf(err) == wire.CodeNotFound }
		return s.o.Nodes.dispatch.Anywhere(w, r, q, unknown, dispatch.Handler(h))
	}
}

// gather returns what other nodes answer to a GET request for the path, and which do not answer. There are none behind a request of a
// node.
func gather[T any](s *Server, r *http.Request, path string) (answers map[string]T, silent []string) {
	if s.o.Nodes == nil || visitOf(r).node {
		return nil, nil
	}
	return dispatch.Gather[T](r.Context(), s.o.Nodes.dispatch, from(r), path)
}

// listNodes lists the daemons that share the store and have a project of this owner. A caller for some projects sees no others.
func (s *Server) listNodes(w http.ResponseWriter, r *http.Request) error {
	out := wire.Nodes{Nodes: []wire.Node{}}
	if s.o.Nodes == nil {
		writeJSON(w, http.StatusOK, out)
		return nil
	}
	others, _ := gather[wire.Activity](s, r, "/v1/activity")
	self, all := s.o.Nodes.Members.Self().ID, s.o.Nodes.Members.Nodes()
	for _, n := range all {
		own := slices.DeleteFunc(slices.Clone(n.Projects), func(p store.NodeProject) bool { return tenant.Parse(p.ID).Owner != s.o.Tenants.Owner })
		if len(own) == 0 && n.ID != self {
			continue
		}
		one := wire.Node{ID: n.ID, URL: n.URL, Version: n.Version, Seen: n.Seen.UTC(), Alive: n.Alive, Self: n.ID == self, Projects: []wire.NodeProject{}}
		if other, answered := others[n.ID]; answered || one.Self {
			turns := len(other.Turns)
			if one.Self {
				turns = len(s.o.Runtime.Running())
			}
			one.Turns = &turns
		}
		for _, p := range own {
			if visitOf(r).caller.Sees(p.ID) {
				one.Projects = append(one.Projects, wire.NodeProject{Project: p.ID, Root: p.Root, Fingerprint: p.Fingerprint, Differs: n.Alive && nodes.Differs(all, p)})
			}
		}
		out.Nodes = append(out.Nodes, one)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
