package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// Run is the record of one hook run, or of one job with all its attempts. It is written when the
// run begins and again when it ends. It never has the input or output of a hook.
type Run struct {
	// ID is unique in the project.
	ID      string `json:"id"`
	Project string `json:"-"`
	// Owner is the process that wrote the record last.
	Owner string `json:"owner,omitzero"`
	// Conversation and Turn are those of the run; "" outside of both.
	Conversation string `json:"conversation,omitzero"`
	Turn         string `json:"turn,omitzero"`
	// Job is the kind of the job; "" for a hook run that is no job.
	Job string `json:"job,omitzero"`
	// Subsystem is the path of the hook's field, Point the point's name; "" for a job of a
	// handler of the program.
	Subsystem string `json:"subsystem,omitzero"`
	Point     string `json:"point,omitzero"`
	// CallID and Tool are those of the tool call that the run is about.
	CallID string `json:"call_id,omitzero"`
	Tool   string `json:"tool,omitzero"`
	// Status is event.RunQueued, event.RunRunning, or how the run ended.
	Status hook.RunStatus `json:"status"`
	// Answer is the answer of a hook that decides.
	Answer hook.Answer `json:"answer,omitzero"`
	// Error is how the run failed, or why its answer denies: text for people, without the cause.
	Error string `json:"error,omitzero"`
	// Queued is zero for a run that was called at once. Started is the start of the first
	// attempt; Ended is zero for a run that has not ended.
	Queued  time.Time `json:"queued,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Attempts are those of a job, in their order; the last MaxAttempts of them. Other runs
	// have none.
	Attempts []RunAttempt `json:"attempts,omitzero"`
}

// RunAttempt is one attempt at a job.
type RunAttempt struct {
	// Number counts from 1.
	Number  int       `json:"number"`
	Started time.Time `json:"started"`
	// DurationMS is how long it took, in milliseconds; 0 until it has ended.
	DurationMS float64        `json:"duration_ms,omitzero"`
	Status     hook.RunStatus `json:"status"`
	Error      string         `json:"error,omitzero"`
}

// Bounds of the records of runs.
const (
	// MaxRuns is how many runs a store keeps of a project: those that began last.
	MaxRuns = 10_000
	// MaxAttempts is how many attempts a record keeps.
	MaxAttempts = 20
	// maxRunText bounds the error of a run, maxRunName its other texts, in bytes.
	maxRunText = 1000
	maxRunName = 256
)

// RunFilter selects runs; empty fields match all.
type RunFilter struct {
	Project string
	// ID, Conversation and Status are exact. Subsystem is the path of a field; that of a
	// composite matches its members too.
	ID, Conversation, Subsystem string
	Status                      hook.RunStatus
	// Limit is the number of results at most; 0 is MaxRuns.
	Limit int
}

// Runs is implemented by stores that keep runs. Implementations are safe for concurrent use,
// also by several processes.
type Runs interface {
	// WriteRuns writes records. One of an ID that the project has already is merged into it, as
	// [MergeRun] says. The store keeps the last MaxRuns of each project.
	WriteRuns(ctx context.Context, runs []Run) error
	// Runs returns the runs that match, the newest first.
	Runs(ctx context.Context, f RunFilter) ([]Run, error)
}

// Match reports whether the filter selects the run.
func (f RunFilter) Match(r Run) bool {
	return r.Project == f.Project && (f.ID == "" || r.ID == f.ID) && (f.Conversation == "" || r.Conversation == f.Conversation) &&
		(f.Status == "" || r.Status == f.Status) && (f.Subsystem == "" || r.Subsystem == f.Subsystem || strings.HasPrefix(r.Subsystem, f.Subsystem+"."))
}

// CheckRun returns an error if the record has no id or no status. Stores call it.
func CheckRun(r Run) error {
	if r.ID == "" || len(r.ID) > maxRunName || r.Status == "" {
		return errors.New("store: a run has to have an id of at most 256 bytes and a status")
	}
	return nil
}

// Bounded returns the record with its texts cut to the bounds, and without its oldest attempts if
// it has too many.
func (r Run) Bounded() Run {
	for _, s := range []*string{&r.Owner, &r.Conversation, &r.Turn, &r.Job, &r.Subsystem, &r.Point, &r.CallID, &r.Tool} {
		*s = cutText(*s, maxRunName)
	}
	r.Error = cutText(r.Error, maxRunText)
	r.Attempts = slices.Clone(r.Attempts[max(0, len(r.Attempts)-MaxAttempts):])
	for i := range r.Attempts {
		r.Attempts[i].Error = cutText(r.Attempts[i].Error, maxRunText)
	}
	return r
}

func cutText(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

// MergeRun returns the record old with what the later record of the same run says. A job that has
// failed and is queued again begins anew. One that is queued while it waits or runs, or after it
// has succeeded, is not queued twice, and keeps its record. An attempt that was running when a
// later one began had been interrupted.
func MergeRun(old, later Run) Run {
	if later.Status == event.RunQueued && !later.Queued.IsZero() {
		switch old.Status {
		case event.RunQueued, event.RunRunning, event.RunSucceeded:
			return old
		}
		return later
	}
	out := later
	for _, f := range []struct{ to, from *string }{
		{&out.Conversation, &old.Conversation}, {&out.Turn, &old.Turn}, {&out.Job, &old.Job}, {&out.Subsystem, &old.Subsystem}, {&out.Point, &old.Point},
		{&out.CallID, &old.CallID}, {&out.Tool, &old.Tool},
	} {
		if *f.to == "" {
			*f.to = *f.from
		}
	}
	if out.Queued.IsZero() {
		out.Queued = old.Queued
	}
	if !old.Started.IsZero() && out.Job != "" || out.Started.IsZero() {
		out.Started = old.Started
	}
	out.Attempts = slices.Clone(old.Attempts)
	for _, a := range later.Attempts {
		i := slices.IndexFunc(out.Attempts, func(o RunAttempt) bool { return o.Number == a.Number })
		if i < 0 {
			out.Attempts = append(out.Attempts, a)
			continue
		}
		out.Attempts[i] = a
	}
	for i := range out.Attempts {
		if a := &out.Attempts[i]; a.Status == event.RunRunning && (i < len(out.Attempts)-1 || out.Status == event.RunInterrupted) {
			a.Status = event.RunInterrupted
		}
	}
	return out
}
