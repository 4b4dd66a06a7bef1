package api

import (
	"context"
	"net/http"

	"github.com/grapnel-go/grapnel/client/wire"
)

// Schedules are those of the project. It is safe for concurrent use. The error is that of [NotFound] for a name that no schedule has.
type Schedules interface {
	// List returns them by name, without their runs.
	List(ctx context.Context) ([]wire.Schedule, error)
	// Find returns one with its runs, the newest first.
	Find(ctx context.Context, name string) (wire.Schedule, error)
	// Remove removes one and what is known of its runs.
	Remove(ctx context.Context, name string) error
}

func (s *Server) listSchedules(w http.ResponseWriter, r *http.Request) error {
	out := wire.Schedules{Schedules: []wire.Schedule{}}
	if s.o.Schedules != nil {
		all, err := s.o.Schedules.List(r.Context())
		if err != nil {
			return err
		}
		for _, one := range all {
			out.Schedules = append(out.Schedules, s.maskedSchedule(one))
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) showSchedule(w http.ResponseWriter, r *http.Request) error {
	if s.o.Schedules == nil {
		return noSchedules()
	}
	one, err := s.o.Schedules.Find(r.Context(), r.PathValue("schedule"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, s.maskedSchedule(one))
	return nil
}

func (s *Server) removeSchedule(w http.ResponseWriter, r *http.Request) error {
	if s.o.Schedules == nil {
		return noSchedules()
	}
	if err := s.o.Schedules.Remove(r.Context(), r.PathValue("schedule")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) maskedSchedule(one wire.Schedule) wire.Schedule {
	one.Prompt = s.o.Mask(one.Prompt)
	if one.Last != nil {
		last := *one.Last
		last.Note = s.o.Mask(last.Note)
		one.Last = &last
	}
	runs := make([]wire.ScheduleRun, len(one.Runs))
	for i, run := range one.Runs {
		run.Note = s.o.Mask(run.Note)
		runs[i] = run
	}
	one.Runs = runs
	return one
}

func noSchedules() error { return notFound("this daemon runs no schedules") }
