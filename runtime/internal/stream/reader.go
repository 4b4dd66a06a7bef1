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

// ErrClosed: the stream has ended, because what makes its events has.
var ErrClosed = errors.New("stream: closed")

// Item is one thing that a stream has to tell: an event, or that some were
// missed, or that their numbers have begun anew.
type Item struct {
	// At is where the reader is with this; a reader that begins there gets what
	// follows.
	At Position
	// Missed events come directly before what follows, and nobody has them any more.
	Missed uint64
	// Kept: what was missed were deltas and progress, which are not kept; nothing else
	// is lost.
	Kept bool
	// Restarted: what the reader has of higher sequences than At was told by a process
	// that died before it was kept, and its numbers are given again. If it is not
	// Kept all numbers have begun anew: everything that the reader has is of before.
	Restarted bool

	entry *entry
}

// Event returns the event; the zero one if the item is none. What comes from the
// store has of a result the text.
func (i Item) Event() hook.Event {
	if i.entry == nil {
		return hook.Event{}
	}
	if i.entry.stored {
		i.entry.coded.Do(i.entry.code)
	}
	return i.entry.ev
}

// JSON returns the event as it goes over the wire, nil if the item is none. It is
// encoded once for all readers; nobody changes it.
func (i Item) JSON() []byte {
	if i.entry == nil {
		return nil
	}
	if !i.entry.stored {
		i.entry.coded.Do(i.entry.code)
	}
	return i.entry.data
}

// Page is what a reader gets at once.
type Page struct {
	Items []Item
	// Closed: there will be nothing more.
	Closed bool
	// More is closed when there is something to read; nil if there is something now.
	More <-chan struct{}
}

// Reader is one position in a stream. It is for one goroutine at a time; Close may
// be called from any.
type Reader struct {
	hub          *Hub
	ring         *ring
	conversation string
	// log has what was kept; nil if nothing is. source makes the events; nil if nobody
	// did when the reader began.
	log    store.Log
	source Source
	at     Position
	// fresh: the position is in front of the first event that comes.
	fresh bool
	// checked is the epoch of the stream against which the reader's own was checked.
	checked int64
	close   sync.Once
}

// Position is where the reader is.
func (r *Reader) Position() Position { return r.at }

// Close gives back what the reader has. It does not wake one that waits: end its
// context. It may be called twice.
func (r *Reader) Close() { r.close.Do(func() { r.hub.leave(r) }) }

// Events returns what comes, and waits for it: until the consumer stops, ctx ends
// or the stream is closed. The last two are errors, as is what the store cannot
// read; the error comes last.
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
					r.at, r.checked = item.At, unchecked // so that the rest comes again
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

// Read returns what there is now and does not wait for more. The error is the
// store's, or that of ctx: then the reader is where it was.
func (r *Reader) Read(ctx context.Context) (Page, error) {
	for {
		v := r.ring.read(r.at)
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

// behind goes on where the ring does not have what follows; again says that the
// reader is now where it has.
func (r *Reader) behind(ctx context.Context, v view) (p Page, again bool, err error) {
	if r.log == nil {
		return r.overtaken(v)
	}
	epoch, before := v.epoch, v.before
	if v.epoch == 0 { // nobody has told anything since somebody follows
		before = math.MaxUint64
		epoch = unchecked + 1
		if r.source != nil {
			epoch = r.source.Epoch()
		}
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
	if s := r.liveSource(); s != nil {
		kept = s.Flush(ctx, before) == nil
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

// liveSource is who makes the events now; the reader may have been there first.
func (r *Reader) liveSource() Source {
	if r.source == nil && r.hub.o.Source != nil {
		r.source = r.hub.o.Source(r.conversation)
	}
	return r.source
}

// replay returns the item of a kept event, and in front of it the gap that
// deltas have left.
func (r *Reader) replay(e store.Event, kept bool) []Item {
	var numbers struct {
		Epoch int64 `json:"epoch"`
	}
	_ = json.Unmarshal([]byte(e.Data), &numbers) // an event without one is of the first
	var items []Item
	if n := e.Seq - r.at.Seq - 1; n > 0 {
		items = append(items, Item{At: Position{numbers.Epoch, e.Seq - 1}, Missed: n, Kept: kept})
	}
	r.at = Position{numbers.Epoch, e.Seq}
	return append(items, Item{At: r.at, entry: &entry{stored: true, data: []byte(e.Data)}})
}

// overtaken goes on with the ring where nothing is kept.
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

// skip goes to where the ring begins.
func (r *Reader) skip(v view, kept bool) (Page, bool, error) {
	missed := v.before - min(r.at.Seq, v.before)
	r.at = Position{v.epoch, max(v.before, r.at.Seq)}
	if missed == 0 {
		return Page{}, true, nil
	}
	return Page{Items: []Item{{At: r.at, Missed: missed, Kept: kept}}}, false, nil
}

// check looks whether the reader's position is one of the conversation as it is
// now. If the process that told its last event died before that was kept, the
// reader is set back to the last event of its epoch, or of one before, that was.
func (r *Reader) check(ctx context.Context) (lost bool, err error) {
	if r.at.Seq == 0 {
		return false, nil
	}
	// valid reports whether an event behind seq is of the reader's epoch or of one
	// before, and up to which sequence that is known.
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
