package runtime

import (
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Subscribe returns a reader of the events of one conversation or of all. It never slows a
// turn. A reader that is slow or comes late gets older events from the store, or an item
// with the number of events that it missed. The caller closes the reader. Subscribe may be
// called at any time; after Close a reader still gets the events that are held or stored.
func (r *Runtime) Subscribe(o *SubscribeOptions) *Reader { return r.streams.Subscribe(o) }

// LastEvent returns the position of the newest event of the conversation; "" is all
// conversations. It counts only events that this runtime has delivered while it had
// readers, or while Options.Events.Recent held events. False means that there is none.
func (r *Runtime) LastEvent(conversation string) (Position, bool) {
	return r.streams.End(conversation)
}

// Wake tells the readers of the conversation that the store has events, up to that epoch, which another
// process emitted. Without it they would wait for those of this process. It has no effect if this
// process has emitted under that epoch itself.
func (r *Runtime) Wake(conversation string, epoch int64) { r.streams.Wake(conversation, epoch) }

func (r *Runtime) streamOptions() stream.Options {
	o := stream.Options{Recent: r.o.Events.Recent, Epoch: r.o.Now().UnixNano(), Source: r.source}
	if log, ok := r.o.Store.(store.Log); ok && !r.volatile {
		o.Log = log
	}
	return o
}

// source returns the source of the conversation's events; nil if this process has none.
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

// The types of a subscription; see [Runtime.Subscribe].
type (
	// Masker masks what events show; see Events.Mask.
	Masker = stream.Masker
	// Reader reads events at its own pace.
	Reader = stream.Reader
	// SubscribeOptions select the events of a Reader and its first position.
	SubscribeOptions = stream.SubscribeOptions
	// Item is one element of a stream: an event, or a note of missed events.
	Item = stream.Item
	// Position is a place in a stream of events.
	Position = stream.Position
)

// ParsePosition parses the text of [Position.String].
func ParsePosition(s string) (Position, error) { return stream.ParsePosition(s) }
