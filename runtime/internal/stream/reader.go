package stream

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"sort"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// ErrClosed: the stream has ended, because the hub was closed.
var ErrClosed = errors.New("stream: closed")

// Item is one element of a stream: an event, or a note that events were missed, or
// that the numbers were reset.
type Item struct {
	// At is the position behind the item. A reader that begins there gets the items
	// that follow.
	At Position
	// Missed is how many events the reader missed directly before the next item.
	Missed uint64
	// Kept: the reader missed only deltas and progress, which are not stored.
	Kept bool
	// Restarted: a process died before it stored the events behind At that the reader
	// has got, and later events use their numbers again. If Kept is false, all numbers
	// begin anew: none of the reader's events belongs to the new numbers.
	Restarted bool

	entry *entry
}

// Event returns the event; the zero event if the item is a note. A tool result from the
// store has only its text.
func (i Item) Event() hook.Event {
	if i.entry == nil {
		return hook.Event{}
	}
	if i.entry.stored {
		i.entry.coded.Do(i.entry.code)
	}
	return i.entry.ev
}

// JSON returns the encoded event; nil if the item is a note. All readers share it: do
// not change it.
func (i Item) JSON() []byte {
	if i.entry == nil {
		return nil
	}
	if !i.entry.stored {
		i.entry.coded.Do(i.entry.code)
	}
	return i.entry.data
}

// Page is the result of one read.
type Page struct {
	Items []Item
	// Closed: no more items will come.
	Closed bool
	// More is closed when there is more to read; nil if there is more now.
	More <-chan struct{}
}

// Reader is one position in a stream. One goroutine at a time may use it; Close may
// be called from any.
type Reader struct {
	hub          *Hub
	ring         *ring
	conversation string
	// log has the stored events; nil if events are not stored.
	log store.Log
	// source makes the events; nil if there was none yet.
	source Source
	at     Position
	// fresh: the reader begins at the first event that comes.
	fresh bool
	// checked is the epoch of the stream for which check has run.
	checked int64
	close   sync.Once
}

// Position returns the reader's position.
func (r *Reader) Position() Position { return r.at }

// Close releases the reader. It does not wake a reader that waits: cancel the context
// for that. It may be called twice.
func (r *Reader) Close() { r.close.Do(func() { r.hub.leave(r) }) }

// Events yields the items and waits for more, until the consumer stops, ctx ends, the
// stream is closed or the store fails. The last three yield an error at the end.
func (r *Reader) Events(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for {
			p, err := r.Read(ctx)
			if err != nil {
				yield(Item{}, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					r.at, r.checked = item.At, unchecked // the next read returns the rest
					return
				}
			}
			if p.More == nil {
				continue
			}
			if p.Closed {
				yield(Item{}, ErrClosed)
				return
			}
			select {
			case <-p.More:
			case <-ctx.Done():
				yield(Item{}, ctx.Err())
				return
			}
		}
	}
}

// Read returns the items that there are now, and does not wait for more. The error is
// the store's or that of ctx; the reader then keeps its position.
func (r *Reader) Read(ctx context.Context) (Page, error) {
	for {
		v := r.ring.read(r.at)
		if r.log != nil && v.epoch < r.at.Epoch { // another process has emitted since
			v.epoch = 0
		}
		switch {
		case r.fresh && v.epoch != 0:
			r.at, r.fresh = Position{v.epoch, v.base}, false
			continue
		case r.fresh || v.covers && v.more != nil:
			return Page{More: v.more, Closed: v.closed}, nil
		case v.covers:
			return r.live(v), nil
		}
		p, again, err := r.behind(ctx, v)
		if err != nil || !again {
			return p, err
		}
	}
}

func (r *Reader) live(v view) Page {
	items := make([]Item, len(v.entries))
	for i, e := range v.entries {
		r.at.Seq++
		items[i] = Item{At: r.at, entry: e}
	}
	return Page{Items: items}
}

// behind reads where the ring does not have the next event. again says that the ring
// covers the reader's new position.
func (r *Reader) behind(ctx context.Context, v view) (p Page, again bool, err error) {
	if r.log == nil {
		return r.overtaken(v)
	}
	epoch, before := v.epoch, v.before
	if v.epoch == 0 { // no event since the ring has readers
		before = math.MaxUint64
		epoch = unchecked + 1
		if r.source != nil {
			epoch = r.source.Epoch()
		}
		epoch = max(epoch, v.foreign)
	}
	if r.at.Epoch != epoch && r.checked != epoch {
		lost, err := r.check(ctx)
		if err != nil {
			return p, false, err
		}
		r.checked = epoch
		if lost {
			return Page{Items: []Item{{At: r.at, Restarted: true, Kept: true}}}, false, nil
		}
	}
	kept := true
	if s := r.liveSource(); s != nil && s.Epoch() >= max(v.foreign, r.at.Epoch) { // else another process stores them
		err := s.Flush(ctx, before)
		kept = !errors.Is(err, ErrNotKept)
		if err != nil && kept && !errors.Is(err, store.ErrFenced) {
			return p, false, err
		}
	}
	events, err := r.log.Events(ctx, r.conversation, r.at.Seq, pageEvents)
	if errors.Is(err, store.ErrDamaged) {
		kept, err = false, nil
	}
	if err != nil {
		return p, false, err
	}
	size := 0
	for _, e := range events {
		if size += len(e.Data); e.Seq > before || size > pageBytes && len(p.Items) > 0 {
			break
		}
		p.Items = append(p.Items, r.replay(e, kept)...)
	}
	switch {
	case len(p.Items) > 0:
		return p, false, nil
	case v.epoch == 0:
		return Page{More: v.more, Closed: v.closed}, false, nil
	}
	return r.skip(v, kept)
}

// liveSource returns the source. It looks it up again if the reader began before it.
func (r *Reader) liveSource() Source {
	if r.source == nil && r.hub.o.Source != nil {
		r.source = r.hub.o.Source(r.conversation)
	}
	return r.source
}

// replay returns the item of a stored event, after a note of the gap before it.
func (r *Reader) replay(e store.Event, kept bool) []Item {
	var numbers struct {
		Epoch int64 `json:"epoch"`
	}
	_ = json.Unmarshal([]byte(e.Data), &numbers) // 0 if the event has no epoch
	var items []Item
	if n := e.Seq - r.at.Seq - 1; n > 0 {
		items = append(items, Item{At: Position{numbers.Epoch, e.Seq - 1}, Missed: n, Kept: kept})
	}
	r.at = Position{numbers.Epoch, e.Seq}
	return append(items, Item{At: r.at, entry: &entry{stored: true, data: []byte(e.Data)}})
}

// overtaken moves the reader to the ring when events are not stored.
func (r *Reader) overtaken(v view) (Page, bool, error) {
	switch {
	case v.epoch == 0:
		return Page{More: v.more, Closed: v.closed}, false, nil
	case r.at.Epoch != v.epoch && r.at.Seq > 0:
		r.at = Position{v.epoch, v.base}
		return Page{Items: []Item{{At: r.at, Restarted: true}}}, false, nil
	}
	return r.skip(v, false)
}

// skip moves the reader to the begin of the ring, with a note of the gap.
func (r *Reader) skip(v view, kept bool) (Page, bool, error) {
	missed := v.before - min(r.at.Seq, v.before)
	r.at = Position{v.epoch, max(v.before, r.at.Seq)}
	if missed == 0 {
		return Page{}, true, nil
	}
	return Page{Items: []Item{{At: r.at, Missed: missed, Kept: kept}}}, false, nil
}

// check compares the reader's position with the stored events. If the process died
// before it stored the reader's last event, check sets the reader back to the last
// stored event of its epoch or an earlier one.
func (r *Reader) check(ctx context.Context) (lost bool, err error) {
	if r.at.Seq == 0 {
		return false, nil
	}
	// valid reports whether the next event behind seq is of the reader's epoch or an
	// earlier one, and returns its sequence.
	valid := func(seq uint64) (bool, uint64) {
		if err != nil {
			return false, 0
		}
		var events []store.Event
		events, err = r.log.Events(ctx, r.conversation, seq, 1)
		if errors.Is(err, store.ErrDamaged) {
			err = nil
		}
		if err != nil || len(events) == 0 {
			return false, 0
		}
		var numbers struct {
			Epoch int64 `json:"epoch"`
		}
		_ = json.Unmarshal([]byte(events[0].Data), &numbers)
		return numbers.Epoch <= r.at.Epoch, events[0].Seq
	}
	if ok, _ := valid(r.at.Seq - 1); ok || err != nil {
		return false, err
	}
	end := sort.Search(int(min(r.at.Seq, store.MaxEvent)), func(seq int) bool {
		ok, _ := valid(uint64(seq))
		return !ok
	})
	if err == nil {
		r.at.Seq = uint64(end)
	}
	return err == nil, err
}
