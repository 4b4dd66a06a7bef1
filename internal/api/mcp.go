package api

import (
	"net/http"
	"slices"

	"github.com/grapnel-go/grapnel/client/wire"
)

// listServers lists the MCP servers of this process. What they write is of their own, so that it is masked.
func (s *Server) listServers(w http.ResponseWriter, _ *http.Request) error {
	out := wire.Servers{Servers: []wire.Server{}}
	if s.o.Servers != nil {
		out.Servers = append(out.Servers, s.o.Servers()...)
	}
	for i := range out.Servers {
		one := &out.Servers[i]
		one.Reason, one.Place = s.o.Mask(one.Reason), s.o.Mask(one.Place)
		log := make([]string, len(one.Log))
		for i, line := range one.Log {
			log[i] = s.o.Mask(line)
		}
		one.Log = log
		one.RefusedTools = slices.Clone(one.RefusedTools)
		for i := range one.RefusedTools {
			one.RefusedTools[i].Reason = s.o.Mask(one.RefusedTools[i].Reason)
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
