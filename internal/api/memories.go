package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/client/wire"
)

// Memories are what agents of the project have remembered. It is safe for concurrent use. The errors are those of [NotFound] for an id
// that is none any more, and of [Invalid] for what cannot be remembered.
type Memories interface {
	// List returns those that wait for review, the oldest first, and then the others, by owner and name.
	List(ctx context.Context) ([]wire.Memory, error)
	// Change writes a memory anew, or approves one that waits, and returns it as it is then.
	Change(ctx context.Context, id string, change wire.MemoryChange) (wire.Memory, error)
	// Forget removes a memory for good, or rejects one that waits.
	Forget(ctx context.Context, id string) error
}

// listedMemories is how many memories a list has at most.
const listedMemories = 1000

func (s *Server) listMemories(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit := 100
	if err := numberIn(q, "limit", &limit); err != nil {
		return err
	}
	limit = min(limit, listedMemories)
	var all []wire.Memory
	if s.o.Memories != nil {
		var err error
		if all, err = s.o.Memories.List(r.Context()); err != nil {
			return err
		}
	}
	out := wire.Memories{Memories: []wire.Memory{}}
	agent, text := q.Get("agent"), strings.ToLower(q.Get("q"))
	for _, m := range all {
		switch {
		case m.User && !visitOf(r).caller.Everywhere(): // of the user in all projects
			continue
		case agent != "" && m.Of != "agent "+agent:
			continue
		case !strings.Contains(strings.ToLower(m.Name), text) && !strings.Contains(strings.ToLower(m.Content), text):
			continue
		}
		if out.Total++; out.Total <= limit {
			out.Memories = append(out.Memories, s.maskedMemory(m))
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) changeMemory(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.MemoryChange](w, r)
	if err != nil {
		return err
	}
	if in.Approve == (in.Content != "") {
		return invalid("write either content, the new text of the memory, or approve: true")
	}
	if s.o.Memories == nil {
		return noMemories()
	}
	if err := s.maySee(r, r.PathValue("memory")); err != nil {
		return err
	}
	m, err := s.o.Memories.Change(r.Context(), r.PathValue("memory"), in)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, s.maskedMemory(m))
	return nil
}

func (s *Server) forgetMemory(w http.ResponseWriter, r *http.Request) error {
	if s.o.Memories == nil {
		return noMemories()
	}
	if err := s.maySee(r, r.PathValue("memory")); err != nil {
		return err
	}
	if err := s.o.Memories.Forget(r.Context(), r.PathValue("memory")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// maySee returns an error if a caller who may see some projects only means a memory of the user, which is for all of them. A memory's id
// changes with it, so it is the same one that is changed then.
func (s *Server) maySee(r *http.Request, id string) error {
	if visitOf(r).caller.Everywhere() {
		return nil
	}
	all, err := s.o.Memories.List(r.Context())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(m wire.Memory) bool { return m.ID == id })
	switch {
	case i < 0: // an id that is written in another way is not one that was listed
		return notFound("there is no memory %.80q; GET /v1/memories lists those that there are", id)
	case all[i].User:
		return forbidden("the memory is the user's in all projects, and this token is for some")
	}
	return nil
}

func (s *Server) maskedMemory(m wire.Memory) wire.Memory {
	m.Name, m.Content, m.Replaces = s.o.Mask(m.Name), s.o.Mask(m.Content), s.o.Mask(m.Replaces)
	return m
}

func noMemories() error { return notFound("this daemon has no memories") }
