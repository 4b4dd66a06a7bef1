package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/job"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// JobOptions say which queued jobs a runtime does, and how.
type JobOptions = job.Options

// JobRun is one attempt at a job, as the handler of its kind gets it.
type JobRun = job.Run

// JobGiveUp is an error of a handler that no further attempt would mend.
type JobGiveUp = job.GiveUp

// Enqueue implements hook.Host.
func (h *host) Enqueue(ctx context.Context, j hook.Job) error {
	if j.Kind == KindBackground {
		return fmt.Errorf("runtime: Enqueue: jobs of the kind %s are the runtime's; use another kind", j.Kind)
	}
	if loop.Abandoned(ctx) {
		return hook.ErrNoTurn
	}
	s, err := h.rt.jobStore()
	if err != nil {
		return err
	}
	turn := h.turnOf(ctx)
	queued, err := s.Enqueue(ctx, store.Job{Job: j, Project: h.rt.o.Project, Conversation: h.log.Conversation(), Turn: turn})
	if err != nil {
		return fmt.Errorf("queue a job: %w", err)
	}
	if queued {
		h.rt.jobs.Wake()
	}
	return nil
}

// Jobs returns the jobs of this project that have one of the statuses, or all there
// ever were, in the order in which they were queued. ErrUnsupported if the store
// keeps none.
func (r *Runtime) Jobs(ctx context.Context, statuses ...store.JobStatus) ([]store.Job, error) {
	s, err := r.jobStore()
	if err != nil {
		return nil, err
	}
	all, err := s.Jobs(ctx, statuses...)
	return slices.DeleteFunc(all, func(j store.Job) bool { return j.Project != r.o.Project }), err
}

func (r *Runtime) jobStore() (store.Jobs, error) {
	s, ok := r.o.Store.(store.Jobs)
	if !ok {
		return nil, fmt.Errorf("%w: jobs", ErrUnsupported)
	}
	return s, nil
}

// newJobs returns what does the jobs of this process.
func (r *Runtime) newJobs() *job.Runner {
	o := r.o.Jobs
	o.Handlers = r.handlers()
	s, err := r.jobStore()
	if err != nil {
		o.Handlers = nil // and Open says so
	}
	return job.New(job.Config{
		Store: s, Project: r.o.Project, Owner: r.o.Owner, Now: r.o.Now, Gone: r.o.Gone,
		Told: func(ctx context.Context, d hook.Diagnostic) { r.host.emit(ctx, d.Event()) },
	}, o)
}

// checkJobs returns an error if jobs are to be done of a store that keeps none.
func (r *Runtime) checkJobs() error {
	if r.o.Jobs.Handlers[KindBackground] != nil {
		return fmt.Errorf("runtime: jobs of the kind %s are the runtime's; Options.Jobs.Handlers has to leave them alone", KindBackground)
	}
	if _, err := r.jobStore(); err != nil && len(r.o.Jobs.Handlers) > 0 {
		return err
	}
	return nil
}
