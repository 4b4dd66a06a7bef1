package api

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
)

const (
	// DefaultEvents is how many events of one conversation are kept.
	DefaultEvents = 4096
	// maxRings is how many conversations have their events kept; those that were
	// active last.
	maxRings = 64
)

// hub has the rings.
type hub struct {
	limit int
	all   *ring

	mu     sync.Mutex
	rings  map[string]*ring
	closed bool
	// active are the conversations that have events kept, the newest last.
	active []string
}

func newHub(limit int) *hub {
	if limit <= 0 {
		limit = DefaultEvents
	}
	return &hub{limit: limit, all: newRing(limit), rings: map[string]*ring{}}
}

// ring returns that of a conversation.
func (h *hub) ring(conversation string) *ring {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ringLocked(conversation)
}

func (h *hub) ringLocked(conversation string) *ring {
	r := h.rings[conversation]
	if r == nil {
		r = newRing(h.limit)
		r.closed = h.closed
		h.rings[conversation] = r
	}
	return r
}

// publish puts the event where it belongs.
func (h *hub) publish(ev hook.Event) {
	data, err := json.Marshal(ev)
	if err != nil { // an event is made of what can be written
		data, _ = json.Marshal(hook.Event{Kind: ev.Kind, Seq: ev.Seq, Conversation: ev.Conversation, Turn: ev.Turn})
	}
	e := entry{data: data, kind: ev.Kind, turn: ev.Turn}
	if ev.Conversation != "" {
		r, idle := h.use(ev.Conversation)
		if idle != nil {
			idle.forget()
		}
		r.put(ev.Seq, e)
	}
	h.all.put(0, e)
}

// use returns the ring of a conversation that has an event, and the one that has
// to make room for it.
func (h *hub) use(conversation string) (r, idle *ring) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.active); n == 0 || h.active[n-1] != conversation {
		if i := slices.Index(h.active, conversation); i >= 0 {
			h.active = slices.Delete(h.active, i, i+1)
		}
		h.active = append(h.active, conversation)
	}
	if len(h.active) > maxRings {
		idle = h.rings[h.active[0]]
		h.active = slices.Delete(h.active, 0, 1)
	}
	return h.ringLocked(conversation), idle
}

// close ends all streams.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	rings := []*ring{h.all}
	for _, r := range h.rings {
		rings = append(rings, r)
	}
	h.mu.Unlock()
	for _, r := range rings {
		r.close()
	}
}

// Hook is the part of the API in the composite: it takes up events for the
// streams, and it answers what has to be approved with what a client answers. It
// is made first, because the composite is made before the runtime, and the
// runtime before the server. It is safe for concurrent use.
type Hook struct {
	hook.Nop
	hub  *hub
	asks *asks
}

var _ hook.Approve = (*Hook)(nil)

// NewHook returns a hook; nil options are all zero values.
func NewHook(o *HookOptions) *Hook {
	if o == nil {
		o = &HookOptions{}
	}
	return &Hook{hub: newHub(o.Events), asks: newAsks(*o)}
}

// OnEvent takes the event up. It never waits for a reader.
func (h *Hook) OnEvent(_ context.Context, ev hook.Event) {
	h.asks.observe(ev)
	h.hub.publish(ev)
}
