package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/sse"
)

// Item is one element of a stream: an event, or a note that events were missed, or that
// the numbers were reset.
type Item struct {
	// ID is the position behind the item. A stream that begins there has the items that
	// follow.
	ID string
	// Event is the zero event for a note.
	Event hook.Event
	// Missed is how many events before the next item are lost.
	Missed uint64
	// Restarted: a daemon died before it stored the events with sequences above ID's.
	// They never became part of the conversation.
	Restarted bool
	// Kept: only deltas and progress are lost.
	Kept bool
}

// Events follows a conversation, or with "" all of them, from behind the id after, or with
// "" from now on. When the connection breaks it reconnects and resumes, so that no event is
// lost or comes twice. It ends when the consumer stops, or with an error as the last
// element: that of ctx, ErrClosed, or why the daemon cannot be reached.
func (c *Client) Events(ctx context.Context, id, after string) iter.Seq2[Item, error] {
	path := "/v1/events"
	if id != "" {
		path = conversation(id, "/events")
	}
	path += c.query()
	return func(yield func(Item, error) bool) {
		f := follower{c: c, path: path, last: after}
		f.run(ctx, yield)
	}
}

func (c *Client) query() string {
	q := "?payload=whole"
	if c.o.Hooks != "" {
		q += "&hooks=" + url.QueryEscape(string(c.o.Hooks))
	}
	return q
}

func (f *follower) items(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) { f.run(ctx, yield) }
}

// Follow follows a turn from its first event to its last one, turn_end. It ends with
// ErrTurnLost if turn_end cannot come any more.
func (c *Client) Follow(ctx context.Context, t wire.Turn) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		f := &follower{c: c, path: conversation(t.Conversation, "/events") + c.query(), last: t.LastEventID, turn: &t}
		for item, err := range f.items(ctx) {
			ev := item.Event
			switch {
			case err != nil:
				yield(item, err)
				return
			case item.Restarted && !item.Kept || ev.Turn != "" && ev.Depth == 0 && ev.Turn != t.ID:
				yield(Item{}, fmt.Errorf("%w: turn %s", ErrTurnLost, t.ID))
				return
			case !yield(item, nil) || ev.Kind == event.TurnEnd && ev.Turn == t.ID:
				return
			}
		}
	}
}

// follower is one stream over any number of connections.
type follower struct {
	c    *Client
	path string
	// last is the id of the last item.
	last string
	// turn is the turn to follow to its end; nil if none.
	turn *wire.Turn
	// over is the id behind which the turn's end cannot come; "" while it can.
	over string
	// end is the id at which it stops; "" is none.
	end string
	// failures counts consecutive connections that failed or had no item.
	failures int
}

// errStopped: the consumer has stopped, or has all that it wanted.
var errStopped = errors.New("stopped")

func (f *follower) run(ctx context.Context, yield func(Item, error) bool) {
	for {
		err := f.connection(ctx, yield)
		var refused *Error
		switch {
		case errors.Is(err, errStopped):
			return
		case ctx.Err() != nil:
			yield(Item{}, ctx.Err())
			return
		case errors.As(err, &refused), errors.Is(err, ErrClosed), errors.Is(err, ErrTurnLost), f.last == "":
			yield(Item{}, err)
			return
		}
		f.failures++
		if f.failures > f.c.o.Retries {
			yield(Item{}, fmt.Errorf("the stream was lost and could not be resumed: %w", err))
			return
		}
		if !wait(ctx, f.pause()) {
			yield(Item{}, ctx.Err())
			return
		}
	}
}

func (f *follower) pause() time.Duration {
	d := f.c.o.Wait
	for i := 1; i < f.failures && d < MaxWait; i++ {
		d *= 2
	}
	return min(d, MaxWait)
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// connection reads one connection to its end; the error is never nil.
func (f *follower) connection(ctx context.Context, yield func(Item, error) bool) error {
	resp, err := f.c.send(ctx, "GET", f.path, nil, f.last)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := f.look(ctx); err != nil {
		return err
	}
	parts := sse.NewReader(resp.Body, nil)
	for {
		p, err := parts.Next()
		if err != nil {
			return err
		}
		item, known, err := itemOf(p)
		if err != nil {
			return err
		}
		if p.ID != "" {
			f.last = p.ID
		}
		if known {
			f.failures = 0
			if !yield(item, nil) {
				return errStopped
			}
			if err := f.lost(); err != nil {
				return err
			}
		}
		if f.end != "" && seqOf(f.last) >= seqOf(f.end) {
			return errStopped
		}
	}
}

// look checks whether the turn still runs, unless this is the first connection: the daemon
// may have restarted. If the turn has ended, the daemon has all its events already.
func (f *follower) look(ctx context.Context) error {
	if f.turn == nil || f.failures == 0 {
		return nil
	}
	now, err := f.c.ConversationByID(ctx, f.turn.Conversation)
	if err != nil {
		return err
	}
	f.over = ""
	if now.Turn != f.turn.ID {
		f.over = now.LastEventID
	}
	return f.lost()
}

func (f *follower) lost() error {
	if f.over == "" || seqOf(f.last) < seqOf(f.over) {
		return nil
	}
	return fmt.Errorf("%w: turn %s", ErrTurnLost, f.turn.ID)
}

func seqOf(id string) uint64 {
	_, seq, _ := strings.Cut(id, "-")
	n, _ := strconv.ParseUint(seq, 10, 64) // 0 if it is no number
	return n
}

// itemOf reads one event of the stream. known is false for one with only a position, and
// for kinds of a newer daemon.
func itemOf(p sse.Event) (item Item, known bool, err error) {
	item.ID = p.ID
	switch {
	case p.Data == nil:
		return item, false, nil
	case p.Name == wire.StreamClosed:
		err = ErrClosed
	case p.Name == wire.StreamRestarted:
		item.Restarted = true
		var v wire.Restarted
		err = json.Unmarshal(p.Data, &v)
		item.Kept = v.Kept
	case p.Name == wire.StreamLagged:
		var l wire.Lagged
		err = json.Unmarshal(p.Data, &l)
		item.Missed, item.Kept = l.Missed, l.Kept
	case p.Name == "":
		item.Event, err = wire.DecodeEvent(p.Data)
	default:
		return item, false, nil
	}
	return item, true, err
}
