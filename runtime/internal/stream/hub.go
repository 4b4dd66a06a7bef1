package stream

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

const (
	// DefaultBuffer is how many events of a stream there are at most for its readers.
	DefaultBuffer = 1024
	// MaxPending is how many events, and MaxPendingBytes how many bytes of them, a
	// source may have told and not written down: fewer than a ring has, so that a
	// reader finds every event in one of both.
	MaxPending      = 256
	MaxPendingBytes = maxRingBytes / 4
	// maxRecent is how many conversations have events held that nobody follows: those
	// that were active last.
	maxRecent = 64
	// maxBytes bounds the events of all rings together.
	maxBytes = 64 << 20
)

// Source is who makes the events of a conversation.
type Source interface {
	// Epoch is that of the events that come.
	Epoch() int64
	// Flush writes down what was told up to the sequence. An error says that not all
	// of it is kept.
	Flush(ctx context.Context, seq uint64) error
}

// Options of a Hub. The zero value keeps nothing that nobody follows.
type Options struct {
	// Recent is how many events of a conversation are held for who comes late, for
	// those conversations that were active last; 0 holds none.
	Recent int
	// Log has the events that are kept; nil if none are.
	Log store.Log
	// Source returns who makes the events of the conversation in this process, or
	// nil. It is called when somebody begins to follow.
	Source func(conversation string) Source
	// Epoch is that of the stream of all events, another one in each process; 0 is 1.
	Epoch int64
}

// Hub has the streams of a process. It is safe for concurrent use.
type Hub struct {
	o   Options
	all *ring
	// on: somebody follows something, or events are held.
	on atomic.Bool

	mu sync.Mutex
	// bytes is what all rings have.
	bytes int
	// count numbers the events of all conversations, while they are held.
	count uint64
	rings map[string]*ring
	// active are the conversations that have events, the newest last.
	active  []string
	readers int
	closed  bool
}

// NewHub returns a hub without readers.
func NewHub(o Options) *Hub {
	o.Epoch = max(o.Epoch, 1)
	h := &Hub{o: o, rings: map[string]*ring{}, all: &ring{limit: max(o.Recent, 1), epoch: o.Epoch}}
	h.on.Store(o.Recent > 0)
	return h
}

// Put adds an event to the streams that it belongs to, behind the ones before it.
// It never waits for a reader, and costs next to nothing if nobody follows.
func (h *Hub) Put(ev *hook.Event) {
	if h.on.Load() {
		h.put(ev)
	}
}

func (h *Hub) put(ev *hook.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.useLocked(ev.Conversation)
	all := h.o.Recent > 0 || h.all.followed()
	if r == nil && !all {
		return
	}
	e := newEntry(*ev)
	if all {
		h.count++
		h.bytes += h.all.put(Position{h.o.Epoch, h.count}, e)
	}
	if r != nil {
		h.bytes += r.put(Position{ev.Epoch, ev.Seq}, e)
	}
}

// useLocked returns the ring of a conversation that has an event, nil if nobody
// wants it. The one that was active least lately has to make room for it.
func (h *Hub) useLocked(conversation string) *ring {
	r := h.rings[conversation]
	switch {
	case conversation == "", r == nil && h.o.Recent == 0:
		return nil
	case r == nil:
		r = h.ringLocked(conversation)
	}
	if n := len(h.active); n == 0 || h.active[n-1] != conversation {
		if i := slices.Index(h.active, conversation); i >= 0 {
			h.active = slices.Delete(h.active, i, i+1)
		}
		h.active = append(h.active, conversation)
	}
	if n := len(h.active); n > 1 && (n > maxRecent || h.bytes > maxBytes) {
		h.bytes -= h.rings[h.active[0]].forget()
		h.active = slices.Delete(h.active, 0, 1)
	}
	return r
}

func (h *Hub) ringLocked(conversation string) *ring {
	r := h.rings[conversation]
	if r == nil {
		r = &ring{limit: max(h.o.Recent, 1), closed: h.closed}
		h.rings[conversation] = r
	}
	return r
}

func (r *ring) followed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readers > 0
}

// End is the position of the newest event of the conversation, "" of all, that
// this process has told while somebody followed or events were held; false if
// there was none.
func (h *Hub) End(conversation string) (Position, bool) {
	r := h.all
	if conversation != "" {
		h.mu.Lock()
		r = h.rings[conversation]
		h.mu.Unlock()
		if r == nil {
			return Position{}, false
		}
	}
	at := r.end()
	return at, at.Epoch != 0
}

// Close tells all readers that nothing more comes, once they have what there is.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.all.close()
	for _, r := range h.rings {
		r.close()
	}
}

// SubscribeOptions say what a reader wants; nil is all zero values.
type SubscribeOptions struct {
	// Conversation is the id of the one to follow; "" is all of them, and what
	// happens outside any. A child's events are in the stream of the conversation
	// that people see.
	Conversation string
	// After is where to begin; nil is with what happens next.
	After *Position
	// Buffer is how many events there may at least be before a reader that takes none
	// misses some, as long as they are no more than 4 MiB; 0 is Options.Recent, or
	// DefaultBuffer where that is 0.
	Buffer int
}

// Subscribe returns a reader, which the caller closes.
func (h *Hub) Subscribe(o *SubscribeOptions) *Reader {
	if o == nil {
		o = &SubscribeOptions{}
	}
	buffer := cmp.Or(max(o.Buffer, 0), h.o.Recent, DefaultBuffer)
	r := &Reader{hub: h, conversation: o.Conversation, checked: unchecked}
	h.mu.Lock()
	r.ring = h.all
	if o.Conversation != "" {
		r.ring, r.log = h.ringLocked(o.Conversation), h.o.Log
	}
	h.readers++
	r.ring.mu.Lock()
	r.ring.readers++
	r.ring.limit = max(r.ring.limit, buffer)
	r.at, r.fresh = Position{r.ring.epoch, r.ring.last}, r.ring.epoch == 0
	r.ring.mu.Unlock()
	h.on.Store(true)
	h.mu.Unlock()
	if o.After != nil {
		r.at, r.fresh = *o.After, false
	}
	if h.o.Source != nil && o.Conversation != "" {
		r.source = h.o.Source(o.Conversation)
	}
	return r
}

// leave takes a reader away, and what was there only for readers.
func (h *Hub) leave(r *Reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers--
	h.on.Store(h.readers > 0 || h.o.Recent > 0)
	r.ring.mu.Lock()
	r.ring.readers--
	last := r.ring.readers == 0
	if last {
		r.ring.changed = nil // nobody waits
	}
	r.ring.mu.Unlock()
	if !last || h.o.Recent > 0 {
		return
	}
	h.bytes -= r.ring.forget()
	if r.conversation == "" {
		return
	}
	if i := slices.Index(h.active, r.conversation); i >= 0 {
		h.active = slices.Delete(h.active, i, i+1)
	}
	delete(h.rings, r.conversation)
}

const unchecked = math.MinInt64
