package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/oklog/ulid/v2"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api/internal/waiting"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// conversationOf describes the conversation. turns are the running turns, and open what turns wait for.
func (s *Server) conversationOf(rec store.Record, turns map[string]*runtime.Turn, open []wire.Inquiry) wire.Conversation {
	out := wire.Conversation{
		ID: rec.ID, Agent: rec.Key.Agent, Sender: rec.Key.Sender, Turns: rec.Turns,
		Created: rec.Created.UTC(), Updated: rec.Updated.UTC(), LastEventID: s.lastEvent(rec).String(),
		Project: s.projectName(rec.Key.Project), Title: rec.Title,
	}
	for _, q := range open {
		if q.Conversation == rec.ID {
			out.Inquiries++
		}
	}
	t := turns[rec.ID]
	if t != nil && runs(t) {
		out.Turn = t.ID()
	}
	out.Interrupted = t == nil && s.o.Interrupted(rec)
	return out
}

// described is conversationOf for one that belongs here.
func (s *Server) described(rec store.Record) wire.Conversation {
	return s.conversationOf(rec, s.turns(), waiting.Inquiries(s.o.Runtime.Pending(), rec.ID, nil))
}

// union returns the ids of both, sorted, once each.
func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

func (s *Server) listConversations(w http.ResponseWriter, r *http.Request) error {
	all, err := everywhere(r)
	if err != nil {
		return err
	}
	recs, err := s.o.Store.List(r.Context())
	if err != nil {
		return err
	}
	slices.SortStableFunc(recs, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.Key.Project, b.Key.Project), b.Updated.Compare(a.Updated))
	})
	running, silent := gather[wire.Activity](s, r, "/v1/activity")
	others, also := gather[wire.Inquiries](s, r, "/v1/inquiries")
	elsewhere := map[string]string{} // the turns of other nodes
	for _, node := range running {
		for _, t := range node.Turns {
			elsewhere[t.Conversation] = t.ID
		}
	}
	out, turns := wire.Conversations{Conversations: []wire.Conversation{}, Unanswered: union(silent, also)}, s.turns()
	open := waiting.Inquiries(s.o.Runtime.Pending(), "", others)
	recs = slices.DeleteFunc(recs, func(rec store.Record) bool { return !s.owns(rec) && !(all && s.shows(rec)) })
	if err := s.addTitles(r.Context(), recs); err != nil {
		return err
	}
	for _, rec := range recs {
		c := s.conversationOf(rec, turns, open)
		c.Turn = cmp.Or(c.Turn, elsewhere[rec.ID])
		out.Conversations = append(out.Conversations, c)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// addTitles sets the titles of the records of a list.
func (s *Server) addTitles(ctx context.Context, recs []store.Record) error {
	from, ok := s.o.Store.(store.Titles)
	if !ok {
		for i, rec := range recs {
			found, err := s.o.Store.Find(ctx, rec.ID)
			if err != nil && !errors.Is(err, store.ErrUnknown) { // it may be gone meanwhile
				return err
			}
			recs[i].Title = found.Title
		}
		return nil
	}
	ids := make([]string, len(recs))
	for i, rec := range recs {
		ids[i] = rec.ID
	}
	titles, err := from.Titles(ctx, ids)
	for i, rec := range recs {
		recs[i].Title = titles[rec.ID]
	}
	return err
}

// find returns a conversation of this project by its id.
func (s *Server) find(ctx context.Context, id string) (store.Record, error) {
	rec, err := s.anywhere(ctx, id)
	if err == nil && !s.owns(rec) {
		return store.Record{}, s.elsewhere(rec)
	}
	return rec, err
}

// anywhere returns a conversation of any project by its id.
func (s *Server) anywhere(ctx context.Context, id string) (store.Record, error) {
	rec, err := s.o.Store.Find(ctx, id)
	hidden := err == nil && (rec.Parent != "" || !s.shows(rec) || !s.owns(rec) && !visitIn(ctx).caller.Sees(rec.Key.Project))
	if errors.Is(err, store.ErrUnknown) || hidden {
		return store.Record{}, notFound("there is no conversation %.80q; GET /v1/conversations lists them", id)
	}
	return rec, err
}

// openConversation finds or creates the conversation. Its agent must be registered.
func (s *Server) openConversation(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.NewConversation](w, r)
	if err != nil {
		return err
	}
	if in.Agent == "" {
		in.Agent = s.o.Agent
	}
	if in.Sender == "" {
		in.Sender = "api-" + ulid.Make().String()
	}
	if _, err := s.agent(r.Context(), in.Agent); err != nil {
		return err
	}
	rec, err := s.o.Store.Conversation(r.Context(), store.Key{Project: s.o.Project, Agent: in.Agent, Sender: in.Sender})
	if err != nil {
		return err
	}
	if rec.Parent != "" {
		return fmt.Errorf("%w: %s", runtime.ErrChild, rec.ID)
	}
	writeJSON(w, http.StatusOK, s.described(rec))
	return nil
}

func (s *Server) showConversation(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, s.described(rec))
	return nil
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	text, err := s.build(r.Context(), func(text *bytes.Buffer) error {
		messages, turns, err := s.kept(r.Context(), rec.ID, r.URL.Query().Has("limit"))
		if err != nil {
			return err
		}
		first, before, err := pageOf(r.URL.Query(), len(messages))
		if err != nil {
			return err
		}
		out := wire.Messages{Messages: messages[first:before], First: first, Total: len(messages)}
		if turns != nil {
			out.Turns = turns[first:before]
		}
		if out.Messages == nil {
			out.Messages = []message.Message{}
		}
		enc := json.NewEncoder(text)
		enc.SetEscapeHTML(false)
		return enc.Encode(out)
	})
	if err != nil {
		return err
	}
	return writeHeld(w, text) // the messages themselves are not held while a client takes its time
}

// kept returns the messages of a conversation, with the numbers of their turns if they are wanted and the store knows them.
func (s *Server) kept(ctx context.Context, id string, numbered bool) (messages []message.Message, turns []int, err error) {
	p, ok := s.o.Store.(store.Porter)
	if !numbered || !ok {
		messages, err = s.o.Store.Messages(ctx, id)
		return messages, nil, err
	}
	d, err := p.Dump(ctx, id)
	turns = []int{}
	for _, k := range d.Messages {
		messages, turns = append(messages, k.Message), append(turns, k.Turn)
	}
	return messages, turns, err
}
