package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api/wire"
)

// reader is one client's position in a ring.
type reader struct {
	ring *ring
	at   wire.EventID
	// turn ends the stream with the end of a turn; nil goes on.
	turn *turn
}

func (s *Server) conversationEvents(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	s.mu.Lock()
	_, known := s.keys[id]
	s.mu.Unlock()
	if !known {
		if _, err := s.find(r.Context(), id); err != nil {
			return err
		}
	}
	return s.follow(w, r, s.hub.ring(id))
}

func (s *Server) allEvents(w http.ResponseWriter, r *http.Request) error {
	return s.follow(w, r, s.hub.all)
}

// follow streams a ring from where the client was, or from now on.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, from *ring) error {
	at := from.end()
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		id, err := wire.ParseEventID(last)
		if err != nil {
			return invalid("Last-Event-ID: %v", err)
		}
		at = id
	}
	return s.stream(w, r, &reader{ring: from, at: at})
}

// stream writes server-sent events until the client goes, the turn or the daemon
// ends, or the client takes nothing for too long. What happens to the stream
// happens to nothing else.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, from *reader) error {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	write := func(data []byte) bool {
		_ = out.SetWriteDeadline(time.Now().Add(s.o.Stall)) // what has no deadline cannot stall
		_, err := w.Write(data)
		return err == nil && out.Flush() == nil
	}
	if !write(wire.AppendPart(nil, wire.Part{ID: from.at.String()})) {
		return nil
	}
	beat := time.NewTicker(s.o.Heartbeat)
	defer beat.Stop()
	last := false // the turn is over, and what can still be read is the end
	for {
		p := from.ring.read(&from.at)
		switch {
		case p.more == nil:
			if data, ended := from.append(nil, p); !write(data) || ended {
				return nil
			}
			continue
		case p.closed:
			write(wire.AppendPart(nil, wire.Part{Name: wire.StreamClosed, Data: []byte(`{}`)}))
			return nil
		case last:
			return nil
		}
		select {
		case <-p.more:
		case <-from.over():
			last = true
		case <-beat.C:
			if !write([]byte(":\n\n")) {
				return nil
			}
		case <-r.Context().Done():
			return nil
		}
	}
}

// over is closed when the reader's turn is done, and nothing of it comes any more.
func (from *reader) over() <-chan struct{} {
	if from.turn == nil {
		return nil
	}
	return from.turn.done
}

// append writes a page; ended says that the end of the reader's turn is in it.
func (from *reader) append(buf []byte, p page) (data []byte, ended bool) {
	id := from.at
	id.Seq -= uint64(len(p.entries))
	if p.restarted {
		buf = wire.AppendPart(buf, wire.Part{ID: wire.EventID{Epoch: id.Epoch}.String(), Name: wire.StreamRestarted, Data: []byte(`{}`)})
	}
	if p.missed > 0 {
		buf = wire.AppendPart(buf, wire.Part{ID: id.String(), Name: wire.StreamLagged, Data: fmt.Appendf(nil, `{"missed":%d}`, p.missed)})
	}
	for _, e := range p.entries {
		id.Seq++
		buf = wire.AppendPart(buf, wire.Part{ID: id.String(), Data: e.data})
		if from.turn != nil && from.ends(e) {
			return buf, true
		}
	}
	return buf, false
}

func (from *reader) ends(e entry) bool { return e.kind == hook.EventTurnEnd && e.turn == from.turn.id }
