package runtime

import (
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Subscribe follows the events of one conversation or of all, at the reader's own
// pace: it never slows a turn. A reader that is too slow, or comes late, is given
// what the store has kept, or is told how many events it has missed; see package
// stream. The caller closes the reader. It may be called at any time; a reader of
// a runtime that was closed gets what there still is.
func (r *Runtime) Subscribe(o *SubscribeOptions) *Reader { return r.streams.Subscribe(o) }

// LastEvent is the position of the newest event of the conversation, "" of all,
// that this runtime has told while somebody followed, or Options.Events.Recent held
// events; false if there was none.
func (r *Runtime) LastEvent(conversation string) (Position, bool) {
	return r.streams.End(conversation)
}

func (r *Runtime) streamOptions() stream.Options {
	o := stream.Options{Recent: r.o.Events.Recent, Epoch: r.o.Now().UnixNano(), Source: r.source}
	if log, ok := r.o.Store.(store.Log); ok && !r.volatile {
		o.Log = log
	}
	return o
}

// source is who makes the events of a conversation: nil if that is nobody here.
func (r *Runtime) source(conversation string) stream.Source {
	for _, a := range r.all() {
		if c := a.conversationByID(conversation); c != nil {
			return c.host.log
		}
	}
	return nil
}

func (a *Agent) conversationByID(id string) *Conversation {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.conversations {
		if c.ID() == id {
			return c
		}
	}
	return nil
}

// What a subscription is made of; see [Runtime.Subscribe].
type (
	// Reader follows events at its own pace.
	Reader = stream.Reader
	// SubscribeOptions say what a Reader follows and from where.
	SubscribeOptions = stream.SubscribeOptions
	// Item is what a Reader returns: an event, or how many it has missed.
	Item = stream.Item
	// Position is a place in a stream of events.
	Position = stream.Position
)

// ParsePosition reads what [Position.String] has written.
func ParsePosition(s string) (Position, error) { return stream.ParsePosition(s) }
