package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// JobStatus is what has become of a job.
type JobStatus string

// The statuses of a job.
const (
	JobQueued    JobStatus = "queued"    // it waits for its first attempt, or for another one
	JobRunning   JobStatus = "running"   // somebody has taken it; after the end of the lease anybody may
	JobSucceeded JobStatus = "succeeded" // it is done and never done again
	JobFailed    JobStatus = "failed"    // it was given up
)

// Job is a job that was queued.
type Job struct {
	hook.Job
	// ID is unique in the store.
	ID int64
	// Project is that in which it was queued, and the only one in which it is done.
	Project string
	// Conversation and Turn are where it was queued; "" outside of both.
	Conversation, Turn string
	Status             JobStatus
	// Attempts is how often it was taken, this time included.
	Attempts int
	// Due is when it may be taken: of one that is running the end of its lease.
	Due time.Time
	// Owner has taken it last, under Epoch, which grows with each time.
	Owner string
	Epoch int64
	// Failure is how its last attempt ended: "" for well, or not at all.
	Failure          string
	Created, Updated time.Time
}

// JobTake asks for a job.
type JobTake struct {
	// Owner names who asks; not empty.
	Owner string
	// Project is the one whose jobs it can do.
	Project string
	// Kinds are those that it can do.
	Kinds []string
	// Hold is how long the job is the owner's; positive.
	Hold time.Duration
	// Gone are owners that are known to have died: what they have taken is taken over
	// before the end of the lease.
	Gone []string
}

// JobEnd is how an attempt ended.
type JobEnd struct {
	// Status is JobSucceeded, JobFailed, or JobQueued for another attempt at Due.
	Status JobStatus
	Due    time.Time
	// Failure is how it failed, in a word that holds no values; "" for well.
	Failure string
	// Uncounted takes the attempt back: it was broken off for a reason that is not
	// the job's.
	Uncounted bool
}

// Jobs is implemented by stores that keep jobs.
type Jobs interface {
	// Enqueue queues the job and reports whether it did: of its project, kind and key
	// there may be one already. One that was given up is queued once more, with the new
	// payload. Only Kind, Key, Payload, Project, Conversation and Turn of j count.
	Enqueue(ctx context.Context, j Job) (queued bool, err error)
	// TakeJob takes the job that has been due for longest. ErrNoJob, with the time when
	// the next one is due in Due, zero if none is, if there is nothing to take.
	TakeJob(ctx context.Context, t JobTake) (Job, error)
	// HoldJob prolongs the lease of the attempt of that epoch: the job is its owner's
	// for hold from now on. ErrFenced if somebody else has taken it since, or the
	// attempt has ended; ErrUnknown.
	HoldJob(ctx context.Context, id, epoch int64, hold time.Duration) error
	// EndJob says how the attempt of that epoch ended. A job that has succeeded loses
	// its payload. ErrFenced if somebody else has taken it since; ErrUnknown.
	EndJob(ctx context.Context, id, epoch int64, e JobEnd) error
	// Jobs returns the jobs of the statuses, or all, of all projects, in the order in
	// which they were queued first.
	Jobs(ctx context.Context, statuses ...JobStatus) ([]Job, error)
}

// ErrNoJob: there is no job to take.
var ErrNoJob = errors.New("store: no job is due")

const (
	maxJobName    = 256
	maxJobPayload = 1 << 16
)

// CheckJob returns an error if nobody can queue the job. Its text holds no values.
// Stores call it.
func CheckJob(j hook.Job) error {
	switch {
	case j.Kind == "" || j.Key == "":
		return errors.New("store: a job has to have a kind and a key")
	case len(j.Kind) > maxJobName || len(j.Key) > maxJobName:
		return fmt.Errorf("store: kind and key of a job have %d bytes at most; use a hash of what the key is made of", maxJobName)
	case len(j.Payload) > maxJobPayload:
		return fmt.Errorf("store: the payload of a job has %d bytes at most; queue the name of what it is about", maxJobPayload)
	case j.Payload != "" && !json.Valid([]byte(j.Payload)):
		return errors.New("store: the payload of a job is no JSON")
	}
	return nil
}

// Check returns an error if nobody can take a job like that. Stores call it.
func (t JobTake) Check() error {
	if t.Owner == "" || t.Hold <= 0 {
		return errors.New("store: a job is taken by nobody, or for no time: set JobTake.Owner and JobTake.Hold")
	}
	return nil
}
