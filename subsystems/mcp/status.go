package mcp

import (
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/conn"
)

// State is the state of a server.
type State string

// The states of a server.
const (
	StateDeclared   State = "declared"   // never needed so far
	StateConnecting State = "connecting" // it is being started
	StateConnected  State = "connected"
	StateLost       State = "lost"     // the start failed or it has ended; the next call starts it
	StateIdle       State = "idle"     // it was ended because it was unused; the next call starts it
	StateRefused    State = "refused"  // its declaration cannot be used
	StateDisabled   State = "disabled" // the list of servers turns it off
)

// Status is a snapshot of one server.
type Status struct {
	Name  string
	State State
	// Since is when it got into the state; zero if it was never started.
	Since time.Time
	// Place is the command with its arguments, or the URL without its query, without the secrets of its entry. HTTP: it is a URL.
	Place string
	HTTP  bool
	// Reason is why it is lost, refused or disabled; "" in the other states. It may quote
	// the last lines of the server's error output, without the secrets of its entry. It is
	// for operators: do not show it to a model.
	Reason string
	// Public: every agent may use it; otherwise an agent declared it.
	Public bool
	// Process is the id of the process; 0 unless connected, and over HTTP. Servers
	// that share a connection have the same one.
	Process int
	// Tools has the public names of its tools, sorted. They stay when it is lost.
	Tools []string
	// Refused has listed tools that agents do not get.
	Refused []RefusedTool
	// Stderr is the end of its error output since its last start, at most 16 KiB. It may
	// have secrets. It is for operators: do not show it to a model.
	Stderr string
	// Log has the last lines of Stderr, at most 50 of at most 500 bytes, without the secrets of its entry.
	Log []string
}

// The part of a server's error output that its log has.
const (
	logLines = 50
	logBytes = 500
)

// Status returns the status of each server, in the order of [MCP.Schema].
func (m *MCP) Status() []Status {
	servers := m.declared()
	out := make([]Status, len(servers))
	for i, s := range servers {
		out[i] = s.status()
	}
	return out
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Name: s.cfg.Name, State: StateRefused, Reason: s.cfg.Refused, Public: s.public, Refused: slices.Clone(s.shown.refused)}
	st.Place, st.HTTP = s.cfg.place(), s.cfg.URL != ""
	for _, t := range s.shown.sorted() {
		if t.unusable == "" {
			st.Tools = append(st.Tools, t.Name)
		}
	}
	if s.cfg.Disabled {
		st.State = StateDisabled
	}
	if s.end == nil {
		return st
	}
	at := s.end.Status()
	st.Since, st.Process, st.Stderr = at.Since, at.Process, strings.ToValidUTF8(at.Stderr, "�")
	for _, line := range s.cfg.lastLines(at.Stderr, logLines) {
		st.Log = append(st.Log, tail(line, logBytes))
	}
	switch at.State {
	case conn.StateUnused:
		st.State = StateDeclared
	case conn.StateConnecting:
		st.State = StateConnecting
	case conn.StateConnected:
		st.State = StateConnected
	case conn.StateIdle:
		st.State = StateIdle
	case conn.StateLost:
		st.State, st.Reason = StateLost, s.reason(at.Err)
	}
	return st
}
