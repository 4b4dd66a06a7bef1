package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/api/internal/streams"
	"github.com/grapnel-go/grapnel/internal/api/internal/turnlog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// The most that an answer has.
const (
	maxMessages   = 1000
	maxTurns      = 200
	maxTurnEvents = 20_000
	maxTurnBytes  = 16 << 20
)

// turnLog returns the turns of a conversation that this node has.
func (s *Server) turnLog(rec store.Record) turnlog.Log {
	return turnlog.Log{Runtime: s.o.Runtime, Conversation: rec.ID, End: s.lastEvent(rec)}
}

// listTurns lists turns, the newest first.
func (s *Server) listTurns(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, before := 50, q.Get("before")
	if err := numberIn(q, "limit", &limit); err != nil {
		return err
	}
	if limit < 1 || limit > maxTurns {
		return invalid("limit is %d; write a number from 1 to %d", limit, maxTurns)
	}
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	out, skip := wire.RanTurns{Turns: []wire.RanTurn{}}, before != ""
	for t, err := range s.turnLog(rec).Turns(r.Context()) {
		switch {
		case err != nil:
			return err
		case skip:
			skip = t.ID != before
		default:
			out.Turns = append(out.Turns, t.RanTurn)
		}
		if len(out.Turns) == limit {
			break
		}
	}
	if skip {
		return invalid("before is %.80q, and there is no such turn of the conversation; write the id of one that this list has had", before)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// pastTurn returns the turn of the path's id.
func (s *Server) pastTurn(r *http.Request) (log turnlog.Log, t turnlog.Turn, err error) {
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return log, t, err
	}
	log = s.turnLog(rec)
	t, found, err := log.Find(r.Context(), r.PathValue("turn"))
	if err == nil && !found {
		err = notFound("the conversation has no turn %.80q, or its events are not kept any more; GET /v1/conversations/%s/turns lists them",
			r.PathValue("turn"), url.PathEscape(rec.ID))
	}
	return log, t, err
}

// showTurn answers with a turn and its events. What is longer than an answer may be is left out.
func (s *Server) showTurn(w http.ResponseWriter, r *http.Request) error {
	view, err := streams.ViewOf(r.URL.Query())
	if err != nil {
		return invalid("%v", err)
	}
	log, t, err := s.pastTurn(r)
	if err != nil {
		return err
	}
	text, err := s.build(r.Context(), func(text *bytes.Buffer) error { return writeTurn(r.Context(), text, log, t, view) })
	if err != nil {
		return err
	}
	return writeHeld(w, text)
}

// writeTurn writes a turn with the events that the view shows.
func writeTurn(ctx context.Context, text *bytes.Buffer, log turnlog.Log, t turnlog.Turn, view streams.View) error {
	head, err := json.Marshal(t.RanTurn)
	if err != nil {
		return err
	}
	fmt.Fprintf(text, `{"turn":%s,"events":[`, head)
	n, more := 0, false
	err = log.Events(ctx, t, func(item runtime.Item) bool {
		data, shown := view.Shows(item)
		if !shown {
			return true
		}
		if more = n == maxTurnEvents || text.Len()+len(data) > maxTurnBytes; more {
			return false
		}
		if n++; n > 1 {
			text.WriteByte(',')
		}
		text.Write(data)
		return true
	})
	if err != nil {
		return err
	}
	text.WriteByte(']')
	if more {
		text.WriteString(`,"more":true`)
	}
	text.WriteString("}\n")
	return nil
}

// writeHeld writes a long answer of JSON, which counts for all bodies while the client takes its time.
func writeHeld(w http.ResponseWriter, text *bytes.Buffer) error {
	done, err := hold(w, text.Len())
	if err != nil {
		return err
	}
	defer done()
	w.Header().Set("Content-Type", "application/json")
	_, _ = text.WriteTo(w) // if that fails, the client has gone
	return nil
}

// explainCall says who decided about a call.
func (s *Server) explainCall(w http.ResponseWriter, r *http.Request) error {
	log, t, err := s.pastTurn(r)
	if err != nil {
		return err
	}
	id := r.PathValue("call")
	events, others, err := log.Call(r.Context(), t, r.PathValue("turn"), id)
	if err != nil {
		return err
	}
	if len(events) == 0 || s.o.Explain == nil {
		return notFound("the turn %s has no call %.80q; GET /v1/conversations/%s/turns/%s has its events", t.ID, id, url.PathEscape(t.Conversation), url.PathEscape(t.ID))
	}
	out := s.o.Explain(events)
	out.Others = others
	writeJSON(w, http.StatusOK, out)
	return nil
}

// pageOf returns which messages of so many a client wants: from first up to before.
func pageOf(q url.Values, total int) (first, before int, err error) {
	before, limit := total, maxMessages
	if err := numberIn(q, "before", &before); err != nil {
		return 0, 0, err
	}
	if err := numberIn(q, "limit", &limit); err != nil {
		return 0, 0, err
	}
	if limit < 1 || limit > maxMessages {
		return 0, 0, invalid("limit is %d; write a number from 1 to %d", limit, maxMessages)
	}
	before = min(before, total)
	if q.Get("limit") == "" {
		limit = total
	}
	return max(0, before-limit), before, nil
}
