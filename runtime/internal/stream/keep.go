package stream

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// ErrNotKept: some events were dropped, because the store refused them for too long.
var ErrNotKept = errors.New("runtime: not all events could be kept")

// maxUnkept and maxUnkeptBytes bound the events that wait while the store fails. The first
// failure stops the turn, so few come after it.
const (
	maxUnkept      = 16 * MaxPending
	maxUnkeptBytes = 16 * MaxPendingBytes
)

// unkept has the events that are not stored yet. The turn's next write stores them too.
// When there are too many, they get a write of their own.
type unkept struct {
	events []hook.Event
	bytes  int
	// failed is how many waited when such a write has failed; 0 if none has.
	failed int
	// lost: some events could not be stored and were dropped.
	lost bool
}

func (u *unkept) add(ev hook.Event) {
	u.events = append(u.events, ev)
	u.bytes += eventSize(&ev)
}

func (u *unkept) full() bool { return len(u.events) >= MaxPending || u.bytes >= MaxPendingBytes }

// due reports whether the events get a write of their own. After one that has failed, MaxPending/4
// further events come first: so a broken store costs few attempts.
func (u *unkept) due() bool {
	return u.full() && (u.failed == 0 || len(u.events) >= u.failed+MaxPending/4)
}

func (u *unkept) dropOldest() {
	u.bytes -= eventSize(&u.events[0])
	u.events = u.events[1:]
}

// eventSize estimates the bytes of an event that waits. newEntry has another estimate: a
// ring also has the encoded event.
func eventSize(ev *hook.Event) int {
	n := 512 + len(ev.Text)
	if ev.Kind == event.CallResult || ev.Kind == event.CallStart {
		d := ev.Detail()
		n += len(d.Args)
		for _, b := range d.Result.Content.All() {
			n += len(b.Text) + len(b.JSON)
		}
	}
	return n
}

// Follow sets the number of the last stored event and the epoch of new ones. The stored
// events include those of a write that seemed to have failed. If the epoch changes, the
// log drops events that are not stored: another process has continued the conversation.
func (l *Log) Follow(seq uint64, epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch != epoch {
		l.unkept = unkept{}
	}
	for len(l.unkept.events) > 0 && l.unkept.events[0].Seq <= seq {
		l.unkept.dropOldest()
	}
	l.seq, l.epoch = max(l.seq, seq), epoch
}

// Write calls write with the events that are not stored yet, and returns its error. After
// an error the events wait for the next write. Writes run one at a time.
func (l *Log) Write(write func([]store.Event) error) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	events := l.unkept.events
	l.unkept.events, l.unkept.bytes, l.unkept.failed = nil, 0, 0
	l.mu.Unlock()
	var encoded []store.Event
	for _, ev := range events {
		encoded = append(encoded, store.Event{Seq: ev.Seq, Data: message.JSON(Encode(ev))})
	}
	err := write(encoded)
	if err != nil {
		l.putBack(events)
	}
	return err
}

// putBack keeps events that could not be stored for the next write. Only beyond maxUnkept and
// maxUnkeptBytes it drops the oldest, and readers are told of it.
func (l *Log) putBack(events []hook.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := &l.unkept
	newer := u.events
	u.events, u.bytes = nil, 0
	for _, ev := range append(events, newer...) {
		u.add(ev)
	}
	u.failed = len(u.events)
	for len(u.events) > maxUnkept || u.bytes > maxUnkeptBytes && len(u.events) > 1 {
		u.lost = true
		u.dropOldest()
	}
}

// writeAlone stores the events that are not stored yet, and nothing else.
func (l *Log) writeAlone(ctx context.Context) error {
	return l.Write(func(events []store.Event) error {
		if len(events) == 0 {
			return nil
		}
		return l.o.Owner.WriteEvents(context.WithoutCancel(ctx), l.Epoch(), events)
	})
}

// Epoch implements [Source].
func (l *Log) Epoch() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

// Flush implements [Source]. It waits for a running write.
func (l *Log) Flush(ctx context.Context, seq uint64) error {
	l.writing.Lock()
	l.mu.Lock()
	waiting, lost := len(l.unkept.events) > 0 && l.unkept.events[0].Seq <= seq, l.unkept.lost
	l.mu.Unlock()
	l.writing.Unlock()
	if waiting {
		if err := l.writeAlone(ctx); err != nil {
			return err
		}
	}
	if lost {
		return ErrNotKept
	}
	return nil
}

// Announce stores the event before it delivers it. write gets it with the other events that
// are not stored yet. If write fails, listeners get a diagnostic with the text instead of
// the event. The error is that of write, or the cause of ctx if ctx ended before the
// delivery was free.
func (l *Log) Announce(ctx context.Context, ev hook.Event, instead string, write func([]store.Event) error) error {
	d, ok := l.Hold(ctx, nil)
	if !ok {
		return context.Cause(ctx)
	}
	defer d.Release()
	return d.Record(context.WithoutCancel(ctx), ev, instead, write)
}

// Record is [Log.Announce] for the holder of the delivery. Release delivers the event.
func (d Delivery) Record(ctx context.Context, ev hook.Event, instead string, write func([]store.Event) error) error {
	l := d.log
	l.Emit(ctx, &ev, How{Inside: true})
	err := l.Write(write)
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.unkept.events {
		refute(&l.unkept.events[i], ev.Seq, instead)
	}
	for i := range l.delivery.queue {
		refute(&l.delivery.queue[i].ev, ev.Seq, instead)
	}
	return err
}

// refute turns the event with that number into a diagnostic, because it did not happen.
func refute(ev *hook.Event, seq uint64, instead string) {
	if ev.Seq == seq {
		ev.Kind, ev.Text = event.Diagnostic, instead
	}
}
