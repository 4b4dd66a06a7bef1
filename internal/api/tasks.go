package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// tasksState is the name of the state with the plan and the tasks of a conversation. The members
// of its JSON are those of wire.Tasks.
const tasksState = "tasks.list"

// tasks shows the stored plan and tasks. A change of the running turn is stored with its step.
func (s *Server) tasks(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	states, ok := s.o.Store.(store.States)
	if !ok {
		return fmt.Errorf("%w: states of conversations", runtime.ErrUnsupported)
	}
	values, err := states.States(r.Context(), rec.ID)
	i := slices.IndexFunc(values, func(v hook.StateValue) bool { return v.Name == tasksState })
	if i < 0 && err != nil { // otherwise only others are damaged
		return err
	}
	var out wire.Tasks
	if i >= 0 {
		if err := json.Unmarshal([]byte(values[i].Data), &out); err != nil {
			return fmt.Errorf("tasks of %s: %w", rec.ID, err)
		}
	}
	if out.Todos == nil {
		out.Todos = []wire.Task{}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
