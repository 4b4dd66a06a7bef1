package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
)

// All follows all conversations of the project of a daemon, also over its restarts. The stream of all events lasts only as long as the daemon, while
// the events of a conversation are kept; so All knows how far it has read each conversation, and reads there what the stream has lost.
// One goroutine at a time may use it. [Client.All] makes one.
type All struct {
	c *Client
	// last is the id of the last item of the stream; "" before the first.
	last string
	// read are the ids of the last events by conversation: those that were read, or what there was when it began.
	read map[string]string
	// caught are the ids up to which a conversation was read beside the stream, which may have the same events still to come.
	caught map[string]string
}

// All returns a reader of all conversations that begins with the next event.
func (c *Client) All() *All { return &All{c: c} }

// Items yields the events as they happen. Every event that is kept comes once, and those of one conversation in their order; what the
// daemon has lost is a note with Missed and Kept, as only deltas and progress are. Items ends as [Client.Events] does. After an error,
// such as [ErrClosed] at the end of a daemon, it can be called again, and goes on where it was.
func (a *All) Items(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err := a.begin(ctx); err != nil {
			yield(Item{}, err)
			return
		}
		for item, err := range a.c.Events(ctx, "", a.last) {
			if err != nil {
				yield(item, err)
				return
			}
			a.last = item.ID
			if !item.Kept && (item.Restarted || item.Missed > 0) {
				if err := a.catchUp(ctx, yield); err != nil {
					if !errors.Is(err, errStopped) {
						yield(Item{}, err)
					}
					return
				}
				item.Kept = true
			}
			if !a.old(item.Event) && !yield(item, nil) {
				return
			}
		}
	}
}

// begin finds out how far the conversations are.
func (a *All) begin(ctx context.Context) error {
	if a.read != nil {
		return nil
	}
	health, err := a.c.Health(ctx)
	if err != nil {
		return err
	}
	all, err := a.c.Conversations(ctx)
	if err != nil {
		return err
	}
	a.last, a.read, a.caught = health.LastEventID, map[string]string{}, map[string]string{}
	for _, conv := range all {
		a.read[conv.ID] = conv.LastEventID
	}
	return nil
}

// old notes how far a conversation is read, and reports whether an event was yielded before.
func (a *All) old(ev hook.Event) bool {
	if ev.Conversation == "" || ev.Seq == 0 || ev.Ephemeral {
		return false
	}
	if ev.Seq <= seqOf(a.caught[ev.Conversation]) && ev.Epoch <= epochOf(a.caught[ev.Conversation]) {
		return true
	}
	a.read[ev.Conversation] = fmt.Sprintf("%d-%d", ev.Epoch, ev.Seq)
	return false
}

// catchUp reads what the stream has lost, from the conversations.
func (a *All) catchUp(ctx context.Context, yield func(Item, error) bool) error {
	all, err := a.c.Conversations(ctx)
	if err != nil {
		return err
	}
	for _, conv := range all {
		if err := a.catchUpWith(ctx, conv, yield); err != nil {
			return err
		}
	}
	return nil
}

func (a *All) catchUpWith(ctx context.Context, conv wire.Conversation, yield func(Item, error) bool) error {
	from, known := a.read[conv.ID]
	if !known {
		from = "0-0"
	}
	if from == conv.LastEventID || seqOf(conv.LastEventID) == 0 {
		return nil
	}
	f := follower{c: a.c, path: conversation(conv.ID, "/events") + a.c.query(), last: from, end: conv.LastEventID}
	for item, err := range f.items(ctx) {
		switch {
		case err != nil:
			return err
		case item.Restarted:
			a.read[conv.ID] = item.ID // behind it nothing became part of the conversation
		case item.Event.Seq > 0:
			a.read[conv.ID], a.caught[conv.ID] = item.ID, item.ID
			item.ID = a.last
			if !yield(item, nil) {
				return errStopped
			}
		}
	}
	return nil
}

func epochOf(id string) int64 {
	var n int64
	epoch, _, _ := strings.Cut(id, "-")
	_, _ = fmt.Sscan(epoch, &n) // 0 if it is no number
	return n
}
