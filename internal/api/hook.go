package api

import (
	"context"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// Hook is the part of the API that hears of what happens, and the channel through
// which clients approve calls. It is made first, because the composite is made
// before the runtime, and the runtime before the server. It is safe for concurrent
// use.
type Hook struct {
	hook.Nop
	asks  *asks
	ended endings
}

var (
	_ hook.Hook        = (*Hook)(nil)
	_ approval.Channel = (*Hook)(nil)
)

// NewHook returns a hook. It has to be in the composite, and to be the channel of
// the approval that is.
func NewHook() *Hook {
	return &Hook{asks: newAsks(), ended: endings{turns: map[string]string{}}}
}

// OnEvent takes the event up, before any reader is told of it.
func (h *Hook) OnEvent(_ context.Context, ev hook.Event) {
	h.asks.observe(ev)
	if ev.Kind == event.TurnEnd && ev.Depth == 0 {
		h.ended.note(ev.Conversation, ev.Turn)
	}
}

// endings are the turns whose end has been told and that are not quite over.
type endings struct {
	mu sync.Mutex
	// turns are by conversation.
	turns map[string]string
}

func (e *endings) note(conversation, turn string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turns[conversation] = turn
}

func (e *endings) of(conversation string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.turns[conversation]
}

// forget forgets the end of the turn, but not that of one behind it.
func (e *endings) forget(conversation, turn string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.turns[conversation] == turn {
		delete(e.turns, conversation)
	}
}
