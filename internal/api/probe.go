package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/monitor"
)

// alive answers whatever else happens. It touches neither the runtime nor the store.
func alive(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, wire.Probe{Status: wire.StatusOK})
	return nil
}

// ready answers whether turns can begin. Anybody may ask, so it says nothing else.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	out, status := wire.Probe{Status: s.o.Monitor.Ready(r.Context())}, http.StatusOK
	if out.Status == wire.StatusOK && s.o.Nodes != nil && !s.o.Nodes.Members.Fresh() {
		out.Status = wire.StatusLate
	}
	if out.Status != wire.StatusOK {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, out)
	return nil
}

// metrics writes what was counted, in the text format of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	if s.o.Metrics == nil {
		return notFound("this daemon counts nothing; `grapnel serve` does")
	}
	s.o.Metrics.ServeHTTP(w, r)
	return nil
}

// nameCaller notes who sends a request that was let in, for who watches.
func nameCaller(w http.ResponseWriter, r *http.Request) {
	if out, ok := w.(*patientWriter); ok {
		out.token = visitOf(r).caller.Name
	}
}

// answered describes an answer. The pattern of the path is known when the mux has found it.
func answered(r *http.Request, out *patientWriter, took time.Duration) monitor.Request {
	method := r.Method
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete:
	default:
		method = "other"
	}
	_, route, _ := strings.Cut(r.Pattern, "/")
	if route != "" {
		route = "/" + route
	}
	return monitor.Request{Method: method, Route: route, Status: out.status, Took: took, Token: out.token}
}
