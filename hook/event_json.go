package hook

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// writtenEvent has the members of an event, and of its hook run, in JSON.
type writtenEvent struct {
	Seq          uint64               `json:"seq,omitzero"`
	Kind         EventKind            `json:"kind"`
	Time         time.Time            `json:"time,omitzero"`
	Agent        string               `json:"agent,omitzero"`
	Conversation string               `json:"conversation,omitzero"`
	Epoch        int64                `json:"epoch,omitzero"`
	Turn         string               `json:"turn,omitzero"`
	Ephemeral    bool                 `json:"ephemeral,omitzero"`
	Step         int                  `json:"step,omitzero"`
	Depth        int                  `json:"depth,omitzero"`
	Text         string               `json:"text,omitzero"`
	Omitted      int                  `json:"omitted,omitzero"`
	CallID       string               `json:"call_id,omitzero"`
	Tool         string               `json:"tool,omitzero"`
	Args         message.JSON         `json:"args,omitzero"`
	Tools        message.List[string] `json:"tools,omitzero"`
	// Result is nil without an outcome.
	Result     *string             `json:"result,omitzero"`
	IsError    bool                `json:"is_error,omitzero"`
	Failure    message.FailureKind `json:"failure,omitzero"`
	Outcome    message.Outcome     `json:"outcome,omitzero"`
	DurationMS float64             `json:"duration_ms,omitzero"`
	Answer     Answer              `json:"answer,omitzero"`
	By         string              `json:"by,omitzero"`
	Usage      message.Usage       `json:"usage,omitzero"`
	Cost       Cost                `json:"cost,omitzero"`
	Stop       StopReason          `json:"stop,omitzero"`
	Subsystem  string              `json:"subsystem,omitzero"`
	Point      string              `json:"point,omitzero"`
	Inquiry    Inquiry             `json:"inquiry,omitzero"`
	Response   Response            `json:"response,omitzero"`
	Code       DiagnosticCode      `json:"code,omitzero"`
	Visibility Visibility          `json:"visibility,omitzero"`
	Queued     time.Time           `json:"queued,omitzero"`
	Started    time.Time           `json:"started,omitzero"`
	Status     RunStatus           `json:"status,omitzero"`
	Attempt    int                 `json:"attempt,omitzero"`
	Changed    bool                `json:"changed,omitzero"`
	Input      string              `json:"input_sha256,omitzero"`
	Output     string              `json:"answer_sha256,omitzero"`
}

// MarshalJSON writes the event as one flat object, without empty members: the
// form on the wire.
func (e Event) MarshalJSON() ([]byte, error) {
	d := e.Detail()
	r, _ := e.Run()
	w := writtenEvent{
		Seq: e.Seq, Kind: e.Kind, Time: e.Time, Agent: e.Agent, Conversation: e.Conversation,
		Epoch: e.Epoch, Turn: e.Turn, Ephemeral: e.Ephemeral, Step: e.Step, Depth: e.Depth, Text: e.Text, Omitted: e.Omitted,
		CallID: d.CallID, Tool: d.Tool, Args: d.Args, Tools: d.Tools,
		IsError: d.Result.IsError(), Failure: d.Result.Failure, Outcome: d.Outcome,
		DurationMS: float64(d.Duration.Microseconds()) / 1000, Answer: d.Answer, By: d.By,
		Usage: d.Usage, Cost: d.Cost, Stop: d.Stop, Subsystem: d.Subsystem, Point: d.Point.String(),
		Inquiry: d.Inquiry, Response: d.Response, Code: d.Code, Visibility: d.Visibility,
		Queued: r.Queued, Started: r.Started, Status: r.Status, Attempt: r.Attempt, Changed: r.Changed,
		Input: r.Input, Output: r.Output,
	}
	if d.Outcome != "" {
		text := d.Result.Text()
		w.Result = &text
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON has written; unknown members are passed
// over. A result comes back as its text, which is all that was written of it.
func (e *Event) UnmarshalJSON(data []byte) error {
	var w writtenEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*e = Event{
		Kind: w.Kind, Seq: w.Seq, Epoch: w.Epoch, Time: w.Time, Agent: w.Agent, Conversation: w.Conversation,
		Turn: w.Turn, Ephemeral: w.Ephemeral, Step: w.Step, Depth: w.Depth, Text: w.Text, Omitted: w.Omitted,
	}
	if w.Kind == kindHookRun {
		e.detail = w.run().Event().detail
	} else {
		e.detail = &privateDetail{EventDetail: w.detail()}
	}
	return nil
}

func (w *writtenEvent) detail() EventDetail {
	d := EventDetail{
		CallID: w.CallID, Tool: w.Tool, Args: w.Args, Tools: w.Tools, Outcome: w.Outcome,
		Duration: w.duration(), Answer: w.Answer, By: w.By,
		Usage: w.Usage, Cost: w.Cost, Stop: w.Stop, Subsystem: w.Subsystem, Point: pointOf(w.Point),
		Inquiry: w.Inquiry, Response: w.Response, Code: w.Code, Visibility: w.Visibility,
	}
	var text string
	if w.Result != nil {
		text = *w.Result
	}
	if text != "" || w.Failure != "" {
		d.Result = message.FailedResult(w.Failure, text)
	}
	return d
}

func (w *writtenEvent) run() Run {
	return Run{
		Subsystem: w.Subsystem, Point: pointOf(w.Point), CallID: w.CallID, Tool: w.Tool, Queued: w.Queued, Started: w.Started,
		Duration: w.duration(), Status: w.Status, Attempt: w.Attempt, Answer: w.Answer, Reason: w.Text, By: w.By, Changed: w.Changed,
		Visibility: w.Visibility, Input: w.Input, Output: w.Output,
	}
}

func (w *writtenEvent) duration() time.Duration {
	return time.Duration(w.DurationMS*1000+0.5) * time.Microsecond
}

func pointOf(name string) Point {
	return Point(max(0, slices.Index(pointNames[:], name)))
}
