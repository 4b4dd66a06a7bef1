package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// followed is what a stream shows.
type followed struct {
	// conversation is followed from behind at; "" is all conversations.
	conversation string
	at           runtime.Position
	// turn ends the stream; "" is none. over is closed when it has ended; nil if another node runs it.
	turn string
	over <-chan struct{}
}

// streamer writes one stream.
type streamer struct {
	followed
	s    *Server
	w    http.ResponseWriter
	r    *http.Request
	view shown
	// beat and look tick: a comment is due, or a look at the record of the conversation. wake asks for such a look at once.
	beat, look <-chan time.Time
	wake       <-chan struct{}
	// looked is when it was checked last that the client may still read.
	looked time.Time
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

// stream writes server-sent events until the client goes, the turn or the daemon ends, or
// the client reads nothing for too long. Its end affects nothing else.
//
// With nodes, the events come from the node that has the conversation, with what is not stored, and from the store while none
// has it. The client does not notice where they come from.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, f followed) error {
	view, err := shownTo(r)
	if err != nil {
		return err
	}
	if err := drain(w, r); err != nil {
		return err
	}
	beat := time.NewTicker(s.o.Heartbeat)
	defer beat.Stop()
	st := &streamer{followed: f, s: s, w: w, r: r, view: view, beat: beat.C, looked: time.Now()}
	if s.o.Nodes != nil && f.conversation != "" {
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		wake, leave := s.o.Nodes.Wakes.Of(f.conversation)
		defer leave()
		st.look, st.wake = look.C, wake
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	st.write(func() error { return sse.Event{ID: f.at.String()}.Write(w) })
	for !st.ended {
		if to, elsewhere := st.elsewhere(); elsewhere {
			st.relay(to)
		} else {
			st.local()
		}
	}
	return nil
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
	if time.Since(st.looked) >= st.s.o.Heartbeat {
		st.looked = time.Now()
		st.ended = st.ended || !stays(st.r)
	}
}

// local writes the events that this process emits, and those that others have stored, until another node has the conversation.
func (st *streamer) local() {
	from, counted, leave := st.s.subscribe(st.conversation, st.at)
	defer leave()
	for !st.ended {
		if st.permitted(); st.ended {
			return
		}
		p, err := from.Read(st.r.Context())
		note(counted, p.Items, p.More != nil)
		if err != nil {
			st.ended = true // the client resumes, and gets an error if the store cannot be read
			return
		}
		if p.More == nil {
			over := false
			st.write(func() (err error) { over, err = writeItems(st.w, p.Items, st.turn, st.view); return err })
			st.at, st.ended = p.Items[len(p.Items)-1].At, st.ended || over
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
		case <-st.over:
			st.over, st.last = nil, st.look == nil || visitOf(st.r).node // otherwise another node may go on with it
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
		case <-st.r.Context().Done():
			st.ended = true
		}
	}
}

// elsewhere returns the other node that has the conversation; false if none has, and for a request of another node.
func (st *streamer) elsewhere() (store.Node, bool) {
	if st.look == nil || visitOf(st.r).node {
		return store.Node{}, false
	}
	rec, err := st.s.o.Store.Find(st.r.Context(), st.conversation)
	if err != nil {
		return store.Node{}, false
	}
	st.s.o.Runtime.Wake(rec.ID, rec.Lease.Epoch)
	return st.s.o.Nodes.Members.Holder(st.r.Context(), rec)
}

// moved looks at the record while this process is the source. It reports whether another node has the conversation. It wakes the
// reader if another process has stored events, notices that a turn of another node has ended, and tells what a turn waits for.
func (st *streamer) moved() bool {
	if st.s.turnOf(st.conversation) != nil {
		return false
	}
	rec, err := st.s.o.Store.Find(st.r.Context(), st.conversation)
	if err != nil {
		return false // the store will say so to the reader
	}
	if visitOf(st.r).node {
		st.last = !st.s.holds(rec)
		return false
	}
	if _, elsewhere := st.s.o.Nodes.Members.Holder(st.r.Context(), rec); elsewhere {
		return true
	}
	st.s.o.Runtime.Wake(rec.ID, rec.Lease.Epoch)
	if st.idle++; rec.Journaled || !rec.Lease.Until.IsZero() {
		st.idle = 0
	}
	// The event of a turn's end is stored behind its messages: the second look finds it.
	st.last = st.turn != "" && st.over == nil && st.idle >= 2
	st.wait(rec)
	return false
}

// wait tells the client which project an interrupted turn waits for, once.
func (st *streamer) wait(rec store.Record) {
	project := ""
	if rec.Journaled && rec.Lease.Until.IsZero() && st.s.o.Nodes.Members.Place(rec).Nowhere() {
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
	ctx, cancel := context.WithCancel(st.r.Context())
	parts, failed := make(chan sse.Event), make(chan error, 1)
	go func() {
		failed <- st.s.o.Nodes.dispatch.Follow(ctx, to, from(st.r), pathOf(eventsOf(st.conversation), st.r.URL.Query()), st.at.String(), parts)
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
		case <-st.r.Context().Done():
			st.ended = true
		}
	}
}

// pass writes an event of another node.
func (st *streamer) pass(part sse.Event) {
	if part.Name == wire.StreamClosed || part.Name == "" && part.Data == nil && part.ID == st.at.String() {
		return // that node ends, and this one does not; or nothing is new
	}
	st.write(func() error { return part.Write(st.w) })
	if at, err := runtime.ParsePosition(part.ID); err == nil {
		st.at = at
	}
	if part.Name == "" && st.turn != "" && bytes.Contains(part.Data, []byte(event.TurnEnd)) {
		var ev struct {
			Kind hook.EventKind `json:"kind"`
			Turn string         `json:"turn"`
		}
		st.ended = st.ended || json.Unmarshal(part.Data, &ev) == nil && ev.Kind == event.TurnEnd && ev.Turn == st.turn
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
	case <-st.r.Context().Done():
		st.ended = true
	}
}

// left reports whether another node than that one has taken the conversation, or this daemon ends. The node itself ends its stream when it
// has only given the conversation back.
func (st *streamer) left(to store.Node) bool {
	if st.s.isClosing() {
		st.name(wire.StreamClosed, `{}`)
		st.ended = true
		return true
	}
	rec, err := st.s.o.Store.Find(st.r.Context(), st.conversation)
	return err == nil && rec.Lease.Owner != to.ID
}
