package stream

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

const (
	// DefaultBuffer is the default number of events that a ring has.
	DefaultBuffer = 1024
	// MaxPending and MaxPendingBytes bound the events that a source has delivered and
	// not yet stored. They are below the bounds of a ring, so that a reader finds every
	// event in the ring or in the store.
	MaxPending      = 256
	MaxPendingBytes = maxRingBytes / 4
	// maxRecent is how many conversations without readers have their events held: those
	// that were active last.
	maxRecent = 64
	// maxBytes bounds the events of all rings together.
	maxBytes = 64 << 20
)

// EphemeralID begins the ids of conversations of which nothing is stored. Their readers have only
// the events that are held. No store makes such ids.
const EphemeralID = "ephemeral-"

// Source makes the events of a conversation.
type Source interface {
	// Epoch is the epoch of the next event.
	Epoch() int64
	// Flush stores the delivered events up to the sequence. The error is that of the store, and the
	// events wait; store.ErrFenced if another process has continued the conversation; ErrNotKept
	// if some were dropped and the store will never have them.
	Flush(ctx context.Context, seq uint64) error
}

// Options of a Hub. The zero value holds events only while a stream has readers.
type Options struct {
	// Recent is how many events of a conversation are held for later readers. Only the
	// conversations that were active last have them held. 0 holds none.
	Recent int
	// Log has the stored events; nil if events are not stored.
	Log store.Log
	// Source returns the source of the conversation's events in this process, or nil.
	// It is called when a reader subscribes.
	Source func(conversation string) Source
	// Epoch is the epoch of the stream of all events, different in each process; 0 is 1.
	Epoch int64
}

// Hub has the streams of a process. It is safe for concurrent use.
type Hub struct {
	o   Options
	all *ring
	// on: there are readers, or events are held for later ones.
	on atomic.Bool

	mu sync.Mutex
	// bytes is the size of the events in all rings.
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

// Put appends an event to its streams. It never waits for a reader, and costs next
// to nothing without readers.
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

// useLocked returns the ring for a conversation's new event, or nil if it has no
// readers and events are not held. It may empty the ring of the conversation whose
// last event is the oldest.
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

// End returns the position of the newest event of the conversation, or for "" of all
// of them. It counts only events that this process delivered while the stream had
// readers or events were held. It returns false if there were none.
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

// Wake says that the store has events of the conversation, up to that epoch, which another process
// emitted. The ring of an older epoch is behind them: it is emptied, and its readers read the store.
func (h *Hub) Wake(conversation string, epoch int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rings[conversation]; r != nil {
		h.bytes -= r.wake(epoch)
	}
}

// Close ends all streams: readers get the events that are left, and then the end.
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
	// Conversation is the id of the conversation to follow; "" is all of them, and
	// events outside any conversation. A child's events are in the stream of the
	// conversation that people see.
	Conversation string
	// After is the position to begin at; nil begins with the next event.
	After *Position
	// Buffer is how many events, of at most 4 MiB, can happen before an idle reader
	// misses any. 0 is Options.Recent, or DefaultBuffer if that is 0.
	Buffer int
}

// Subscribe returns a reader. The caller closes it.
func (h *Hub) Subscribe(o *SubscribeOptions) *Reader {
	if o == nil {
		o = &SubscribeOptions{}
	}
	buffer := cmp.Or(max(o.Buffer, 0), h.o.Recent, DefaultBuffer)
	r := &Reader{hub: h, conversation: o.Conversation, checked: unchecked}
	h.mu.Lock()
	r.ring = h.all
	if o.Conversation != "" {
		r.ring = h.ringLocked(o.Conversation)
		if !strings.HasPrefix(o.Conversation, EphemeralID) {
			r.log = h.o.Log
		}
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

// leave removes a reader, and drops events that were held only for it.
func (h *Hub) leave(r *Reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers--
	h.on.Store(h.readers > 0 || h.o.Recent > 0)
	r.ring.mu.Lock()
	r.ring.readers--
	last := r.ring.readers == 0
	if last {
		r.ring.changed = nil // no reader waits
	}
	r.ring.mu.Unlock()
	if !last || h.o.Recent > 0 && !strings.HasPrefix(r.conversation, EphemeralID) {
		return
	}
	h.dropLocked(r.conversation, r.ring)
}

// Drop drops the events that are held of a conversation that has ended. If it has readers, the
// last one that leaves does so.
func (h *Hub) Drop(conversation string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rings[conversation]; r != nil && !r.followed() {
		h.dropLocked(conversation, r)
	}
}

// Remove ends the streams of deleted conversations: their readers get the events that are left,
// and then the end. If one of the events is held in the stream of all conversations, that loses
// the events that it holds.
func (h *Hub) Remove(conversations ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range conversations {
		if r := h.rings[id]; r != nil {
			r.close()
			h.dropLocked(id, r)
		}
	}
	if h.all.has(conversations) {
		h.bytes -= h.all.forget()
	}
}

// dropLocked drops a ring without readers. That of all conversations stays, without its events.
func (h *Hub) dropLocked(conversation string, r *ring) {
	h.bytes -= r.forget()
	if conversation == "" {
		return
	}
	if i := slices.Index(h.active, conversation); i >= 0 {
		h.active = slices.Delete(h.active, i, i+1)
	}
	if h.rings[conversation] == r { // else a reader of a removed one leaves
		delete(h.rings, conversation)
	}
}

const unchecked = math.MinInt64
