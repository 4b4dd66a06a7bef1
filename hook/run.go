package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// RunStatus is how a hook run ended.
type RunStatus string

// Run is one hook run: one execution of one hook at one point, or the record that it
// was skipped. It never holds the hook's input or output, only their hashes.
type Run struct {
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
	// Input and Output are the SHA-256 in hex of the values that the hook got and
	// returned, see [Digest]; "" if unknown. At a point about a tool call that
	// rewrites nothing the input is the call's arguments.
	Input, Output string
}

// RunEvent returns the event of a hook run. A recording composite emits it when the run
// has ended.
func RunEvent(r Run) Event {
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

// Digest returns the SHA-256 of a value in hex, for a hook run: of the text if it is a
// [message.JSON], otherwise of the output of encoding/json; "" for a value that cannot be
// encoded.
func Digest[T any](v T) string {
	text, ok := any(v).(message.JSON)
	data := []byte(text)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			return ""
		}
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// writtenRun has the members of a hook run that no other event has.
type writtenRun struct {
	Queued  time.Time `json:"queued,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Status  RunStatus `json:"status,omitzero"`
	Attempt int       `json:"attempt,omitzero"`
	Changed bool      `json:"changed,omitzero"`
	Input   string    `json:"input_sha256,omitzero"`
	Output  string    `json:"answer_sha256,omitzero"`
}

func (e Event) writtenRun() writtenRun {
	r, _ := e.Run()
	return writtenRun{r.Queued, r.Started, r.Status, r.Attempt, r.Changed, r.Input, r.Output}
}

// run returns e as the event of a hook run, which it makes of w and d.
func (w *writtenEvent) run(e Event, d EventDetail) Event {
	return e.with(RunEvent(Run{
		Subsystem: d.Subsystem, Point: d.Point, CallID: d.CallID, Tool: d.Tool, Queued: w.Queued, Started: w.Started, Duration: d.Duration,
		Status: w.Status, Attempt: w.Attempt, Answer: d.Answer, Reason: e.Text, By: d.By, Changed: w.Changed, Visibility: d.Visibility,
		Input: w.Input, Output: w.Output,
	}))
}

func (e Event) with(o Event) Event { e.detail = o.detail; return e }
