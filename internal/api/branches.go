package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/jsonl"
)

const (
	// jsonLines is the media type of an exported conversation.
	jsonLines = "application/jsonl"
	// maxImport bounds an imported conversation in bytes.
	maxImport = 256 << 20
)

// conversation returns the conversation of the path's id. Its agent must be registered.
func (s *Server) conversation(r *http.Request) (*runtime.Conversation, error) {
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	agent, err := s.o.Runtime.Agent(rec.Key.Agent)
	if errors.Is(err, runtime.ErrAgentUnknown) {
		return nil, errAgentGone(rec.Key.Agent)
	}
	if err != nil {
		return nil, err
	}
	return agent.Conversation(r.Context(), rec.Key.Sender)
}

// show writes the conversation as it is now.
func (s *Server) show(ctx context.Context, w http.ResponseWriter, id string) error {
	rec, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, s.described(rec))
	return nil
}

func (s *Server) fork(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.NewFork](w, r)
	if err != nil {
		return err
	}
	if in.Turns < 0 {
		return invalid("turns is %d; write how many of the first turns the new conversation keeps, 0 or more", in.Turns)
	}
	if in.Sender == "" {
		in.Sender = "fork-" + ulid.Make().String()
	}
	conv, err := s.conversation(r)
	if err != nil {
		return err
	}
	made, err := conv.Fork(r.Context(), in.Turns, in.Sender)
	if err != nil {
		return err
	}
	return s.show(r.Context(), w, made.ID())
}

func (s *Server) rewind(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.Rewind](w, r)
	if err != nil {
		return err
	}
	if in.Turns < 0 {
		return invalid("turns is %d; write how many of the first turns stay, 0 or more", in.Turns)
	}
	conv, err := s.conversation(r)
	if err != nil {
		return err
	}
	if rec, err := s.find(r.Context(), conv.ID()); err != nil {
		return err
	} else if in.Of != 0 && rec.Turns != in.Of {
		return &failure{http.StatusConflict, wire.CodeIdle, fmt.Sprintf("the number of turns is %d by now, and not %d, so nothing was removed; look at the conversation again", rec.Turns, in.Of)}
	}
	if err := conv.Rewind(r.Context(), in.Turns); err != nil {
		return err
	}
	return s.show(r.Context(), w, conv.ID())
}

func (s *Server) compact(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.NewCompaction](w, r)
	if err != nil {
		return err
	}
	if in.Keep < 0 {
		return invalid("keep is %d; write how many of the last turns stay as they are, or leave it out for the default", in.Keep)
	}
	conv, err := s.conversation(r)
	if err != nil {
		return err
	}
	admitted, err := s.admit(r.Context(), conv.ID())
	if err != nil {
		return err
	}
	defer admitted()
	made, err := conv.Compact(r.Context(), &runtime.CompactOptions{Keep: in.Keep, Focus: in.Focus})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Compaction(made))
	return nil
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	all, err := everywhere(r)
	if err != nil {
		return err
	}
	query := store.Query{Text: q.Get("q"), AllProjects: all, Agent: q.Get("agent"), Sender: q.Get("sender")}
	if strings.TrimSpace(query.Text) == "" {
		return invalid("q is empty; write the words to search for")
	}
	for _, number := range []struct {
		name string
		to   *int
	}{{"limit", &query.Limit}, {"before", &query.Before}, {"after", &query.After}} {
		if err := numberIn(q, number.name, number.to); err != nil {
			return err
		}
	}
	found, err := s.o.Runtime.Search(r.Context(), query)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(m store.Match) bool { return !s.shows(m.Record) })
	out := wire.Matches{Matches: make([]wire.Match, len(found))}
	for i, m := range found {
		out.Matches[i] = wire.Match{
			Conversation: m.Record.ID, Agent: m.Record.Key.Agent, Sender: m.Record.Key.Sender, Updated: m.Record.Updated.UTC(),
			Message: m.Message, Archived: m.Archived, Summary: m.Summary, Role: m.Role, Snippet: m.Snippet, Project: s.projectName(m.Record.Key.Project),
		}
		for _, l := range m.Around {
			out.Matches[i].Around = append(out.Matches[i].Around, wire.Line(l))
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// numberIn parses an optional parameter.
func numberIn(q url.Values, name string, to *int) error {
	text := q.Get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return invalid("%s is %.20q; write a number, 0 or more", name, text)
	}
	*to = n
	return nil
}

func (s *Server) porter() (store.Porter, error) {
	p, ok := s.o.Store.(store.Porter)
	if !ok {
		return nil, fmt.Errorf("%w: moving conversations", runtime.ErrUnsupported)
	}
	return p, nil
}

func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	p, err := s.porter()
	if err != nil {
		return err
	}
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	text, err := s.build(r.Context(), func(text *bytes.Buffer) error { return jsonl.Export(r.Context(), p, rec.ID, text) })
	if err != nil { // it comes before the first byte of the response
		return err
	}
	done, err := hold(w, text.Len())
	if err != nil {
		return err
	}
	defer done()
	w.Header().Set("Content-Type", jsonLines)
	_, _ = text.WriteTo(w) // if that fails, the client has gone
	return nil
}

func (s *Server) restore(w http.ResponseWriter, r *http.Request) error {
	p, err := s.porter()
	if err != nil {
		return err
	}
	if r.Header.Get("Content-Type") != jsonLines {
		return &failure{http.StatusUnsupportedMediaType, wire.CodeMedia, "the body must be an exported conversation; send it with Content-Type: " + jsonLines}
	}
	d, err := jsonl.Read(bounded(w, r, maxImport))
	if err := bodyFailure(w, err, maxImport); err != nil {
		return err
	}
	if err != nil {
		return invalid("the conversation cannot be read: %v", err)
	}
	q := r.URL.Query()
	d.Key.Project = s.o.Project
	if agent := q.Get("agent"); agent != "" {
		d.Key.Agent = agent
	}
	if sender := q.Get("sender"); sender != "" {
		d.Key.Sender = sender
	}
	rec, err := p.Restore(r.Context(), d)
	if errors.Is(err, store.ErrExists) {
		return errSenderTaken(d.Key.Agent, d.Key.Sender)
	}
	if errors.Is(err, store.ErrKey) {
		return invalid("%v, or import it under another agent or sender", err)
	}
	if err != nil {
		return err
	}
	return s.show(r.Context(), w, rec.ID)
}
