// Package streams writes the events of conversations to clients, as server-sent events.
package streams

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/monitor"
	"github.com/grapnel-go/grapnel/internal/nodes"
	"github.com/grapnel-go/grapnel/internal/nodes/dispatch"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Streams writes the streams of a server. It is safe for concurrent use.
type Streams struct {
	Runtime *runtime.Runtime
	Find    func(ctx context.Context, id string) (store.Record, error)
	Monitor *monitor.Monitor
	// Heartbeat is the time between comments in a stream without events.
	Heartbeat time.Duration
	// Closing reports whether the server is shutting down.
	Closing func() bool
	// Members, Dispatch and Wakes are the nodes that share the store; nil Members is none.
	Members  *nodes.Members
	Dispatch *dispatch.Dispatcher
	Wakes    *nodes.Wakes
}

// Request asks for a stream.
type Request struct {
	// Conversation is followed from behind At; "" is all conversations.
	Conversation string
	At           runtime.Position
	// Turn ends the stream; "" is none. Over is closed when it has ended; nil if another node runs it.
	Turn string
	Over <-chan struct{}
	View View
	// Path is that of the same stream on another node, with its query, and From who reads it.
	Path string
	From internode.Caller
	// Node: another node asks. Its stream ends when this node does not have the conversation any more.
	Node bool
	// Stays reports whether the client may still read.
	Stays func() bool
}

// streamer writes one stream.
type streamer struct {
	Request
	s   *Streams
	w   http.ResponseWriter
	ctx context.Context
	// beat and look tick: a comment is due, or a look at the record of the conversation. wake asks for such a look at once.
	beat, look <-chan time.Time
	wake       <-chan struct{}
	// looked is when it was checked last that the client may still read.
	looked time.Time
	// epoch is that of the lease at the last look; 0 before.
	epoch int64
	// idle counts looks at which no node had the turn, and last: the events that can be read now are the last.
	idle int
	last bool
	// waits is the project that the client was told the turn waits for.
	waits string
	// ended: nothing more is written.
	ended bool
}

// lookEvery is the time between two looks at the record of a conversation that several nodes may have.
const lookEvery = time.Second

// Write writes server-sent events until ctx ends, the turn or the daemon ends, or the client goes or
// reads nothing for too long. Its end affects nothing else.
//
// With nodes, the events come from the node that has the conversation, with what is not stored, and from the store while none
// has it. The client does not notice where they come from.
func (s *Streams) Write(ctx context.Context, w http.ResponseWriter, q Request) {
	beat := time.NewTicker(s.Heartbeat)
	defer beat.Stop()
	st := &streamer{Request: q, s: s, w: w, ctx: ctx, beat: beat.C, looked: time.Now()}
	if s.Members != nil && q.Conversation != "" {
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		wake, leave := s.Wakes.Of(q.Conversation)
		defer leave()
		st.look, st.wake = look.C, wake
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	st.write(func() error { return sse.Event{ID: q.At.String()}.Write(w) })
	for !st.ended {
		if to, elsewhere := st.elsewhere(); elsewhere {
			st.relay(to)
		} else {
			st.local()
		}
	}
}

// write writes and flushes; if that fails, the client has gone.
func (st *streamer) write(page func() error) {
	if page() != nil || http.NewResponseController(st.w).Flush() != nil {
		st.ended = true
	}
}

func (st *streamer) name(name, data string) {
	st.write(func() error { return sse.Event{Name: name, Data: []byte(data)}.Write(st.w) })
}

// comment writes a comment, so that the client and what is between see that the connection lasts.
func (st *streamer) comment() {
	st.write(func() error { _, err := io.WriteString(st.w, ":\n\n"); return err })
}

// permitted ends the stream if the client may not read it any more.
func (st *streamer) permitted() {
	if time.Since(st.looked) >= st.s.Heartbeat {
		st.looked = time.Now()
		st.ended = st.ended || !st.Stays()
	}
}

// local writes the events that this process emits, and those that others have stored, until another node has the conversation.
func (st *streamer) local() {
	from, counted, leave := st.s.subscribe(st.Conversation, st.At)
	defer leave()
	st.s.Runtime.Wake(st.Conversation, st.epoch)
	for !st.ended {
		if st.permitted(); st.ended {
			return
		}
		p, err := from.Read(st.ctx)
		note(counted, p.Items, p.More != nil)
		if err != nil {
			st.ended = true // the client resumes, and gets an error if the store cannot be read
			return
		}
		if p.More == nil {
			over := false
			st.write(func() (err error) { over, err = writeItems(st.w, p.Items, st.Turn, st.View); return err })
			st.At, st.ended = p.Items[len(p.Items)-1].At, st.ended || over
			continue
		}
		switch {
		case p.Closed:
			st.name(wire.StreamClosed, `{}`)
			st.ended = true
			return
		case st.last:
			st.ended = true
			return
		}
		select {
		case <-p.More:
		case <-st.Over:
			st.Over, st.last = nil, st.look == nil || st.Node // otherwise another node may go on with it
		case <-st.beat:
			st.comment()
		case <-st.look:
			if st.moved() {
				return
			}
		case <-st.wake:
			if st.moved() {
				return
			}
		case <-st.ctx.Done():
			st.ended = true
		}
	}
}

// elsewhere returns the other node that has the conversation; false if none has, and for a request of another node.
func (st *streamer) elsewhere() (store.Node, bool) {
	if st.look == nil || st.Node {
		return store.Node{}, false
	}
	rec, err := st.s.Find(st.ctx, st.Conversation)
	if err != nil {
		return store.Node{}, false
	}
	st.epoch = rec.Lease.Epoch
	return st.s.Members.Holder(st.ctx, rec)
}

// moved looks at the record while this process is the source. It reports whether another node has the conversation. It wakes the
// reader if another process has stored events, notices that a turn of another node has ended, and tells what a turn waits for.
func (st *streamer) moved() bool {
	if st.runs() {
		return false
	}
	rec, err := st.s.Find(st.ctx, st.Conversation)
	if err != nil {
		return false // the store will say so to the reader
	}
	if st.Node {
		st.last = !st.holds(rec)
		return false
	}
	if _, elsewhere := st.s.Members.Holder(st.ctx, rec); elsewhere {
		return true
	}
	st.s.Runtime.Wake(rec.ID, rec.Lease.Epoch)
	if st.idle++; rec.Journaled || !rec.Lease.Until.IsZero() {
		st.idle = 0
	}
	// The event of a turn's end is stored behind its messages: the second look finds it.
	st.last = st.Turn != "" && st.Over == nil && st.idle >= 2
	st.wait(rec)
	return false
}

// wait tells the client which project an interrupted turn waits for, once.
func (st *streamer) wait(rec store.Record) {
	project := ""
	if rec.Journaled && rec.Lease.Until.IsZero() && st.s.Members.Place(rec).Nowhere() {
		project = rec.Key.Project
	}
	if project != "" && project != st.waits {
		st.name(wire.StreamWaiting, `{"project":`+strconv.Quote(project)+`}`)
	}
	st.waits = project
}

// relay writes the events of another node until it does not have the conversation any more.
func (st *streamer) relay(to store.Node) {
	st.waits, st.idle = "", 0
	ctx, cancel := context.WithCancel(st.ctx)
	parts, failed := make(chan sse.Event), make(chan error, 1)
	go func() {
		failed <- st.s.Dispatch.Follow(ctx, to, st.From, st.Path, st.At.String(), parts)
		close(failed)
	}()
	defer func() {
		cancel()
		for range failed { // until it has ended
		}
	}()
	for !st.ended {
		st.permitted()
		select {
		case part := <-parts:
			st.pass(part)
		case <-failed: // why does not matter: the record says who has the conversation
			st.pause()
			return
		case <-st.beat:
			st.comment()
		case <-st.look:
			if st.left(to) {
				return
			}
		case <-st.wake:
		case <-st.ctx.Done():
			st.ended = true
		}
	}
}

// pass writes an event of another node.
func (st *streamer) pass(part sse.Event) {
	if part.Name == wire.StreamClosed || part.Name == "" && part.Data == nil && part.ID == st.At.String() {
		return // that node ends, and this one does not; or nothing is new
	}
	st.write(func() error { return part.Write(st.w) })
	if at, err := runtime.ParsePosition(part.ID); err == nil {
		st.At = at
	}
	if part.Name == "" && st.Turn != "" && bytes.Contains(part.Data, []byte(event.TurnEnd)) {
		var ev struct {
			Kind hook.EventKind `json:"kind"`
			Turn string         `json:"turn"`
		}
		st.ended = st.ended || json.Unmarshal(part.Data, &ev) == nil && ev.Kind == event.TurnEnd && ev.Turn == st.Turn
	}
}

// retryPause is the time between two attempts to read from a node.
const retryPause = 100 * time.Millisecond

// pause waits before the next look at who has the conversation.
func (st *streamer) pause() {
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-st.ctx.Done():
		st.ended = true
	}
}

// left reports whether another node than that one has taken the conversation, or this daemon ends. The node itself ends its stream when it
// has only given the conversation back.
func (st *streamer) left(to store.Node) bool {
	if st.s.Closing() {
		st.name(wire.StreamClosed, `{}`)
		st.ended = true
		return true
	}
	rec, err := st.s.Find(st.ctx, st.Conversation)
	return err == nil && rec.Lease.Owner != to.ID
}

// runs reports whether a turn of the conversation runs in this process.
func (st *streamer) runs() bool {
	return slices.ContainsFunc(st.s.Runtime.Running(), func(t *runtime.Turn) bool {
		return t.Conversation().ID() == st.Conversation && t.ID() != "" && !t.Ending()
	})
}

// holds reports whether this node has the lease of the conversation.
func (st *streamer) holds(rec store.Record) bool {
	return !rec.Lease.Until.IsZero() && rec.Lease.Owner == st.s.Members.Self().ID
}

// subscribe returns a reader of events that the monitor counts until leave is called.
func (s *Streams) subscribe(conversation string, at runtime.Position) (_ *runtime.Reader, _ *monitor.Stream, leave func()) {
	r, counted := s.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: conversation, After: &at}), s.Monitor.Stream()
	return r, counted, func() {
		counted.Close()
		r.Close()
	}
}

// note tells the monitor what the client gets next. It has taken what was read before.
func note(counted *monitor.Stream, items []runtime.Item, all bool) {
	if all {
		counted.Has()
		return
	}
	counted.Behind()
	for _, item := range items {
		counted.Missed(item.Missed)
	}
}
