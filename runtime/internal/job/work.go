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
	// Lease is how long a lease on a job lasts without renewal.
	Lease = 30 * time.Second
	// renewal is how often it is renewed. A job that another process has cancelled is noticed then.
	renewal = 5 * time.Second
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

// Options of the jobs of a process; all but Handlers have defaults.
type Options struct {
	// Handlers are by kind. Jobs of other kinds are left to other processes. Without handlers
	// no jobs run.
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
	// Engine returns what delivers the jobs; nil is a [Runner], which polls the store. It is
	// called once, when the runtime opens, and only if there are handlers.
	Engine func(*Work) Engine
}

// Config is what a Work gets from the program that it is part of.
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

// Work runs the attempts at the jobs that an [Engine] delivers. Make it with NewWork. It is safe for
// concurrent use.
type Work struct {
	c     Config
	o     Options
	kinds []string

	mu sync.Mutex
	// running has what cancels the running attempt at a job, by the job's id.
	running map[int64]context.CancelCauseFunc
}

// NewWork returns the work of the handlers of the options.
func NewWork(c Config, o Options) *Work {
	w := &Work{c: c, o: o, running: map[int64]context.CancelCauseFunc{}}
	w.o.Workers, w.o.Attempts = cmp.Or(max(0, o.Workers), DefaultWorkers), cmp.Or(max(0, o.Attempts), DefaultAttempts)
	w.o.Timeout = cmp.Or(max(0, o.Timeout), DefaultTimeout)
	w.kinds = slices.Sorted(maps.Keys(o.Handlers))
	return w
}

// errLost is the cause of the end of an attempt that is fenced: the job was cancelled, or another
// process has taken it.
var errLost = errors.New("job: the job was cancelled, or another process has taken it")

// Cancel ends the context of the attempt at the job that runs in this process, if one does. The
// caller has cancelled the job in the store.
func (w *Work) Cancel(id int64) {
	w.mu.Lock()
	cancel := w.running[id]
	w.mu.Unlock()
	if cancel != nil {
		cancel(errLost)
	}
}

// Refused returns why this process must not run the job, which was queued under another version,
// for people; "" if it may. The engine then puts the job back.
func (w *Work) Refused(j store.Job) string {
	if w.c.Refuse == nil {
		return ""
	}
	return w.c.Refuse(j)
}

// PutBack queues the taken job again for another process, because it is refused here. The attempt
// does not count. end stores that, as in Do.
func (w *Work) PutBack(ctx context.Context, j store.Job, why string, due time.Time, end func(context.Context, store.JobEnd) error) error {
	e := store.JobEnd{Status: store.JobQueued, Due: due, Failure: string(event.CodeJobMismatch), Uncounted: true}
	w.tell(ctx, event.CodeJobMismatch, why)
	w.ended(j, time.Time{}, e)
	err := end(context.WithoutCancel(ctx), e)
	if err != nil && !errors.Is(err, store.ErrFenced) {
		w.tell(ctx, "job.store_failed", "a job that does not run here could not be put back; it stays taken until its lease ends")
	}
	return err
}

// Do runs one attempt at the job, which the engine has taken, and passes its end to the function
// end, which stores it as [store.Jobs.EndJob] does. It gets a context that has not ended, and is
// called again for half a minute if the store fails, so that what has been done is not done again.
// Until then Do holds the job's lease. The end of ctx cancels the attempt: the job is then queued
// again, and the attempt does not count. A job whose attempts all ended with their process fails
// without another attempt. Do returns when the handler has.
//
// The error is that of end. It is store.ErrFenced if the job was cancelled or another process has
// taken it; then end may not have been called, and the engine changes nothing of the job.
func (w *Work) Do(ctx context.Context, j store.Job, end func(context.Context, store.JobEnd) error) error {
	e := store.JobEnd{Status: store.JobFailed, Failure: "interrupted"}
	var started time.Time
	if j.Attempts <= w.o.Attempts {
		started = w.c.Now()
		if w.c.Began != nil {
			w.c.Began(j, started)
		}
		attempt, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer w.hold(ctx, j, func() { cancel(errLost) })()
		var lost bool
		if e, lost = w.attempt(attempt, ctx, cancel, j); lost {
			return fmt.Errorf("%w: job %d", store.ErrFenced, j.ID)
		}
	}
	w.ended(j, started, e)
	if e.Status == store.JobFailed {
		w.tell(ctx, "job.given_up", fmt.Sprintf("a job was given up after %d attempts: the last one ended with %s", min(j.Attempts, w.o.Attempts), e.Failure))
	}
	err := w.storeEnd(ctx, e, end)
	if err != nil && !errors.Is(err, store.ErrFenced) {
		w.tell(ctx, "job.store_failed", "the result of a job could not be stored; the job will run again")
	}
	return err
}

// again is the pause before another attempt to store an end.
const again = time.Second

// storeEnd calls end until it succeeds, the attempt is fenced, the store is closed, ctx ends, or the lease
// would have ended by now.
func (w *Work) storeEnd(ctx context.Context, e store.JobEnd, end func(context.Context, store.JobEnd) error) error {
	for tries := Lease / again; ; tries-- {
		err := end(context.WithoutCancel(ctx), e)
		if err == nil || tries == 0 || errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrClosed) {
			return err
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return err
		}
	}
}

func (w *Work) ended(j store.Job, started time.Time, end store.JobEnd) {
	if w.c.Ended != nil {
		w.c.Ended(j, started, end)
	}
}

// attempt calls the handler and returns how the attempt ends. lost: the job is no longer its own.
// cancel cancels ctx, and closing ends when the engine closes.
func (w *Work) attempt(ctx, closing context.Context, cancel context.CancelCauseFunc, j store.Job) (end store.JobEnd, lost bool) {
	ctx, stop := context.WithTimeout(ctx, w.o.Timeout)
	defer stop()
	w.mu.Lock()
	w.running[j.ID] = cancel
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.running, j.ID)
		w.mu.Unlock()
	}()
	run := Run{Job: j.Job, Attempt: j.Attempts, Conversation: j.Conversation, Turn: j.Turn, Host: hook.NoHost{}}
	if w.c.Host != nil {
		run.Host = w.c.Host(ctx, j)
	}
	failure, final := call(ctx, w.o.Handlers[j.Kind], run)
	switch {
	case context.Cause(ctx) == errLost:
		return end, true
	case final:
	case failure == "":
		return store.JobEnd{Status: store.JobSucceeded}, false
	case closing.Err() != nil:
		return store.JobEnd{Status: store.JobQueued, Due: w.c.Now(), Failure: "closed", Uncounted: true}, false
	case ctx.Err() != nil:
		failure = "timeout"
	}
	if final || j.Attempts >= w.o.Attempts {
		return store.JobEnd{Status: store.JobFailed, Failure: failure}, false
	}
	return store.JobEnd{Status: store.JobQueued, Due: w.c.Now().Add(Backoff(j.Attempts)), Failure: failure}, false
}

// hold renews the lease of the job until stop is called, also after the handler's timeout. If the
// job was cancelled or another process has taken it, hold calls gone.
func (w *Work) hold(closing context.Context, j store.Job, gone func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(closing))
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
			err := w.c.Store.HoldJob(ctx, j.ID, j.Epoch, Lease)
			if errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrUnknown) {
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

func (w *Work) tell(ctx context.Context, code hook.DiagnosticCode, text string) {
	if w.c.Told != nil {
		w.c.Told(context.WithoutCancel(ctx), hook.Diagnostic{Code: code, Text: text})
	}
}
