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
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Defaults of Options.
const (
	DefaultWorkers  = 4
	DefaultAttempts = 5
	DefaultTimeout  = 5 * time.Minute
)

const (
	// lease is how long a job is this process's after it has died, and renewal how
	// often the lease is prolonged while the job is being done.
	lease   = 30 * time.Second
	renewal = lease / 3
	// poll is how often to look for jobs that another process has queued.
	poll = 15 * time.Second
)

// Handler does one job. It is called with a context that ends with the attempt's
// time or when the process closes, from one goroutine of several. An error or a
// panic is a failed attempt; what it says is kept nowhere, so a handler that wants
// it known tells of it itself.
type Handler = func(ctx context.Context, j Run) error

// GiveUp is an error of a handler that no other attempt would mend: the job is given
// up at once. Reason is kept with it and told, so it holds no values.
type GiveUp struct{ Reason string }

// Error returns the reason.
func (g *GiveUp) Error() string { return g.Reason }

// Run is one attempt at a job.
type Run struct {
	hook.Job
	// Attempt counts from 1.
	Attempt int
	// Conversation and Turn are where it was queued; "" outside of both.
	Conversation, Turn string
}

// Options of a Runner; all but Handlers have defaults.
type Options struct {
	// Handlers are by kind. Jobs of other kinds are left to other processes; none at
	// all means that nothing is done here.
	Handlers map[string]Handler
	// Workers is how many jobs are done at once; 0 is DefaultWorkers.
	Workers int
	// Attempts is how often a job is tried before it is given up; 0 is
	// DefaultAttempts.
	Attempts int
	// Timeout bounds one attempt; 0 is DefaultTimeout.
	Timeout time.Duration
}

// Config is what a Runner gets from the program that it is part of.
type Config struct {
	Store store.Jobs
	// Project is the one whose jobs are done.
	Project string
	// Owner names the process to others.
	Owner string
	// Now is the clock.
	Now func() time.Time
	// Gone reports whether an owner is known to have died; nil knows of none.
	Gone func(owner string) bool
	// Told is called when a job is given up, and when the store fails; ctx is alive.
	// It may be nil.
	Told func(ctx context.Context, d hook.Diagnostic)
}

// Runner does jobs. It is made by New.
type Runner struct {
	c     Config
	o     Options
	kinds []string
	wake  chan struct{}
	slots chan struct{}
	// taking ends when no more jobs are taken, and handling when those that are being
	// done have to end.
	taking, handling context.Context
	stop, abandon    context.CancelFunc
	going            sync.WaitGroup
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

// Start begins to do jobs; the caller closes the runner. Without handlers it does
// nothing, and costs nothing. It is called once.
func (r *Runner) Start() {
	if len(r.kinds) > 0 {
		r.going.Go(func() { r.loop(r.taking) })
	}
}

// Wake has the runner look for jobs now. It never waits.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Close takes no more jobs and waits for those that are being done. When ctx ends,
// their contexts do, and what is broken off so is queued again as if it had not
// been tried.
func (r *Runner) Close(ctx context.Context) {
	r.stop()
	end := context.AfterFunc(ctx, r.abandon)
	defer end()
	r.going.Wait()
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
		if err == nil {
			r.going.Go(func() {
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

// wait waits until there may be a job again. False if there is to be none.
func (r *Runner) wait(ctx context.Context, due time.Time, err error) bool {
	pause := poll
	if errors.Is(err, store.ErrNoJob) && !due.IsZero() {
		pause = min(max(due.Sub(r.c.Now()), 10*time.Millisecond), poll)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	if !errors.Is(err, store.ErrNoJob) && ctx.Err() == nil {
		r.tell("job.store_failed", "jobs could not be read: they are looked for again later")
	}
	select {
	case <-timer.C:
	case <-r.wake:
	case <-ctx.Done():
		return false
	}
	return true
}

func (r *Runner) take(ctx context.Context) (store.Job, error) {
	t := store.JobTake{Owner: r.c.Owner, Project: r.c.Project, Kinds: r.kinds, Hold: lease}
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

// do tries the job and says what became of it. One that has been tried as often as
// it may, which ends with the process each time, is given up untried.
func (r *Runner) do(j store.Job) {
	end := store.JobEnd{Status: store.JobFailed, Failure: "interrupted"}
	if j.Attempts <= r.o.Attempts {
		end = r.attempt(j)
	}
	if end.Status == store.JobFailed {
		r.tell("job.given_up", fmt.Sprintf("a job was given up after %d attempts: the last one ended with %s", min(j.Attempts, r.o.Attempts), end.Failure))
	}
	err := r.c.Store.EndJob(context.WithoutCancel(r.handling), j.ID, j.Epoch, end)
	if err != nil && !errors.Is(err, store.ErrFenced) {
		r.tell("job.store_failed", "what became of a job could not be stored: it will be done again")
	}
	r.Wake() // the next attempt may be due before what is waited for
}

func (r *Runner) attempt(j store.Job) store.JobEnd {
	ctx, cancel := context.WithTimeout(r.handling, r.o.Timeout)
	defer cancel()
	defer r.hold(j, cancel)()
	failure, final := call(ctx, r.o.Handlers[j.Kind], Run{j.Job, j.Attempts, j.Conversation, j.Turn})
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

// hold prolongs the lease of the job until stop is called, also of a handler that
// takes longer than it may. If somebody else has the job, gone is called: what the
// handler does is done elsewhere.
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
			} // what the store cannot do now it may be able to do next time
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}

// call calls the handler and returns how it failed, in a word; "" if it did not.
// Its error is not passed on, because it may quote what the job was about, unless it
// gives the job up, which is final.
func call(ctx context.Context, h Handler, j Run) (failure string, final bool) {
	defer func() {
		if recover() != nil {
			failure = "panic"
		}
	}()
	err := h(ctx, j)
	var given *GiveUp
	switch {
	case errors.As(err, &given):
		return given.Reason, true
	case err != nil:
		return "error", false
	}
	return "", false
}

// Backoff is how long after its n-th attempt, from 1, a job is tried again: a
// second, twice as long each time, a minute at most.
func Backoff(n int) time.Duration {
	const base, most, exponent = time.Second, time.Minute, 6
	return min(base<<min(max(n-1, 0), exponent), most)
}

func (r *Runner) tell(code hook.DiagnosticCode, text string) {
	if r.c.Told != nil {
		r.c.Told(context.WithoutCancel(r.handling), hook.Diagnostic{Code: code, Text: text})
	}
}
