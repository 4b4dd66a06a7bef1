package wire

import (
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Jobs are the answer of GET /v1/jobs.
type Jobs struct {
	// Jobs are those that match, the one that was queued last first, without payloads.
	Jobs []Job `json:"jobs"`
}

// Job is work that a turn or a hook has queued.
type Job struct {
	// ID is unique in the store of the daemon.
	ID   int64  `json:"id"`
	Kind string `json:"kind"`
	Key  string `json:"key"`
	// Version is that of the payload.
	Version int          `json:"version"`
	Payload message.JSON `json:"payload,omitzero"`
	// Conversation and Turn have queued it; "" outside of both.
	Conversation string `json:"conversation,omitzero"`
	Turn         string `json:"turn,omitzero"`
	// Status is queued, running, succeeded, failed or cancelled.
	Status string `json:"status"`
	// Attempts is how often it was tried, this time included.
	Attempts int `json:"attempts"`
	// Due is when it is tried next; of a running job it is the end of its lease.
	Due time.Time `json:"due,omitzero"`
	// Owner is the process that has tried it last.
	Owner string `json:"owner,omitzero"`
	// Failure is how the last attempt failed, in a word.
	Failure string    `json:"failure,omitzero"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

// JobChange is the body of POST /v1/jobs/{job}.
type JobChange struct {
	// Change is cancel, for a job that waits or runs, or retry or drop, for one that has failed or
	// was cancelled.
	Change string `json:"change"`
}

// JobFilter selects jobs; empty fields match all.
type JobFilter struct {
	Kind, Conversation, Status string
	// Before leaves out jobs from this id on; 0 is none.
	Before int64
	// Limit is how many there are at most, up to 1,000; 0 is 100.
	Limit int
}
