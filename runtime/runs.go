package runtime

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/runlog"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Runs returns the records of hook runs and jobs of this project that match, the newest first.
// The Project of the filter is ignored. A run that began in a process which has died since is
// interrupted. Records of the last moments may be missing: they are written in the background,
// and a failure of the store loses them without any other effect. The error is ErrUnsupported
// if the store keeps no runs, or that of the store.
func (r *Runtime) Runs(ctx context.Context, f store.RunFilter) ([]store.Run, error) {
	s, ok := r.o.Store.(store.Runs)
	if !ok {
		return nil, fmt.Errorf("%w: runs", ErrUnsupported)
	}
	f.Project = r.o.Project
	return InterruptedRuns(ctx, s, f, r.o.Gone)
}

// InterruptedRuns returns the runs of the store that match. Those that run in a process that is
// gone are interrupted; nil is a function that knows none.
func InterruptedRuns(ctx context.Context, s store.Runs, f store.RunFilter, gone func(owner string) bool) ([]store.Run, error) {
	status := f.Status
	if gone != nil && (status == event.RunInterrupted || status == event.RunRunning) {
		f.Status = "" // a record that says running may be of either
	}
	limit := f.Limit
	if f.Status != status {
		f.Limit = 0
	}
	runs, err := s.Runs(ctx, f)
	if err != nil || gone == nil {
		return runs, err
	}
	var out []store.Run
	for _, r := range runlog.Interrupted(runs, gone) {
		if status != "" && r.Status != status {
			continue
		}
		if out = append(out, r); limit > 0 && len(out) == limit {
			break
		}
	}
	return out, nil
}

// newRuns returns the log of this process's runs; nil if the store keeps none.
func (r *Runtime) newRuns() *runlog.Log {
	s, ok := r.o.Store.(store.Runs)
	if !ok {
		return nil
	}
	return runlog.New(runlog.Config{
		Store: s, Project: r.o.Project, Owner: r.o.Owner, Now: r.o.Now, Gone: r.o.Gone,
		Told: func(ctx context.Context, d hook.Diagnostic) { r.host.emit(ctx, d.Event()) },
	})
}

// hookRuns puts the hook runs that a composite records into the log.
type hookRuns struct{ rt *Runtime }

var _ composite.RunLog = hookRuns{}

// NewID implements composite.RunLog.
func (hookRuns) NewID() string { return "run-" + rand.Text() }

// Put implements composite.RunLog.
func (h hookRuns) Put(ctx context.Context, at hook.Host, r hook.Run) {
	out := store.Run{
		ID: r.ID, Subsystem: r.Subsystem, Point: r.Point.String(), CallID: r.CallID, Tool: r.Tool,
		Status: r.Status, Answer: r.Answer, Queued: r.Queued, Started: r.Started,
	}
	switch r.Status {
	case event.RunSucceeded, event.RunRunning, event.RunQueued:
	default:
		out.Error = r.Reason
	}
	if r.Status == event.RunQueued {
		out.Started = time.Time{}
	}
	if r.Status != event.RunRunning && r.Status != event.RunQueued {
		out.Ended = r.Started.Add(r.Duration)
	}
	if e, ok := at.(eventHost); ok {
		at = e.host
	}
	if own, ok := at.(*host); ok {
		out.Conversation, out.Turn = own.log.Conversation(), own.turnOf(ctx)
	}
	h.rt.runLog.Put(out)
}

// jobRunID returns the id of the record of a job, the same in all processes.
func jobRunID(kind, key string) string {
	return "job-" + event.Digest(message.JSON(kind + "\x00" + key))[:24]
}

// jobRun returns the record of a job without its status.
func (r *Runtime) jobRun(j store.Job) store.Run {
	out := store.Run{ID: jobRunID(j.Kind, j.Key), Job: j.Kind, Conversation: j.Conversation, Turn: j.Turn}
	if j.Kind == KindBackground {
		if m, ok := r.calledBy(j.Payload); ok {
			out.Subsystem, out.Point = m.Path, m.Point.String()
		}
	}
	return out
}

// jobQueued records that a job was queued.
func (r *Runtime) jobQueued(j store.Job) {
	out := r.jobRun(j)
	out.Status, out.Queued = event.RunQueued, r.o.Now()
	r.runLog.Put(out)
}

// jobBegan records the start of an attempt.
func (r *Runtime) jobBegan(j store.Job, started time.Time) {
	out := r.jobRun(j)
	out.Status, out.Started, out.Queued = event.RunRunning, started, j.Created
	out.Attempts = []store.RunAttempt{{Number: j.Attempts, Started: started, Status: event.RunRunning}}
	r.runLog.Put(out)
}

// jobEnded records the end of an attempt; a zero start is a job that ended without one.
func (r *Runtime) jobEnded(j store.Job, started time.Time, end store.JobEnd) {
	out, now := r.jobRun(j), r.o.Now()
	status := attemptStatus(end)
	out.Error = end.Failure
	if out.Status = event.RunQueued; end.Status != store.JobQueued {
		out.Status, out.Ended = status, now
	}
	if !started.IsZero() {
		out.Started = started
		out.Attempts = []store.RunAttempt{{
			Number: j.Attempts, Started: started, DurationMS: float64(now.Sub(started).Microseconds()) / 1000, Status: status, Error: end.Failure,
		}}
	}
	r.runLog.Put(out)
}

func attemptStatus(end store.JobEnd) hook.RunStatus {
	switch {
	case end.Status == store.JobSucceeded:
		return event.RunSucceeded
	case end.Failure == "timeout":
		return event.RunTimedOut
	case end.Failure == "panic":
		return event.RunPanicked
	case end.Uncounted || end.Failure == "interrupted":
		return event.RunInterrupted
	}
	return event.RunFailed
}
