package stream

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
)

const (
	// maxRingBytes bounds the events of a ring. A single event may be larger.
	maxRingBytes = 4 << 20
	// pageEvents and pageBytes bound a page. A single event may be larger.
	pageEvents = 64
	pageBytes  = 256 << 10
)

// entry is one event. Its rings and all their readers share it.
type entry struct {
	// size estimates the bytes of the event and of its encoded form.
	size int
	// coded guards the first call of code.
	coded sync.Once
	// stored: the entry was made from data, and code decodes ev. Else code encodes data.
	stored bool
	ev     hook.Event
	data   []byte
}

// eventBytes is the size of an event with its detail, without its texts.
const eventBytes = 640

// newEntry returns an entry without the event's host, which would keep the whole history
// of the turn alive.
func newEntry(ev hook.Event) *entry {
	d := ev.Detail()
	size := len(ev.Text) + len(d.Args)
	for _, b := range d.Result.Content.All() {
		size += len(b.Text) + len(b.JSON) + len(b.Data)
	}
	return &entry{size: eventBytes + 2*size, ev: ev.Detached()}
}

func (e *entry) code() {
	if e.stored {
		_ = json.Unmarshal(e.data, &e.ev) // another version may have written it
		return
	}
	e.data = Encode(e.ev)
}

// Encode returns the event as JSON, for readers and the store. If it cannot be encoded,
// Encode leaves out all but its kind, numbers and ids.
func Encode(ev hook.Event) []byte {
	data, err := json.Marshal(ev)
	if err != nil { // unexpected: all fields of an event can be encoded
		data, _ = json.Marshal(hook.Event{Kind: ev.Kind, Seq: ev.Seq, Epoch: ev.Epoch, Conversation: ev.Conversation, Turn: ev.Turn})
	}
	return data
}

// ring has the newest events of one stream, without gaps. It is safe for
// concurrent use.
type ring struct {
	mu    sync.Mutex
	limit int
	// epoch is the epoch of the newest event; 0 if there was none.
	epoch int64
	// foreign is the epoch under which another process has stored events behind those of the ring; 0 if none
	// is known.
	foreign int64
	// last is the sequence of the newest event that was put. base is the sequence before
	// the first event of the epoch.
	last, base uint64
	entries    []*entry
	bytes      int
	readers    int
	closed     bool
	// changed is closed at the next change; nil if no reader waits.
	changed chan struct{}
}

// put appends the event at the position. If that does not follow the last position, put
// empties the ring first. It returns by how many bytes the ring has grown.
func (r *ring) put(at Position, e *entry) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.bytes
	if at.Epoch != r.epoch || at.Seq != r.last+1 {
		if at.Epoch != r.epoch { // in the same epoch, readers miss the gap
			r.epoch, r.base, r.foreign = at.Epoch, at.Seq-1, 0
		}
		r.entries, r.bytes = nil, 0
	}
	r.last = at.Seq
	r.entries = append(r.entries, e)
	r.bytes += e.size
	for len(r.entries) > r.limit || r.bytes > maxRingBytes && len(r.entries) > 1 {
		r.bytes -= r.entries[0].size
		r.entries[0] = nil
		r.entries = r.entries[1:]
	}
	r.notifyLocked()
	return r.bytes - was
}

// notifyLocked wakes the readers that wait.
func (r *ring) notifyLocked() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// wake empties a ring of an older epoch than that, as if it had never had an event, and wakes its
// readers. It returns the bytes dropped.
func (r *ring) wake(epoch int64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.epoch >= epoch {
		return 0
	}
	was := r.bytes
	r.epoch, r.last, r.base, r.entries, r.bytes, r.foreign = 0, 0, 0, nil, 0, max(r.foreign, epoch)
	r.notifyLocked()
	return was
}

// forget drops the events, keeps the position, and returns the bytes dropped.
func (r *ring) forget() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.bytes
	r.entries, r.bytes = nil, 0
	return was
}

// has reports whether the ring holds an event of one of the conversations.
func (r *ring) has(conversations []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.entries, func(e *entry) bool { return slices.Contains(conversations, e.ev.Conversation) })
}

// close marks the ring as ended and wakes its readers.
func (r *ring) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.notifyLocked()
}

func (r *ring) end() Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Position{r.epoch, r.last}
}

// view is a snapshot of a ring for a reader.
type view struct {
	// covers: the ring has every event behind the position.
	covers  bool
	entries []*entry
	// epoch, base and foreign are those of the ring.
	epoch, foreign int64
	base           uint64
	// before is the sequence of the newest event that the ring does not have any more.
	before uint64
	// closed: no more events will come.
	closed bool
	// more is closed at the next change; nil if there are entries now.
	more <-chan struct{}
}

// read returns the events behind the position, up to a page.
func (r *ring) read(at Position) view {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := view{epoch: r.epoch, foreign: r.foreign, base: r.base, before: r.last - uint64(len(r.entries)), closed: r.closed}
	v.covers = r.epoch != 0 && at.Epoch == r.epoch && at.Seq >= v.before
	if v.covers && at.Seq < r.last {
		size := 0
		for _, e := range r.entries[at.Seq-v.before:] {
			if size += e.size; len(v.entries) == pageEvents || size > pageBytes && len(v.entries) > 0 {
				break
			}
			v.entries = append(v.entries, e)
		}
		return v
	}
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	v.more = r.changed
	return v
}
