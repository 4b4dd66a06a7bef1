package hook

import (
	"time"
)

// RunStatus is how a hook run ended.
type RunStatus string

// Run is one hook run: one execution of one hook at one point, or the record that it
// was skipped. It never holds the hook's input or output, only their hashes.
type Run struct {
	// ID is that of the run's record where hook runs are kept as records, else "". Events do
	// not have it.
	ID string
	// Subsystem is the path of the field, "Core.Guard".
	Subsystem string
	Point     Point
	// CallID and Tool name the tool call; "" at points that are not about one.
	CallID  string
	Tool    string
	Started time.Time
	// Queued is when a background run was queued; zero for all others.
	Queued time.Time
	// Attempt counts the tries of a job from 1; 0 if the run is no job.
	Attempt int
	// Duration is how long the hook took. A wrap's includes the operation that it
	// surrounds, up to the end of a stream. 0 for a skipped run.
	Duration time.Duration
	Status   RunStatus
	// Answer is the hook's own answer, or that of its fail policy. AnswerNone at
	// points that do not decide.
	Answer Answer
	// Reason is the reason of the hook's answer, for people. Of a failure it has the
	// place but not the cause, which may quote secrets.
	Reason string
	// By is the path of the hook that ended the point, if this one was skipped.
	By string
	// Changed: a rewriter returned another value than it got, or a contributor added
	// something.
	Changed bool
	// Visibility is that of the field's tag (visibility=); "" is internal.
	Visibility Visibility
	// Input and Output are the SHA-256 in hex of what the hook got and of what it
	// left, see event.Digest; "" where that is not known. Points about a tool call that
	// rewrite nothing have the call's arguments as input.
	Input, Output string
}

// Event returns the event that tells of the hook run. The composite that
// records tells it when the run is over.
func (r Run) Event() Event {
	r.ID = ""
	return Event{Kind: kindHookRun, Text: r.Reason, detail: &privateDetail{
		EventDetail: EventDetail{
			CallID: r.CallID, Tool: r.Tool, Duration: r.Duration, Answer: r.Answer, By: r.By,
			Subsystem: r.Subsystem, Point: r.Point, Visibility: r.Visibility,
		},
		run: &r,
	}}
}

// Run returns the hook run that the event is about; false if it is another event.
func (e Event) Run() (Run, bool) {
	if e.detail == nil || e.detail.run == nil {
		return Run{}, false
	}
	out := *e.detail.run
	out.Reason = e.Text
	return out, true
}
