package hook

import (
	"time"
)

// RunStatus is how a hook run ended.
type RunStatus string

// Run is one hook run: one execution of one hook at one point, or that there was
// none. It never holds what the hook was working on, nor what it made of it; of
// both there are hashes, by which they can be recognized.
type Run struct {
	// Subsystem is the path of the field, "Core.Guard".
	Subsystem string
	Point     Point
	// CallID and Tool name the tool call that the point was about; "" at others.
	CallID  string
	Tool    string
	Started time.Time
	// Queued is when a run that nobody waits for was handed over, before it began;
	// zero for all others.
	Queued time.Time
	// Attempt counts from 1 the times that a job was tried; 0 of what is no job.
	Attempt int
	// Duration is how long the hook took. A wrap's includes what it surrounds, a
	// stream up to its end. 0 for one that was skipped.
	Duration time.Duration
	Status   RunStatus
	// Answer is what the hook contributed to a decision: its own answer, or what its
	// fail policy says in its place. AnswerNone at points that do not decide.
	Answer Answer
	// Reason is what the hook said with its answer, for people; of a failure it says
	// the place and not the cause, which may quote secrets.
	Reason string
	// By is the path of the hook that ended the point, if this one was skipped.
	By string
	// Changed: a rewriter left another value than it got, or a contributor added
	// something.
	Changed bool
	// Visibility is what the field's tag says at the point (visibility=); "" is
	// internal.
	Visibility Visibility
	// Input and Output are the SHA-256 in hex of what the hook got and of what it
	// left, see event.Digest; "" where that is not known. Points about a tool call that
	// rewrite nothing have the call's arguments as input.
	Input, Output string
}

// Event returns the event that tells of the hook run. The composite that
// records tells it when the run is over.
func (r Run) Event() Event {
	return Event{Kind: kindHookRun, Text: r.Reason, detail: &eventDetail{
		EventDetail: EventDetail{
			CallID: r.CallID, Tool: r.Tool, Duration: r.Duration, Answer: r.Answer, By: r.By,
			Subsystem: r.Subsystem, Point: r.Point, Visibility: r.Visibility,
		},
		run: &r,
	}}
}

// Run returns the hook run that the event tells of, and whether it tells of one.
func (e Event) Run() (Run, bool) {
	if e.detail == nil || e.detail.run == nil {
		return Run{}, false
	}
	out := *e.detail.run
	out.Reason = e.Text
	return out, true
}
