package api

import (
	"net/http"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/web"
)

// page answers with the inspector, or one of its files. They hold nothing of anybody, so they are for everybody who reaches a door.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	if visitOf(r).door == nil {
		return notFound("the page is for browsers, which come over TCP: start the daemon with --listen 127.0.0.1:7777")
	}
	if r.URL.Path == "/page/" || !web.Serve(w, r, r.PathValue("file")) {
		return notFound("the page has no file %.200q", r.URL.Path)
	}
	return nil
}

// me says who sends the request, and what they may do.
func (s *Server) me(w http.ResponseWriter, r *http.Request) error {
	c := visitOf(r).caller
	out := wire.Me{Name: c.Name, Scopes: []string{}}
	for _, scope := range c.Scopes {
		out.Scopes = append(out.Scopes, string(scope))
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// sandbox says what commands of agents can change, read and reach.
func (s *Server) sandbox(w http.ResponseWriter, _ *http.Request) error {
	if s.o.Sandbox == nil {
		return notFound("this daemon runs no commands, so it has no sandbox")
	}
	out, err := s.o.Sandbox()
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
