package api

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// listedJobs is how many jobs a list has at most.
const listedJobs = 1000

// JobOf is the job as clients see it. A list leaves out the payload.
func JobOf(j store.Job) wire.Job {
	return wire.Job{
		ID: j.ID, Kind: j.Kind, Key: j.Key, Version: j.Version, Payload: j.Payload, Conversation: j.Conversation, Turn: j.Turn, Status: string(j.Status),
		Attempts: j.Attempts, Due: j.Due.UTC(), Owner: j.Owner, Failure: j.Failure, Created: j.Created.UTC(), Updated: j.Updated.UTC(),
	}
}

func (s *Server) listJobs(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f := store.JobFilter{Kind: q.Get("kind"), Conversation: q.Get("conversation"), Limit: 100}
	if status := store.JobStatus(q.Get("status")); status != "" {
		known := []store.JobStatus{store.JobQueued, store.JobRunning, store.JobSucceeded, store.JobFailed, store.JobCancelled}
		if !slices.Contains(known, status) {
			return invalid("status is %.20q; write queued, running, succeeded, failed or cancelled", status)
		}
		f.Statuses = []store.JobStatus{status}
	}
	before := 0
	if err := errors.Join(numberIn(q, "limit", &f.Limit), numberIn(q, "before", &before)); err != nil {
		return err
	}
	f.Before, f.Limit = int64(before), min(f.Limit, listedJobs)
	all, err := s.o.Runtime.Jobs(r.Context(), f)
	if err != nil {
		return err
	}
	out := wire.Jobs{Jobs: make([]wire.Job, len(all))}
	for i, j := range all {
		out.Jobs[i] = JobOf(j)
		out.Jobs[i].Payload = ""
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) showJob(w http.ResponseWriter, r *http.Request) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	found, err := s.o.Runtime.Jobs(r.Context(), store.JobFilter{ID: id})
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return noJob(r)
	}
	writeJSON(w, http.StatusOK, JobOf(found[0]))
	return nil
}

func (s *Server) changeJob(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.JobChange](w, r)
	if err != nil {
		return err
	}
	change := store.JobChange(in.Change)
	if change.From() == nil {
		return invalid("change is %.20q; write cancel, retry or drop", in.Change)
	}
	id, err := jobID(r)
	if err != nil {
		return err
	}
	j, err := s.o.Runtime.ChangeJob(r.Context(), id, change)
	var state *store.JobStateError
	switch {
	case errors.As(err, &state):
		return &failure{http.StatusConflict, wire.CodeIdle, state.Error()}
	case errors.Is(err, store.ErrUnknown):
		return noJob(r)
	case err != nil:
		return err
	}
	writeJSON(w, http.StatusOK, JobOf(j))
	return nil
}

func jobID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("job"), 10, 64)
	if err != nil || id < 1 {
		return 0, noJob(r)
	}
	return id, nil
}

func noJob(r *http.Request) error {
	return notFound("there is no job %.20q in this project; GET /v1/jobs lists them", r.PathValue("job"))
}
