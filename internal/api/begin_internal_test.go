package api

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// flying is a turn of the conversation that has begun, on a server of its own.
func flying(id string) (*Server, *turn) {
	t := &turn{conversation: "c", id: id, begun: make(chan struct{}), done: make(chan struct{})}
	close(t.begun)
	return &Server{turns: map[string]*turn{"c": t}}, t
}

func (s *Server) tellsEndOf(turn string) {
	s.tellsEnd(hook.Event{Kind: event.TurnEnd, Conversation: "c", Turn: turn})
}

// TestATurnWhoseEndWasToldIsNotRunning: nor is one that is over.
func TestATurnWhoseEndWasToldIsNotRunning(t *testing.T) {
	t.Parallel()
	s, turn := flying("t1")
	assert.Same(t, turn, s.turnOf("c"))
	s.tellsEndOf("t0")
	assert.Same(t, turn, s.turnOf("c"), "the end of another turn")
	s.tellsEndOf("t1")
	assert.Nil(t, s.turnOf("c"))

	s, turn = flying("t2")
	close(turn.done)
	assert.Nil(t, s.turnOf("c"), "between its end and its leaving the map")
}

// TestTheEndOfAnEarlierTurnIsReadLate: a client that reads it ends nothing.
func TestTheEndOfAnEarlierTurnIsReadLate(t *testing.T) {
	t.Parallel()
	s, turn := flying("t2")
	s.tellsEndOf("t1")
	assert.Same(t, turn, s.turnOf("c"))
	s.turns["c"] = nil
	s.tellsEndOf("t1")
}
