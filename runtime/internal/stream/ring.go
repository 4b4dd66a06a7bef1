package stream

import (
	"encoding/json"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
)

const (
	// maxRingBytes bounds the events of a ring; one event is always there.
	maxRingBytes = 4 << 20
	// pageEvents and pageBytes bound what is taken out at once; one event always is.
	pageEvents = 64
	pageBytes  = 256 << 10
)

// entry is one event. It is shared by its rings and all their readers.
type entry struct {
	// size is what the event takes, with its form on the wire, in bytes.
	size int
	// coded fills in what is missing of ev and data when somebody wants it.
	coded sync.Once
	// stored: data is there, and ev is what is missing.
	stored bool
	ev     hook.Event
	data   []byte
}

// eventBytes is what an event takes beside its texts, with its detail.
const eventBytes = 640

// newEntry keeps the event without what it points to: places, and with them the
// whole history of the turn.
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
		_ = json.Unmarshal(e.data, &e.ev) // what is kept was written by the same type
		return
	}
	e.data = Encode(e.ev)
}

// Encode returns the event as it goes over the wire. What of it cannot be written
// is left out.
func Encode(ev hook.Event) []byte {
	data, err := json.Marshal(ev)
	if err != nil { // an event is made of what can be written
		data, _ = json.Marshal(hook.Event{Kind: ev.Kind, Seq: ev.Seq, Epoch: ev.Epoch, Conversation: ev.Conversation, Turn: ev.Turn})
	}
	return data
}

// ring has the newest events of one stream, without gaps. It is safe for
// concurrent use.
type ring struct {
	mu    sync.Mutex
	limit int
	// epoch is that of the newest event; 0 if there was none.
	epoch int64
	// last is the sequence of the newest event that there was, base that before the
	// first of the epoch.
	last, base uint64
	entries    []*entry
	bytes      int
	readers    int
	closed     bool
	// changed is closed when there is something new; nil if nobody waits.
	changed chan struct{}
}

// put adds the event at the position; one that does not follow the last begins
// anew. It returns by how many bytes the ring has grown.
func (r *ring) put(at Position, e *entry) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.bytes
	if at.Epoch != r.epoch || at.Seq != r.last+1 {
		if at.Epoch != r.epoch { // else some were not told, and are missed
			r.epoch, r.base = at.Epoch, at.Seq-1
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
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	return r.bytes - was
}

// forget drops the events but not the count of them, and returns their bytes.
func (r *ring) forget() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.bytes
	r.entries, r.bytes = nil, 0
	return was
}

// close tells all readers that nothing more comes.
func (r *ring) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

func (r *ring) end() Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Position{r.epoch, r.last}
}

// view is what a reader sees of a ring.
type view struct {
	// covers: the ring has everything behind the position.
	covers  bool
	entries []*entry
	// epoch, base and before say where the ring begins: before is the sequence of the
	// newest event that it does not have.
	epoch        int64
	base, before uint64
	// closed: there will be nothing more.
	closed bool
	// more is closed when there is something new; nil if there is something now.
	more <-chan struct{}
}

// read returns what comes behind the position, up to a page.
func (r *ring) read(at Position) view {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := view{epoch: r.epoch, base: r.base, before: r.last - uint64(len(r.entries)), closed: r.closed}
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
