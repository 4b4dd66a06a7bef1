package mcp

import (
	"slices"
	"strings"
)

// State says what a server is at.
type State string

// The states of a server.
const (
	StateDeclared   State = "declared"   // nobody has needed it yet
	StateConnecting State = "connecting" // it is being started
	StateConnected  State = "connected"
	StateLost       State = "lost"    // it could not be started or has ended; the next call starts it
	StateRefused    State = "refused" // its declaration cannot be used
)

// Status is what is known of one server at one time.
type Status struct {
	Name  string
	State State
	// Reason is why it is lost or refused; "" in the other states.
	Reason string
	// Process is the id of the process; 0 unless connected.
	Process int
	// Tools are the public names of the tools that it offers, sorted. They stay
	// when it is lost.
	Tools []string
	// Refused are the tools that it lists and that are not offered.
	Refused []RefusedTool
	// Stderr is the end of what it wrote to its error output since it was started
	// last, at most 16 KiB. It may hold secrets: it is for operators and must not
	// be shown to a model.
	Stderr string
}

// Status returns what each server is at, in the order of their declaration.
func (m *MCP) Status() []Status {
	out := make([]Status, len(m.servers))
	for i, s := range m.servers {
		out[i] = s.status()
	}
	return out
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{
		Name: s.cfg.Name, State: StateDeclared, Refused: slices.Clone(s.shown.refused),
		Stderr: strings.ToValidUTF8(s.stderr.String(), "�"),
	}
	for _, t := range s.shown.sorted() {
		if t.unusable == "" {
			st.Tools = append(st.Tools, t.Name)
		}
	}
	switch {
	case s.cfg.Refused != "":
		st.State, st.Reason = StateRefused, s.cfg.Refused
	case s.peer != nil:
		st.State, st.Process = StateConnected, s.peer.proc.cmd.Process.Pid
	case s.attempt != nil:
		st.State = StateConnecting
	case s.failure != nil:
		st.State, st.Reason = StateLost, s.failure.Error()
	}
	return st
}
