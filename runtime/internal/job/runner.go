package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Defaults of Options.
const (
	DefaultWorkers  = 4
	DefaultAttempts = 5
	DefaultTimeout  = 5 * time.Minute
)

const (
	// lease is how long a lease on a job lasts without renewal.
	lease   = 30 * time.Second
	renewal = lease / 3
	// poll is how often the runner looks for jobs that other processes have queued.
	poll = 15 * time.Second
)

// Handler runs one job. Handlers run concurrently. ctx ends at the attempt's timeout or
// when the process closes. An error or a panic fails the attempt. The runner does not keep
// its text: the handler reports it if it should be known.
type Handler = func(ctx context.Context, j Run) error

// GiveUp is the error of a handler for a permanent failure: the job is not retried. Reason
// is stored and reported, so it must not quote values.
type GiveUp struct{ Reason string }

// Error returns the reason.
func (g *GiveUp) Error() string { return g.Reason }

// Run is one attempt at a job.
type Run struct {
	hook.Job
	// Attempt counts from 1.
	Attempt int
	// Conversation and Turn queued the job; "" outside of both.
	Conversation, Turn string
	// Host has the services of the runtime, outside of turns. Its CallModel asks the model
	// until the attempt ends; see [hook.Host].
	Host hook.Host
}

// Versions say which jobs a handler takes.
type Versions struct {
	// Version is that of the payloads of new jobs; 0 is 1.
	Version int
	// Accepts is the oldest version that the handler still takes; 0 is Version.
	Accepts int
}

// Options of a Runner; all but Handlers have defaults.
type Options struct {
	// Handlers are by kind. The runner leaves jobs of other kinds to other processes.
	// Without handlers it runs no jobs.
	Handlers map[string]Handler
	// Versions are those of the handlers by kind; a kind that is not in it has version 1
	// and takes no other.
	Versions map[string]Versions
	// Workers is how many jobs run at once; 0 is DefaultWorkers.
	Workers int
	// Attempts is how often a job is tried before it fails; 0 is DefaultAttempts.
	Attempts int
	// Timeout bounds one attempt; 0 is DefaultTimeout.
	Timeout time.Duration
}

// Config is what a Runner gets from the program that it is part of.
type Config struct {
	Store store.Jobs
	// Project is the project whose jobs run.
	Project string
	// Owner names the process to others.
	Owner string
	// Now is the clock.
	Now func() time.Time
	// Gone reports whether an owner is known to have died; nil is never.
	Gone func(owner string) bool
	// Refuse returns why this process must not run a job of another version, for people;
	// "" runs it. Nil runs all jobs.
	Refuse func(j store.Job) string
	// Began is called when an attempt begins, Ended when it has ended, and also if a job ended
	// or was put back without one: then started is zero. Both do not wait; nil is none.
	Began func(j store.Job, started time.Time)
	Ended func(j store.Job, started time.Time, end store.JobEnd)
	// Told is called when a job fails for good, and when the store fails. ctx has not
	// ended. It may be nil.
	Told func(ctx context.Context, d hook.Diagnostic)
	// Host returns the host of an attempt, whose context is ctx; nil is [hook.NoHost].
	Host func(ctx context.Context, j store.Job) hook.Host
}

// Runner runs jobs. Make it with New.
type Runner struct {
	c     Config
	o     Options
	kinds []string
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

// New returns a runner that is not started yet.
func New(c Config, o Options) *Runner {
	r := &Runner{c: c, o: o, wake: make(chan struct{}, 1)}
	r.o.Workers, r.o.Attempts = cmp.Or(max(0, o.Workers), DefaultWorkers), cmp.Or(max(0, o.Attempts), DefaultAttempts)
	r.o.Timeout = cmp.Or(max(0, o.Timeout), DefaultTimeout)
	r.kinds = slices.Sorted(maps.Keys(o.Handlers))
	r.slots = make(chan struct{}, r.o.Workers)
	r.taking, r.stop = context.WithCancel(context.Background())
	r.handling, r.abandon = context.WithCancel(context.Background())
	return r
}

// Start starts to run jobs; the caller closes the runner. Without handlers it does nothing.
// Call it once.
func (r *Runner) Start() {
	if len(r.kinds) > 0 {
		r.running.Go(func() { r.loop(r.taking) })
	}
}

// Wake makes the runner look for jobs now. It never waits.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Close takes no more jobs and waits for the running ones. When ctx ends, it cancels them.
// A cancelled job is queued again, and the attempt does not count.
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
		j, err := r.take(ctx)
		if err == nil && r.c.Refuse != nil {
			if why := r.c.Refuse(j); why != "" {
				<-r.slots
				r.putBack(j, why)
				continue
			}
		}
		if err == nil {
			r.running.Go(func() {
				defer func() { <-r.slots }()
				r.do(j)
			})
			continue
		}
		<-r.slots
		if !r.wait(ctx, j.Due, err) {
			return
		}
	}
}

// wait waits until there may be a job again. It returns false when ctx has ended.
func (r *Runner) wait(ctx context.Context, due time.Time, err error) bool {
	pause := poll
	if errors.Is(err, store.ErrNoJob) && !due.IsZero() {
		pause = min(max(due.Sub(r.c.Now()), 10*time.Millisecond), poll)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	if !errors.Is(err, store.ErrNoJob) && ctx.Err() == nil {
		r.tell("job.store_failed", "jobs could not be read; the next attempt follows later")
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

// putBack queues a job again that this process must not run, for another one. The attempt does
// not count.
func (r *Runner) putBack(j store.Job, why string) {
	end := store.JobEnd{Status: store.JobQueued, Due: r.c.Now(), Failure: string(event.CodeJobMismatch), Uncounted: true}
	if len(r.refused) < store.MaxExcept {
		r.refused = append(r.refused, j.ID)
	} else {
		end.Due = end.Due.Add(refusedAgain)
	}
	r.tell(event.CodeJobMismatch, why)
	r.ended(j, time.Time{}, end)
	err := r.c.Store.EndJob(context.WithoutCancel(r.handling), j.ID, j.Epoch, end)
	if err != nil && !errors.Is(err, store.ErrFenced) {
		r.tell("job.store_failed", "a job that does not run here could not be put back; it stays taken until its lease ends")
	}
}

func (r *Runner) take(ctx context.Context) (store.Job, error) {
	t := store.JobTake{Owner: r.c.Owner, Project: r.c.Project, Kinds: r.kinds, Hold: lease, Except: r.refused}
	j, err := r.c.Store.TakeJob(ctx, t)
	if r.c.Gone == nil || !errors.Is(err, store.ErrNoJob) {
		return j, err
	}
	running, err := r.c.Store.Jobs(ctx, store.JobRunning)
	if err != nil {
		return j, err
	}
	for _, other := range running {
		if other.Project == r.c.Project && other.Owner != r.c.Owner && !slices.Contains(t.Gone, other.Owner) && r.c.Gone(other.Owner) {
			t.Gone = append(t.Gone, other.Owner)
		}
	}
	if len(t.Gone) == 0 {
		return j, store.ErrNoJob
	}
	return r.c.Store.TakeJob(ctx, t)
}

// do runs the job and stores how it ended. A job whose attempts all ended with their
// process fails without another attempt.
func (r *Runner) do(j store.Job) {
	end := store.JobEnd{Status: store.JobFailed, Failure: "interrupted"}
	var started time.Time
	if j.Attempts <= r.o.Attempts {
		started = r.c.Now()
		if r.c.Began != nil {
			r.c.Began(j, started)
		}
		end = r.attempt(j)
	}
	r.ended(j, started, end)
	if end.Status == store.JobFailed {
		r.tell("job.given_up", fmt.Sprintf("a job was given up after %d attempts: the last one ended with %s", min(j.Attempts, r.o.Attempts), end.Failure))
	}
	err := r.c.Store.EndJob(context.WithoutCancel(r.handling), j.ID, j.Epoch, end)
	if err != nil && !errors.Is(err, store.ErrFenced) {
		r.tell("job.store_failed", "the result of a job could not be stored; the job will run again")
	}
	r.Wake() // the next attempt may be due before the end of wait
}

func (r *Runner) ended(j store.Job, started time.Time, end store.JobEnd) {
	if r.c.Ended != nil {
		r.c.Ended(j, started, end)
	}
}

func (r *Runner) attempt(j store.Job) store.JobEnd {
	ctx, cancel := context.WithTimeout(r.handling, r.o.Timeout)
	defer cancel()
	defer r.hold(j, cancel)()
	run := Run{Job: j.Job, Attempt: j.Attempts, Conversation: j.Conversation, Turn: j.Turn, Host: hook.NoHost{}}
	if r.c.Host != nil {
		run.Host = r.c.Host(ctx, j)
	}
	failure, final := call(ctx, r.o.Handlers[j.Kind], run)
	switch {
	case final:
	case failure == "":
		return store.JobEnd{Status: store.JobSucceeded}
	case r.handling.Err() != nil:
		return store.JobEnd{Status: store.JobQueued, Due: r.c.Now(), Failure: "closed", Uncounted: true}
	case ctx.Err() != nil:
		failure = "timeout"
	}
	if final || j.Attempts >= r.o.Attempts {
		return store.JobEnd{Status: store.JobFailed, Failure: failure}
	}
	return store.JobEnd{Status: store.JobQueued, Due: r.c.Now().Add(Backoff(j.Attempts)), Failure: failure}
}

// hold renews the lease of the job until stop is called, also after the handler's timeout.
// If another process has taken the job, hold calls gone.
func (r *Runner) hold(j store.Job, gone func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.handling))
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(renewal)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			err := r.c.Store.HoldJob(ctx, j.ID, j.Epoch, lease)
			if errors.Is(err, store.ErrFenced) {
				gone()
				return
			} // retry after other errors
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}

// call calls the handler and returns how it failed, in a word; "" if it did not. It hides
// the text of the error, which may quote the job's values, except that of a GiveUp. final:
// do not retry.
func call(ctx context.Context, h Handler, j Run) (failure string, final bool) {
	defer func() {
		if recover() != nil {
			failure = "panic"
		}
	}()
	err := h(ctx, j)
	var permanent *GiveUp
	switch {
	case errors.As(err, &permanent):
		return permanent.Reason, true
	case err != nil:
		return "error", false
	}
	return "", false
}

// Backoff returns the delay after the n-th attempt, from 1: a second, doubled after each
// attempt, at most a minute.
func Backoff(n int) time.Duration {
	const base, most, exponent = time.Second, time.Minute, 6
	return min(base<<min(max(n-1, 0), exponent), most)
}

func (r *Runner) tell(code hook.DiagnosticCode, text string) {
	if r.c.Told != nil {
		r.c.Told(context.WithoutCancel(r.handling), hook.Diagnostic{Code: code, Text: text})
	}
}
