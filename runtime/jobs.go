package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/job"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// JobOptions configure which queued jobs a runtime runs, and how.
type JobOptions = job.Options

// JobVersions say which jobs a handler takes.
type JobVersions = job.Versions

// JobRun is one attempt at a job, the argument of its handler.
type JobRun = job.Run

// JobEngine delivers jobs; see JobOptions.Engine. JobWork is what it delivers them to.
type JobEngine = job.Engine

// JobWork: see JobEngine.
type JobWork = job.Work

// JobGiveUp is the error of a handler for a permanent failure: the job is not retried.
type JobGiveUp = job.GiveUp

// Enqueue implements hook.Host.
func (h *host) Enqueue(ctx context.Context, j hook.Job) error {
	if j.Kind == KindBackground {
		return fmt.Errorf("runtime: Enqueue: the kind %s is reserved for the runtime; use another kind", j.Kind)
	}
	if loop.Abandoned(ctx) {
		return hook.ErrNoTurn
	}
	if h.ephemeral() {
		return fmt.Errorf("%w: a job of an ephemeral conversation, of which nothing is stored", ErrUnsupported)
	}
	if j.Version == 0 {
		j.Version = max(1, h.rt.o.Jobs.Versions[j.Kind].Version)
	}
	return h.queue(ctx, j, func() {})
}

// queue queues a job. Within a turn it waits for the turn's next write. It calls told before the job
// runs here, unless the store is known to have the job already.
func (h *host) queue(ctx context.Context, j hook.Job, told func()) error {
	s, err := h.rt.jobStore()
	if err != nil {
		return err
	}
	stored := store.Job{
		Job: j, Contract: hook.ContractVersion, Project: h.rt.o.Project, Conversation: h.log.Conversation(), Turn: h.turnOf(ctx),
	}
	if h.inTurn(ctx) != nil {
		waits, err := h.queueWithTurn(stored)
		if waits {
			told()
		}
		if waits || err != nil {
			return err
		}
	}
	queued, err := s.Enqueue(ctx, stored)
	if err != nil {
		return fmt.Errorf("queue a job: %w", err)
	}
	if queued {
		told()
		h.rt.jobsQueued([]store.Job{stored})
	}
	return nil
}

// jobChecker is implemented by stores that refuse some jobs for their contents.
type jobChecker interface {
	CheckJobs(jobs []store.Job) error
}

// queueWithTurn lets the job wait for the next write of the running turn. It checks the job first,
// because the write fails whole if the store refuses the job. False: no write follows.
func (h *host) queueWithTurn(j store.Job) (waits bool, err error) {
	err = store.CheckJob(j.Job)
	if c, ok := h.rt.o.Store.(jobChecker); ok && err == nil {
		err = c.CheckJobs([]store.Job{j})
	}
	if err == nil {
		waits, err = h.conv.thread.Lease.QueueJob(j)
	}
	if err != nil {
		return false, fmt.Errorf("queue a job: %w", err)
	}
	return waits, nil
}

// jobsQueued is called when jobs were stored.
func (r *Runtime) jobsQueued(all []store.Job) {
	for _, j := range all {
		r.jobQueued(j)
	}
	r.jobs.Wake()
}

// WakeJobs makes this process look for jobs now. Call it when another node has died: its jobs are free. It
// may be called at any time and never waits; a runtime that is not open looks when it opens.
func (r *Runtime) WakeJobs() {
	if r.checkOpen() == nil {
		r.jobs.Wake()
	}
}

// Jobs returns the jobs of this project that match, the one that was queued last first. The
// Project of the filter is ignored. The error is ErrUnsupported if the store keeps no jobs, or
// that of the store.
func (r *Runtime) Jobs(ctx context.Context, f store.JobFilter) ([]store.Job, error) {
	s, err := r.jobStore()
	if err != nil {
		return nil, err
	}
	f.Project = r.o.Project
	return s.Jobs(ctx, f)
}

// CountJobs counts the jobs of this project that match, whatever the limit of the filter. It is
// otherwise as Jobs.
func (r *Runtime) CountJobs(ctx context.Context, f store.JobFilter) (int, error) {
	s, err := r.jobStore()
	if err != nil {
		return 0, err
	}
	f.Project = r.o.Project
	return s.CountJobs(ctx, f)
}

func (r *Runtime) jobStore() (store.Jobs, error) {
	s, ok := r.o.Store.(store.Jobs)
	if !ok {
		return nil, fmt.Errorf("%w: jobs", ErrUnsupported)
	}
	return s, nil
}

// ChangeJob cancels, retries or drops a job of this project, and returns it as [store.Jobs.ChangeJob]
// does. The context of a running attempt ends: at once if it runs in this process, and within
// seconds in another one. The errors are those of that method, and ErrUnsupported if the store keeps
// no jobs.
func (r *Runtime) ChangeJob(ctx context.Context, id int64, change store.JobChange) (store.Job, error) {
	if err := r.checkOpen(); err != nil {
		return store.Job{}, err
	}
	s, err := r.jobStore()
	if err != nil {
		return store.Job{}, err
	}
	j, err := s.ChangeJob(ctx, r.o.Project, id, change)
	switch {
	case err != nil:
		return j, err
	case change == store.JobCancel:
		r.jobs.work.Cancel(id)
		r.jobEnded(j, time.Time{}, store.JobEnd{Status: j.Status, Failure: j.Failure, Uncounted: true})
	case change == store.JobRetry:
		r.jobsQueued([]store.Job{j})
	}
	return j, nil
}

// jobs are the jobs of a process: what delivers them, and what runs them.
type jobs struct {
	job.Engine
	work *job.Work
}

// newJobs returns the jobs of this process.
func (r *Runtime) newJobs() jobs {
	o := r.o.Jobs
	o.Handlers = r.handlers()
	s, err := r.jobStore()
	if err != nil {
		o.Handlers = nil // checkJobs has refused handlers of the program
	}
	w := job.NewWork(job.Config{
		Store: s, Refuse: r.refuseJob, Began: r.jobBegan, Ended: r.jobEnded, Project: r.o.Project, Owner: r.o.Owner, Now: r.o.Now, Gone: r.o.Gone,
		Told: func(ctx context.Context, d hook.Diagnostic) { r.host.emit(ctx, d.Event()) },
		Host: func(ctx context.Context, j store.Job) hook.Host { return &jobHost{host: r.host, attempt: ctx, job: j} },
	}, o)
	return jobs{job.NewEngine(w), w}
}

// refuseJob returns why this process must not run the job, because it was queued under another
// version; "" if it may.
func (r *Runtime) refuseJob(j store.Job) string {
	const kept = "it stays queued for a process that does"
	if j.Contract != hook.ContractVersion {
		return fmt.Sprintf("a job of the kind %s was queued under version %d of the contract, and this process has %d: %s", j.Kind, j.Contract, hook.ContractVersion, kept)
	}
	if j.Kind == KindBackground {
		m, ok := r.calledBy(j.Payload)
		if !ok || m.Takes(j.Version) { // a call of no member is given up by its handler
			return ""
		}
		return fmt.Sprintf("a call of %s at %s was queued under version %d of it, and this process has version %d, which does not take it: %s", m.Path, m.Point, j.Version, m.Version, kept)
	}
	v := r.o.Jobs.Versions[j.Kind]
	if (plan.Defaults{Version: v.Version, Accepts: v.Accepts}).Takes(j.Version) {
		return ""
	}
	return fmt.Sprintf("a job of the kind %s was queued under version %d, and the handler of this process has version %d, which does not take it: %s", j.Kind, j.Version, max(1, v.Version), kept)
}

// checkJobs returns an error if the handlers include the runtime's own kind, or the store
// keeps no jobs for them.
func (r *Runtime) checkJobs() error {
	if r.o.Jobs.Handlers[KindBackground] != nil {
		return fmt.Errorf("runtime: the kind %s is reserved for the runtime; remove it from Options.Jobs.Handlers", KindBackground)
	}
	if _, err := r.jobStore(); err != nil && len(r.o.Jobs.Handlers) > 0 {
		return err
	}
	return nil
}
