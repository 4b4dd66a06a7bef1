package api

import (
	"net/http"

	"github.com/grapnel-go/grapnel/client/wire"
)

// alive answers whatever else happens. It touches neither the runtime nor the store.
func alive(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, wire.Probe{Status: wire.StatusOK})
	return nil
}

// ready answers whether turns can begin. Anybody may ask, so it says nothing else.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	out, status := wire.Probe{Status: s.o.Monitor.Ready(r.Context())}, http.StatusOK
	if out.Status != wire.StatusOK {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, out)
	return nil
}
