package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// JobStatus is the status of a job.
type JobStatus string

// The statuses of a job.
const (
	JobQueued    JobStatus = "queued"    // it waits for its next attempt
	JobRunning   JobStatus = "running"   // an owner has taken it; after the end of the lease any owner may
	JobSucceeded JobStatus = "succeeded" // it never runs again
	JobFailed    JobStatus = "failed"    // it is not retried, unless it is queued again
	JobCancelled JobStatus = "cancelled" // somebody cancelled it; only JobRetry queues it again
)

// Job is a job that was queued.
type Job struct {
	hook.Job
	// ID is unique in the store.
	ID int64
	// Contract is the hook.ContractVersion of the process that queued it, from 1.
	Contract int
	// Project is the project that queued it; only this one runs it.
	Project string
	// Conversation and Turn queued it; "" outside of both.
	Conversation, Turn string
	Status             JobStatus
	// Attempts is how often it was taken, this time included.
	Attempts int
	// Due is when it may be taken. For a running job it is the end of the lease.
	Due time.Time
	// Owner has taken it last, under Epoch. Each take increases Epoch.
	Owner string
	Epoch int64
	// Failure is how its last attempt failed; "" if it did not, or has not ended.
	Failure          string
	Created, Updated time.Time
}

// JobTake asks for a job.
type JobTake struct {
	// Owner names the caller; not empty.
	Owner string
	// Project is the project of the job.
	Project string
	// Kinds are the kinds that the caller can run.
	Kinds []string
	// ID takes only this job; 0 takes any.
	ID int64
	// Hold is how long the lease lasts; positive.
	Hold time.Duration
	// Gone are owners that are known to have died: their jobs can be taken before the
	// end of their leases.
	Gone []string
	// Except are ids of jobs that the caller cannot run, at most MaxExcept.
	Except []int64
}

// JobEnd is how an attempt ended.
type JobEnd struct {
	// Status is JobSucceeded, JobFailed, or JobQueued for another attempt at Due.
	Status JobStatus
	Due    time.Time
	// Failure is how it failed, in a word without values; "" if it succeeded.
	Failure string
	// Uncounted: the attempt does not count, because it was cancelled from outside.
	Uncounted bool
}

// Jobs is implemented by stores that keep jobs.
type Jobs interface {
	// Enqueue queues the job, unless there is one of its project, kind and key. A job
	// that has failed is queued again, with the new payload. Only Kind, Key, Payload,
	// Version, Contract, Project, Conversation, Turn and Due of j count. A Version or
	// Contract below 1 is 1. It is due now if Due is earlier or zero.
	Enqueue(ctx context.Context, j Job) (queued bool, err error)
	// TakeJob takes the job that has been due for longest. If no job is due, the error
	// is ErrNoJob, and Due of the result is when the next one is; zero if there is none.
	TakeJob(ctx context.Context, t JobTake) (Job, error)
	// HoldJob extends the lease of the attempt of that epoch to hold from now. ErrFenced
	// if another owner has taken the job since, or the attempt has ended; ErrUnknown.
	HoldJob(ctx context.Context, id, epoch int64, hold time.Duration) error
	// EndJob ends the attempt of that epoch. A job that succeeds loses its payload.
	// ErrFenced if another owner has taken it since; ErrUnknown.
	EndJob(ctx context.Context, id, epoch int64, e JobEnd) error
	// ChangeJob cancels, retries or drops a job of the project, and returns it as it is then;
	// one that is dropped as it was. The error is ErrUnknown if the project has no such job,
	// and a [*JobStateError] if the change is not for its status.
	ChangeJob(ctx context.Context, project string, id int64, change JobChange) (Job, error)
	// Jobs returns the jobs that match, the one that was queued last first.
	Jobs(ctx context.Context, f JobFilter) ([]Job, error)
	// CountJobs counts the jobs that match, whatever the limit of the filter.
	CountJobs(ctx context.Context, f JobFilter) (int, error)
}

// JobFilter selects jobs; empty fields match all, but for Project.
type JobFilter struct {
	// Project is the project of the jobs; "" is a project like any other.
	Project string
	// Kind and Conversation are exact.
	Kind, Conversation string
	Statuses           []JobStatus
	// ID is that of one job, and Before leaves out jobs from this id on: 0 is none.
	ID, Before int64
	// Limit is the number of results at most; 0 is MaxJobs.
	Limit int
}

// MaxJobs is how many jobs a list has at most.
const MaxJobs = 10_000

// Match reports whether the filter selects the job.
func (f JobFilter) Match(j Job) bool {
	return j.Project == f.Project && (f.Kind == "" || j.Kind == f.Kind) && (f.Conversation == "" || j.Conversation == f.Conversation) &&
		(len(f.Statuses) == 0 || slices.Contains(f.Statuses, j.Status)) && (f.ID == 0 || j.ID == f.ID) && (f.Before == 0 || j.ID < f.Before)
}

// Most is Limit, from 1 to MaxJobs.
func (f JobFilter) Most() int {
	if f.Limit <= 0 {
		return MaxJobs
	}
	return min(f.Limit, MaxJobs)
}

// JobChange is what a person does to a job.
type JobChange string

// The changes of jobs.
const (
	// JobCancel ends a job that is queued or runs. A running attempt is fenced.
	JobCancel JobChange = "cancel"
	// JobRetry queues a job that has failed or was cancelled. Its attempts count anew.
	JobRetry JobChange = "retry"
	// JobDrop forgets a job that has failed or was cancelled: another one of its kind and key can
	// be queued.
	JobDrop JobChange = "drop"
)

// From returns the statuses that a job may have before the change; none if there is no such change.
func (c JobChange) From() []JobStatus {
	switch c {
	case JobCancel:
		return []JobStatus{JobQueued, JobRunning}
	case JobRetry, JobDrop:
		return []JobStatus{JobFailed, JobCancelled}
	}
	return nil
}

// JobStateError says that a change is not for a job with that status.
type JobStateError struct {
	ID     int64
	Status JobStatus
	Change JobChange
}

// Error names the job, its status and the statuses that the change is for.
func (e *JobStateError) Error() string {
	var from []string
	for _, s := range e.Change.From() {
		from = append(from, string(s))
	}
	if from == nil {
		return fmt.Sprintf("store: there is no change %q of a job: cancel, retry or drop it", e.Change)
	}
	return fmt.Sprintf("store: job %d is %s: only a job that is %s can be changed by %s", e.ID, e.Status, strings.Join(from, " or "), e.Change)
}

// ErrNoJob: there is no job to take.
var ErrNoJob = errors.New("store: no job is due")

const (
	maxJobName    = 256
	maxJobPayload = 1 << 16
)

// MaxExcept is how many jobs a [JobTake] may leave out.
const MaxExcept = 1000

// CheckJob returns an error if the job cannot be queued. Its text quotes no values. Stores
// call it.
func CheckJob(j hook.Job) error {
	switch {
	case j.Kind == "" || j.Key == "":
		return errors.New("store: a job has to have a kind and a key")
	case len(j.Kind) > maxJobName || len(j.Key) > maxJobName:
		return fmt.Errorf("store: kind and key of a job have %d bytes at most; use a hash of what the key is made of", maxJobName)
	case len(j.Payload) > maxJobPayload:
		return fmt.Errorf("store: the payload of a job has %d bytes at most; queue the name of what it is about", maxJobPayload)
	case j.Version < 0:
		return errors.New("store: the version of a job is a number from 1")
	case j.Payload != "" && !json.Valid([]byte(j.Payload)):
		return errors.New("store: the payload of a job is no JSON")
	}
	return nil
}

// CheckJobs is CheckJob for several; the first error counts.
func CheckJobs(jobs []Job) error {
	for _, j := range jobs {
		if err := CheckJob(j.Job); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an error if the take is not valid. Stores call it.
func (t JobTake) Check() error {
	if t.Owner == "" || t.Hold <= 0 {
		return errors.New("store: a job is taken by nobody, or for no time: set JobTake.Owner and JobTake.Hold")
	}
	if len(t.Except) > MaxExcept {
		return fmt.Errorf("store: JobTake.Except has %d jobs; at most %d", len(t.Except), MaxExcept)
	}
	return nil
}
