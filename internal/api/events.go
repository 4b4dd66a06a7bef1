package api

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/store"

	"github.com/grapnel-go/grapnel/runtime"
)

func (s *Server) conversationEvents(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if s.o.Nodes != nil { // the store has the events of all projects
		rec, err = s.anywhere(r.Context(), r.PathValue("id"))
	}
	if err != nil {
		return err
	}
	if visitOf(r).node && !s.holds(rec) {
		return internode.ErrMisdirected
	}
	return s.follow(w, r, rec.ID, s.lastEvent(rec))
}

func (s *Server) allEvents(w http.ResponseWriter, r *http.Request) error {
	at, _ := s.o.Runtime.LastEvent("")
	return s.follow(w, r, "", at)
}

// lastEvent returns the position of the newest event of the conversation.
func (s *Server) lastEvent(rec store.Record) runtime.Position {
	if at, ok := s.o.Runtime.LastEvent(rec.ID); ok && at.Epoch >= rec.Lease.Epoch {
		return at
	}
	return runtime.Position{Epoch: rec.Lease.Epoch, Seq: rec.Events}
}

// follow streams the events after the client's Last-Event-ID, or after at.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, conversation string, at runtime.Position) error {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		id, err := runtime.ParsePosition(last)
		if err != nil {
			return invalid("Last-Event-ID: %v", err)
		}
		at = id
	}
	return s.stream(w, r, followed{conversation: conversation, at: at})
}

// hookLevel returns the least visibility of the hook runs that the client wants; the default
// is those for users.
func hookLevel(r *http.Request) (hook.Visibility, error) {
	name := r.URL.Query().Get("hooks")
	if name == "" {
		return event.VisibleUser, nil
	}
	level, err := event.ParseVisibility(name)
	if err != nil {
		return "", invalid("hooks: %v", err)
	}
	return level, nil
}

// shown says what of the events a client gets.
type shown struct {
	// level is the least visibility of hook runs.
	level hook.Visibility
	// whole: nothing is cut out of large events.
	whole bool
}

// shownTo returns what the client wants to get.
func shownTo(r *http.Request) (v shown, err error) {
	if v.level, err = hookLevel(r); err != nil {
		return v, err
	}
	switch text := r.URL.Query().Get("payload"); text {
	case "", "cut":
	case "whole":
		v.whole = true
	default:
		return v, invalid("payload is %.40q; write cut or whole", text)
	}
	return v, nil
}

// maxPayload is how many bytes of its text, its arguments and its result an event has in a stream,
// unless its reader wants the whole.
const maxPayload = 2048

// dataOf returns the event as the stream has it. What was cut is read at the path in its member full.
func (v shown) dataOf(item runtime.Item) []byte {
	ev := item.Event()
	if v.whole || ev.Conversation == "" || ev.Ephemeral || ev.Seq == 0 {
		return item.JSON()
	}
	data, omitted := item.Cut(maxPayload)
	if omitted == 0 {
		return data
	}
	at := runtime.Position{Epoch: ev.Epoch, Seq: ev.Seq}
	full := strconv.Quote("/v1/conversations/" + url.PathEscape(ev.Conversation) + "/events/" + at.String())
	return append(append(slices.Clone(data[:len(data)-1]), `,"full":`...), full+"}"...)
}

// event answers with one whole event.
func (s *Server) event(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	at, err := runtime.ParsePosition(r.PathValue("event"))
	if err != nil || at.Seq == 0 {
		return invalid("the event: %v", cmp.Or(err, errors.New("events count from 1")))
	}
	from := s.o.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: rec.ID, After: &runtime.Position{Epoch: at.Epoch, Seq: at.Seq - 1}})
	defer from.Close()
	p, err := from.Read(r.Context())
	if err != nil {
		return err
	}
	for _, item := range p.Items {
		if ev := item.Event(); ev.Epoch == at.Epoch && ev.Seq == at.Seq && item.JSON() != nil {
			w.Header().Set("Content-Type", "application/json")
			_, err := w.Write(item.JSON())
			return err
		}
	}
	return notFound("there is no event %s of this conversation, or it is not kept any more", at)
}

// writeItems writes a page. It returns ended if the page has the end of the turn. It cuts large events, and
// leaves out hook runs that are less visible than the view says. If such a run is the last item, it writes
// the id alone, so that the client knows how far the stream is.
func writeItems(w io.Writer, items []runtime.Item, turn string, view shown) (ended bool, err error) {
	for i, item := range items {
		part := sse.Event{ID: item.At.String()}
		switch {
		case hidden(item, view.level):
			if i < len(items)-1 {
				continue
			}
		case item.Restarted:
			part.Name, part.Data = wire.StreamRestarted, keptData(item, "{")
		case item.Missed > 0:
			part.Name, part.Data = wire.StreamLagged, keptData(item, `{"missed":`+strconv.FormatUint(item.Missed, 10)+",")
		default:
			part.Data = view.dataOf(item)
		}
		if err := part.Write(w); err != nil {
			return false, err
		}
		if ev := item.Event(); turn != "" && part.Name == "" && ev.Kind == event.TurnEnd && ev.Turn == turn {
			return true, nil
		}
	}
	return false, nil
}

// hidden reports whether the item is a hook run that is less visible than level.
func hidden(item runtime.Item, level hook.Visibility) bool {
	run, ok := item.Event().Run()
	return ok && !run.Visibility.Reaches(level)
}

func keptData(item runtime.Item, begin string) []byte {
	return []byte(begin + `"kept":` + strconv.FormatBool(item.Kept) + "}")
}
