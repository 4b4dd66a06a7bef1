package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/undo"
	"github.com/grapnel-go/grapnel/runtime"
)

// undo takes back what turns of the conversation changed in the project. The agent need not be registered.
func (s *Server) undo(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.NewUndo](w, r)
	if err != nil {
		return err
	}
	if in.Turns < 0 || in.Redo && in.Turns > 0 {
		return invalid("turns is %d; write how many of the last turns to undo, 1 or more, and leave it out with redo", in.Turns)
	}
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if s.o.Undo == nil {
		return fmt.Errorf("%w: undo", runtime.ErrUnsupported)
	}
	if s.turnOf(rec.ID) != nil {
		return runtime.ErrBusy
	}
	out, err := s.o.Undo(r.Context(), rec.ID, undo.Request{Turns: in.Turns, Redo: in.Redo, Dry: in.DryRun, Latest: in.Latest})
	switch {
	case errors.Is(err, undo.ErrRunning):
		return &failure{http.StatusConflict, wire.CodeBusy, err.Error()}
	case errors.Is(err, undo.ErrNothing), errors.Is(err, undo.ErrKept), errors.Is(err, undo.ErrMoved):
		return &failure{http.StatusConflict, wire.CodeIdle, err.Error()}
	case err != nil:
		return err
	}
	writeJSON(w, http.StatusOK, undone(out))
	return nil
}

func undone(out undo.Outcome) wire.Undone {
	u := wire.Undone{Unended: out.Unended, Turns: []wire.UndoneTurn{}, Restored: []string{}, Removed: []string{}, Conflicts: []wire.NotUndone{}, Lost: []wire.NotUndone{}}
	for _, t := range out.Turns {
		u.Turns = append(u.Turns, wire.UndoneTurn{ID: t.ID, Number: t.Number})
	}
	for _, p := range out.Restored {
		u.Restored = append(u.Restored, undo.Shown(p))
	}
	for _, p := range out.Removed {
		u.Removed = append(u.Removed, undo.Shown(p))
	}
	for _, c := range out.Conflicts {
		u.Conflicts = append(u.Conflicts, wire.NotUndone{Path: undo.Shown(c.Path), Why: c.Why})
	}
	for _, l := range out.Lost {
		u.Lost = append(u.Lost, wire.NotUndone{Path: undo.Shown(l.Path), Why: l.Why})
	}
	return u
}
