package river

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/internal/job"
	"github.com/grapnel-go/grapnel/runtime/store"
)

const (
	// kind is the only kind of River's jobs.
	kind = "grapnel"
	// maxAttempts is River's highest number: the attempts of the row count.
	maxAttempts = 1<<15 - 1
	// elsewhere is when a job is delivered again that runs on another node, or that this one does
	// not run.
	elsewhere = 5 * time.Second
	// away is when a delivery comes again because the store did not answer.
	away = time.Second
)

// delivery are the arguments of River's jobs. The trigger makes the same JSON.
type delivery struct {
	// Job is the number of the row.
	Job int64 `json:"job"`
}

// Kind implements river.JobArgs.
func (delivery) Kind() string { return kind }

// worker runs what River delivers.
type worker struct {
	river.WorkerDefaults[delivery]
	*engine
}

// Work implements river.Worker. It never returns an error but a snooze: River would count it.
func (w *worker) Work(ctx context.Context, d *river.Job[delivery]) error {
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	case <-ctx.Done():
		return river.JobSnooze(0)
	}
	if !w.alive.Load() { // others would take the job from this node at once
		return river.JobSnooze(away)
	}
	j, err := w.o.Store.TakeJob(ctx, store.JobTake{
		Owner: w.work.Owner(), Project: w.work.Project(), Kinds: w.work.Kinds(), Hold: job.Lease, ID: d.Args.Job,
	})
	if err != nil {
		return w.notTaken(ctx, d.Args.Job, err)
	}
	end := func(ctx context.Context, e store.JobEnd) error { return w.end(ctx, d, j, e) }
	if why := w.work.Refused(j); why != "" {
		err = w.work.PutBack(ctx, j, why, time.Now().Add(elsewhere), end)
	} else {
		err = w.work.Do(ctx, j, end)
	}
	if err != nil { // the row is another worker's now, or will be: only that one completes the delivery
		return river.JobSnooze(elsewhere)
	}
	return nil
}

// end ends the attempt and completes its delivery in one transaction. If the job waits for another
// attempt, the same transaction has its next delivery.
func (w *worker) end(ctx context.Context, d *river.Job[delivery], j store.Job, e store.JobEnd) error {
	e.Failure = w.o.Mask(e.Failure)
	return w.o.Store.EndJobWith(ctx, j.ID, j.Epoch, e, func(ctx context.Context, tx pgdb.Tx) error {
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, d)
		if errors.Is(err, rivertype.ErrNotFound) { // River has cleaned it
			return nil
		}
		return err
	})
}

// notTaken says what becomes of a delivery whose row could not be taken: it is over if the row is, and
// else comes again.
func (w *worker) notTaken(ctx context.Context, id int64, err error) error {
	if !errors.Is(err, store.ErrNoJob) {
		return river.JobSnooze(away)
	}
	found, err := w.o.Store.Jobs(ctx, store.JobFilter{Project: w.work.Project(), ID: id})
	switch {
	case err != nil:
		return river.JobSnooze(away)
	case len(found) == 0:
		return nil
	}
	switch j := found[0]; j.Status {
	case store.JobQueued, store.JobRunning:
		return river.JobSnooze(elsewhere)
	}
	return nil
}
