package api

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"

	"github.com/grapnel-go/grapnel/internal/api/internal/streams"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func (s *Server) conversationEvents(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if s.o.Nodes != nil { // the store has the events of all projects
		rec, err = s.anywhere(r.Context(), r.PathValue("id"))
	}
	if err != nil {
		return err
	}
	if visitOf(r).node && !s.holds(rec) {
		return internode.ErrMisdirected
	}
	return s.follow(w, r, rec.ID, s.lastEvent(rec))
}

func (s *Server) allEvents(w http.ResponseWriter, r *http.Request) error {
	at, _ := s.o.Runtime.LastEvent("")
	return s.follow(w, r, "", at)
}

// lastEvent returns the position of the newest event of the conversation.
func (s *Server) lastEvent(rec store.Record) runtime.Position {
	if at, ok := s.o.Runtime.LastEvent(rec.ID); ok && at.Epoch >= rec.Lease.Epoch {
		return at
	}
	return runtime.Position{Epoch: rec.Lease.Epoch, Seq: rec.Events}
}

// follow streams the events after the client's Last-Event-ID, or after at.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, conversation string, at runtime.Position) error {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		id, err := runtime.ParsePosition(last)
		if err != nil {
			return invalid("Last-Event-ID: %v", err)
		}
		at = id
	}
	return s.stream(w, r, streams.Request{Conversation: conversation, At: at})
}

// stream writes what the query of the request wants to see of the events that q names.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, q streams.Request) (err error) {
	if q.View, err = streams.ViewOf(r.URL.Query()); err != nil {
		return invalid("%v", err)
	}
	if err := drain(w, r); err != nil {
		return err
	}
	shown := url.Values{}
	for _, name := range []string{"hooks", "payload"} {
		if v := r.URL.Query().Get(name); v != "" {
			shown.Set(name, v)
		}
	}
	q.Path = "/v1/conversations/" + url.PathEscape(q.Conversation) + "/events?" + shown.Encode()
	q.From, q.Node, q.Stays = from(r), visitOf(r).node, func() bool { return s.stays(visitOf(r)) }
	s.streams.Write(r.Context(), w, q)
	return nil
}

// event answers with one whole event.
func (s *Server) event(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	at, err := runtime.ParsePosition(r.PathValue("event"))
	if err != nil || at.Seq == 0 {
		return invalid("the event: %v", cmp.Or(err, errors.New("events count from 1")))
	}
	from := s.o.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: rec.ID, After: &runtime.Position{Epoch: at.Epoch, Seq: at.Seq - 1}})
	defer from.Close()
	p, err := from.Read(r.Context())
	if err != nil {
		return err
	}
	for _, item := range p.Items {
		if ev := item.Event(); ev.Epoch == at.Epoch && ev.Seq == at.Seq && item.JSON() != nil {
			w.Header().Set("Content-Type", "application/json")
			_, err := w.Write(item.JSON())
			return err
		}
	}
	return notFound("there is no event %s of this conversation, or it is not kept any more", at)
}
