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

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/internal/sse"
)

// Item is one thing that a stream has to tell: an event, or that some were
// missed, or that their numbers have begun anew.
type Item struct {
	// ID is where the stream is with this item; another stream that begins with it
	// has what follows.
	ID string
	// Event is the zero event in the other two cases.
	Event hook.Event
	// Missed events were before this and are not there any more.
	Missed uint64
	// Restarted: what came with higher sequences than that of ID was told by a daemon
	// that died before it was kept, and never became part of the conversation.
	Restarted bool
	// Kept: of what was missed, or told in vain, nothing is lost but deltas and
	// progress.
	Kept bool
}

// Events follows a conversation, "" all of them, from after the id, "" from now
// on. When the connection is lost it resumes where it was, so that no event is
// lost or comes twice. It ends when the consumer stops, or with an error as the
// last element: that of ctx, ErrClosed, or why the daemon cannot be reached.
func (c *Client) Events(ctx context.Context, id, after string) iter.Seq2[Item, error] {
	path := "/v1/events"
	if id != "" {
		path = conversation(id, "/events")
	}
	path += c.hooks()
	return func(yield func(Item, error) bool) {
		f := follower{c: c, path: path, last: after}
		f.run(ctx, yield)
	}
}

// hooks is the query that says which hook runs a stream has.
func (c *Client) hooks() string {
	if c.o.Hooks == "" {
		return ""
	}
	return "?hooks=" + url.QueryEscape(string(c.o.Hooks))
}

func (f *follower) items(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) { f.run(ctx, yield) }
}

// Follow follows a turn from its first event to its last one, turn_end, with
// which it ends. It ends with ErrTurnLost if that cannot come any more.
func (c *Client) Follow(ctx context.Context, t wire.Turn) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		f := &follower{c: c, path: conversation(t.Conversation, "/events") + c.hooks(), last: t.LastEventID, turn: &t}
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
	// last is the id of what came last.
	last string
	// turn is the one whose end is waited for, nil if none is; over is the id behind
	// which it cannot come any more, "" if it can.
	turn *wire.Turn
	over string
	// failures are those to connect, or of a connection that brought nothing, in a
	// row.
	failures int
}

// errStopped: the consumer has enough.
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

// pause is how long to wait before the next connection.
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
		item, told, err := itemOf(p)
		if err != nil {
			return err
		}
		if p.ID != "" {
			f.last = p.ID
		}
		if !told {
			continue
		}
		f.failures = 0
		if !yield(item, nil) {
			return errStopped
		}
		if err := f.lost(); err != nil {
			return err
		}
	}
}

// look finds out whether the turn still runs, if this is not the first connection:
// the daemon may be another one. If it does not, everything of it that will ever
// come is there already.
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

// seqOf is the sequence of an event id.
func seqOf(id string) uint64 {
	_, seq, _ := strings.Cut(id, "-")
	n, _ := strconv.ParseUint(seq, 10, 64) // what is none is in front of all
	return n
}

// itemOf reads one part; told is false for one that says only where the stream
// is, and for what a newer daemon may have to say.
func itemOf(p sse.Event) (item Item, told bool, err error) {
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
