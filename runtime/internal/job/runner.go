package job

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// poll is how often a Runner looks for jobs that other processes have queued.
const poll = 15 * time.Second

// Runner is the [Engine] of stores on one machine: it looks for due jobs in the store. Make it with
// NewRunner.
type Runner struct {
	work  *Work
	wake  chan struct{}
	slots chan struct{}
	// taking ends when the runner takes no more jobs, handling when running jobs have to
	// end.
	taking, handling context.Context
	stop, abandon    context.CancelFunc
	running          sync.WaitGroup
	// refused are the jobs that this process cannot run; only the loop uses them.
	refused []int64
}

var _ Engine = (*Runner)(nil)

// NewRunner returns a runner that is not started yet.
func NewRunner(w *Work) *Runner {
	r := &Runner{work: w, wake: make(chan struct{}, 1), slots: make(chan struct{}, w.o.Workers)}
	r.taking, r.stop = context.WithCancel(context.Background())
	r.handling, r.abandon = context.WithCancel(context.Background())
	return r
}

// Start starts to run jobs; the caller closes the runner. Without handlers it does nothing.
// Call it once.
func (r *Runner) Start() {
	if len(r.work.kinds) > 0 {
		r.running.Go(func() {
			r.loop(r.taking)
			r.last()
		})
	}
}

// Wake makes the runner look for jobs now. It never waits.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Close starts what is due for the workers that are free, takes no more jobs and waits for the running ones.
// When ctx ends, it cancels them. A cancelled job is queued again, and the attempt does not count.
func (r *Runner) Close(ctx context.Context) {
	r.stop()
	end := context.AfterFunc(ctx, r.abandon)
	defer end()
	r.running.Wait()
	r.abandon()
}

func (r *Runner) loop(ctx context.Context) {
	for {
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if due, err := r.start(ctx); err != nil && !r.wait(ctx, due, err) {
			return
		}
	}
}

// last starts what is due for the workers that are free when the runner closes: a program that runs one
// turn closes right after the turn has queued its jobs.
func (r *Runner) last() {
	for {
		select {
		case r.slots <- struct{}{}:
		default:
			return
		}
		if _, err := r.start(r.handling); err != nil {
			return
		}
	}
}

// start starts the next job that is due, in the slot that the caller has taken, and gives the slot back when
// the job has ended, or at once if it started none. due is when there may be a job again; zero is unknown.
func (r *Runner) start(ctx context.Context) (due time.Time, err error) {
	j, err := r.take(ctx)
	if err != nil {
		<-r.slots
		return j.Due, err
	}
	if why := r.work.Refused(j); why != "" {
		<-r.slots
		r.putBack(j, why)
		return time.Time{}, nil
	}
	r.running.Go(func() {
		defer func() { <-r.slots }()
		r.do(j)
	})
	return time.Time{}, nil
}

// wait waits until there may be a job again. It returns false when ctx has ended.
func (r *Runner) wait(ctx context.Context, due time.Time, err error) bool {
	pause := poll
	if errors.Is(err, store.ErrNoJob) && !due.IsZero() {
		pause = min(max(due.Sub(r.work.c.Now()), 10*time.Millisecond), poll)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	if !errors.Is(err, store.ErrNoJob) && ctx.Err() == nil {
		r.work.tell(r.handling, "job.store_failed", "jobs could not be read; the next attempt follows later")
	}
	select {
	case <-timer.C:
	case <-r.wake:
	case <-ctx.Done():
		return false
	}
	return true
}

// refusedAgain is when a job that cannot be run is looked at again, if there are too many to
// remember.
const refusedAgain = 10 * time.Minute

// putBack queues a job again that this process must not run, and does not take it again.
func (r *Runner) putBack(j store.Job, why string) {
	due := r.work.c.Now()
	if len(r.refused) < store.MaxExcept {
		r.refused = append(r.refused, j.ID)
	} else {
		due = due.Add(refusedAgain)
	}
	_ = r.work.PutBack(r.handling, j, why, due, r.end(j)) // the work has told of it
}

// end stores the end of an attempt at the job.
func (r *Runner) end(j store.Job) func(context.Context, store.JobEnd) error {
	return func(ctx context.Context, e store.JobEnd) error { return r.work.c.Store.EndJob(ctx, j.ID, j.Epoch, e) }
}

func (r *Runner) take(ctx context.Context) (store.Job, error) {
	t := store.JobTake{Owner: r.work.c.Owner, Project: r.work.c.Project, Kinds: r.work.kinds, Hold: Lease, Except: r.refused}
	j, err := r.work.c.Store.TakeJob(ctx, t)
	if r.work.c.Gone == nil || !errors.Is(err, store.ErrNoJob) {
		return j, err
	}
	running, err := r.work.c.Store.Jobs(ctx, store.JobFilter{Project: r.work.c.Project, Statuses: []store.JobStatus{store.JobRunning}})
	if err != nil {
		return j, err
	}
	for _, other := range running {
		if other.Owner != r.work.c.Owner && !slices.Contains(t.Gone, other.Owner) && r.work.c.Gone(other.Owner) {
			t.Gone = append(t.Gone, other.Owner)
		}
	}
	if len(t.Gone) == 0 {
		return j, store.ErrNoJob
	}
	return r.work.c.Store.TakeJob(ctx, t)
}

func (r *Runner) do(j store.Job) {
	_ = r.work.Do(r.handling, j, r.end(j)) // the work has told of it
	r.Wake()                               // the next attempt may be due before the end of wait
}
