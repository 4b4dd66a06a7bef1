package api

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// flying is a turn of the conversation that has begun, on a server of its own.
func flying(id string) (*Server, *turn) {
	t := &turn{conversation: "c", id: id, begun: make(chan struct{}), done: make(chan struct{})}
	close(t.begun)
	return &Server{o: Options{Hook: NewHook()}, turns: map[string]*turn{"c": t}}, t
}

func (h *Hook) ends(turn string) {
	h.OnEvent(context.Background(), hook.Event{Kind: event.TurnEnd, Conversation: "c", Turn: turn})
}

// TestATurnWhoseEndWasToldIsNotRunning: nor is one that is over, whose end is forgotten.
func TestATurnWhoseEndWasToldIsNotRunning(t *testing.T) {
	t.Parallel()
	s, turn := flying("t1")
	assert.Same(t, turn, s.turnOf("c"))
	s.o.Hook.ends("t0")
	assert.Same(t, turn, s.turnOf("c"), "the end of another turn")
	s.o.Hook.ends("t1")
	assert.Nil(t, s.turnOf("c"))
	close(turn.done)
	s.o.Hook.ended.forget("c", "t1")
	assert.Nil(t, s.turnOf("c"), "between its end and its leaving the map")
}

// TestTheEndOfTheNextTurnIsNotForgotten: a turn leaves when the next one has ended already.
func TestTheEndOfTheNextTurnIsNotForgotten(t *testing.T) {
	t.Parallel()
	s, turn := flying("t2")
	s.o.Hook.ends("t1")
	s.o.Hook.ends("t2")
	s.o.Hook.ended.forget("c", "t1")
	assert.Nil(t, s.turnOf("c"))
	s.o.Hook.ended.forget("c", "t2")
	assert.Same(t, turn, s.turnOf("c"))
}
