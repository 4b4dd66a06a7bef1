package mcp

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/conn"
)

// server is one declared server: its name and the tools listed under that name. Several
// servers may share a connection.
type server struct {
	m   *MCP
	cfg Server
	// public: the server is of the list, not of an agent, and every agent may use it.
	public bool
	spec   conn.Spec
	end    *conn.Endpoint // nil if it is refused

	mu      sync.Mutex
	version int // version of the endpoint's list that was taken over
	shown   tools
	late    bool // an agent was built without it while it was starting
}

var _ conn.Watcher = (*server)(nil)

func newServer(m *MCP, cfg Server, public bool) *server {
	cfg.Args, cfg.Env, cfg.Headers, cfg.expanded = slices.Clone(cfg.Args), maps.Clone(cfg.Env), maps.Clone(cfg.Headers), slices.Clone(cfg.expanded)
	cfg.Needs = slices.Clone(cfg.Needs)
	s := &server{m: m, cfg: cfg, public: public}
	if cfg.URL != "" {
		s.spec = conn.Spec{URL: cfg.URL, Headers: cfg.Headers}
	} else {
		s.spec = conn.Spec{Command: cfg.Command, Args: cfg.Args, Env: m.environment(cfg.Env), Dir: m.o.Dir, Needs: cfg.Needs}
	}
	return s
}

// attach joins the endpoint of the server, which may have been connected already.
func (s *server) attach() {
	s.end = s.m.pool.Attach(s.spec, s)
	s.sync()
}

// same reports whether both have the same name and an equal declaration.
func (s *server) same(o *server) bool {
	return s.cfg.Name == o.cfg.Name && s.cfg.Timeout == o.cfg.Timeout && s.cfg.Harmless == o.cfg.Harmless && slices.Equal(s.cfg.Reads, o.cfg.Reads) && s.cfg.Required == o.cfg.Required &&
		s.spec.Fingerprint() == o.spec.Fingerprint()
}

// sync takes over the endpoint's list; it returns false if the list is not new.
func (s *server) sync() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	listed, version := s.end.Listed()
	if version == s.version {
		return false
	}
	s.version = version
	s.shown.replace(s, listed)
	return true
}

// Changed takes over a new list of tools, and emits an event about the change, except for
// the ends that OnClose causes.
func (s *server) Changed(c conn.Change) {
	news := (c.Kind == conn.Connected || c.Kind == conn.Relisted) && s.sync()
	if news {
		s.m.rebuild()
	}
	if s.m.pool.Closing() {
		return
	}
	name := s.cfg.Name
	switch {
	case c.Kind == conn.Connected, c.Kind == conn.Relisted && c.Err == nil:
		s.m.emit(event.ServerConnected, name)
		s.arrived(nil)
	case c.Kind == conn.Failed, c.Kind == conn.Lost:
		s.m.emit(event.ServerLost, name+": "+s.reason(c.Err))
		s.arrived(c.Err)
	case c.Kind == conn.Relisted:
		s.m.emit(event.Diagnostic, fmt.Sprintf("the tools of the MCP server %s may be out of date: %v", name, c.Err))
	case c.Kind == conn.Ended:
		s.m.emit(event.Diagnostic, fmt.Sprintf("the MCP server %s was ended because nobody uses it", name))
	}
}

func (s *server) callTimeout() time.Duration {
	if s.cfg.Timeout > 0 {
		return s.cfg.Timeout
	}
	return s.m.o.CallTimeout
}
