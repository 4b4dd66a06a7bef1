package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api/wire"
)

// Item is one thing that a stream has to tell: an event, or that some were
// missed, or that their numbers have begun anew.
type Item struct {
	// ID is where the stream is with this item; another stream that begins with it
	// has what follows.
	ID string
	// Event is the zero event in the other two cases.
	Event hook.Event
	// Missed events were before this and are not kept any more.
	Missed uint64
	// Restarted: the daemon or the agent was started again, and the events begin
	// anew.
	Restarted bool
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
	return func(yield func(Item, error) bool) {
		f := follower{c: c, path: path, last: after}
		f.run(ctx, yield)
	}
}

// Follow follows a turn from its first event to its last one, turn_end, with
// which it ends. It ends with ErrTurnLost if that cannot come any more.
func (c *Client) Follow(ctx context.Context, t wire.Turn) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for item, err := range c.Events(ctx, t.Conversation, t.LastEventID) {
			ev := item.Event
			switch {
			case err != nil:
				yield(item, err)
				return
			case item.Restarted || ev.Turn != "" && ev.Depth == 0 && ev.Turn != t.ID:
				yield(Item{}, fmt.Errorf("%w: turn %s", ErrTurnLost, t.ID))
				return
			case !yield(item, nil) || ev.Kind == hook.EventTurnEnd && ev.Turn == t.ID:
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
		case errors.As(err, &refused), errors.Is(err, ErrClosed), f.last == "":
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
	parts := wire.NewPartReader(resp.Body)
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
	}
}

// itemOf reads one part; told is false for one that says only where the stream
// is, and for what a newer daemon may have to say.
func itemOf(p wire.Part) (item Item, told bool, err error) {
	item.ID = p.ID
	switch {
	case p.Data == nil:
		return item, false, nil
	case p.Name == wire.StreamClosed:
		err = ErrClosed
	case p.Name == wire.StreamRestarted:
		item.Restarted = true
	case p.Name == wire.StreamLagged:
		var l wire.Lagged
		err = json.Unmarshal(p.Data, &l)
		item.Missed = l.Missed
	case p.Name == "":
		item.Event, err = wire.DecodeEvent(p.Data)
	default:
		return item, false, nil
	}
	return item, true, err
}
