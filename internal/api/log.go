package api

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/grapnel-go/grapnel/client/wire"
)

// logLevel answers with the level of the daemon's log.
func (s *Server) logLevel(w http.ResponseWriter, _ *http.Request) error {
	if s.o.Level == nil {
		return notFound("this daemon has no log; `grapnel serve` has one")
	}
	writeJSON(w, http.StatusOK, wire.LogLevel{Level: strings.ToLower(s.o.Level.Level().String())})
	return nil
}

// setLogLevel changes the level of the log until the daemon ends.
func (s *Server) setLogLevel(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.LogLevel](w, r)
	if err != nil {
		return err
	}
	level, known := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[in.Level]
	if !known {
		return invalid("level is %.20q; write debug, info, warn or error", in.Level)
	}
	if s.o.Level != nil {
		s.o.Level.Set(level)
		s.o.Log("the level of the log is " + in.Level + " now")
	}
	return s.logLevel(w, r)
}
