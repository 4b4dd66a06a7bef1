package api

import (
	"crypto/rand"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api/wire"
)

const (
	// pageSize is how many events are taken out of a ring at once.
	pageSize = 64
	// maxRingBytes bounds the data that a ring keeps; one event is always kept.
	maxRingBytes = 4 << 20
)

// entry is one event, encoded.
type entry struct {
	data []byte
	kind hook.EventKind
	turn string
}

// ring keeps the newest events of one stream, without gaps, and lets any number
// of readers follow. It is safe for concurrent use.
type ring struct {
	limit int

	mu    sync.Mutex
	epoch string
	// last is the sequence of the newest event that there was, kept or not.
	last uint64
	// base is the sequence before the first of the epoch.
	base    uint64
	entries []entry
	bytes   int
	// ended is the turn whose end was put in last.
	ended  string
	closed bool
	// changed is closed when there is something new; nil if nobody waits.
	changed chan struct{}
}

func newRing(limit int) *ring { return &ring{limit: limit, epoch: newEpoch()} }

func newEpoch() string { return rand.Text()[:10] }

// put adds the event with sequence seq; 0 is the next one. A sequence that does
// not follow the last one begins a new epoch.
func (r *ring) put(seq uint64, e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case seq == 0 || seq == r.last+1:
		r.last++
	default:
		r.epoch, r.last, r.base = newEpoch(), seq, seq-1
		r.entries, r.bytes = nil, 0
	}
	r.entries = append(r.entries, e)
	r.bytes += len(e.data)
	if e.kind == hook.EventTurnEnd {
		r.ended = e.turn
	}
	for len(r.entries) > r.limit || r.bytes > maxRingBytes && len(r.entries) > 1 {
		r.bytes -= len(r.entries[0].data)
		r.entries[0] = entry{}
		r.entries = r.entries[1:]
	}
	r.wakeLocked()
}

// forget drops the events but not the count of them.
func (r *ring) forget() {
	r.mu.Lock()
	r.entries, r.bytes = nil, 0
	r.mu.Unlock()
}

// close tells all readers that nothing more comes.
func (r *ring) close() {
	r.mu.Lock()
	r.closed = true
	r.wakeLocked()
	r.mu.Unlock()
}

func (r *ring) wakeLocked() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// end is the id of the newest event.
func (r *ring) end() wire.EventID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return wire.EventID{Epoch: r.epoch, Seq: r.last}
}

// endedTurn is the turn whose end came last.
func (r *ring) endedTurn() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// page is what a reader gets at once.
type page struct {
	// restarted: the reader's epoch is over.
	restarted bool
	// missed events come before the entries, and are not kept any more.
	missed  uint64
	entries []entry
	// closed: there will be nothing more.
	closed bool
	// more is closed when there is something to read; nil if there was something.
	more <-chan struct{}
}

// read returns what comes behind at and moves at on, as far as the page goes.
func (r *ring) read(at *wire.EventID) page {
	r.mu.Lock()
	defer r.mu.Unlock()
	var p page
	if at.Epoch != r.epoch || at.Seq > r.last {
		p.restarted = at.Epoch != r.epoch
		*at = wire.EventID{Epoch: r.epoch, Seq: min(at.Seq, r.last)}
		if p.restarted {
			at.Seq = r.base
		}
	}
	before := r.last - uint64(len(r.entries)) // the newest that is not kept
	if at.Seq < before {
		p.missed, at.Seq = before-at.Seq, before
	}
	rest := r.entries[at.Seq-before:]
	p.entries = append(p.entries, rest[:min(len(rest), pageSize)]...)
	at.Seq += uint64(len(p.entries))
	if p.restarted || p.missed > 0 || len(p.entries) > 0 {
		return p
	}
	p.closed = r.closed
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	p.more = r.changed
	return p
}
