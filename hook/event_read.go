package hook

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// writtenEvent is the JSON of an event as UnmarshalJSON reads it. MarshalJSON writes the same
// members from a struct of its own; a new member stands in both.
type writtenEvent struct {
	Seq          uint64               `json:"seq"`
	Kind         EventKind            `json:"kind"`
	Time         time.Time            `json:"time"`
	Agent        string               `json:"agent"`
	Conversation string               `json:"conversation"`
	Epoch        int64                `json:"epoch"`
	Turn         string               `json:"turn"`
	Step         int                  `json:"step"`
	Depth        int                  `json:"depth"`
	Text         string               `json:"text"`
	Omitted      int                  `json:"omitted"`
	CallID       string               `json:"call_id"`
	Tool         string               `json:"tool"`
	Args         message.JSON         `json:"args"`
	Tools        message.List[string] `json:"tools"`
	Result       string               `json:"result"`
	Failure      message.FailureKind  `json:"failure"`
	Outcome      Outcome              `json:"outcome"`
	DurationMS   float64              `json:"duration_ms"`
	Answer       Answer               `json:"answer"`
	By           string               `json:"by"`
	Usage        message.Usage        `json:"usage"`
	Cost         Cost                 `json:"cost"`
	Stop         StopReason           `json:"stop"`
	Subsystem    string               `json:"subsystem"`
	Point        string               `json:"point"`
	Inquiry      Inquiry              `json:"inquiry"`
	Response     Response             `json:"response"`
	Code         DiagnosticCode       `json:"code"`
	Visibility   Visibility           `json:"visibility"`
	writtenRun
}

// UnmarshalJSON reads the JSON of MarshalJSON and ignores unknown members. A result has
// only its text, because MarshalJSON writes no more of it.
func (e *Event) UnmarshalJSON(data []byte) error {
	var w writtenEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	d := EventDetail{
		CallID: w.CallID, Tool: w.Tool, Args: w.Args, Tools: w.Tools, Outcome: w.Outcome,
		Duration: time.Duration(w.DurationMS*1000+0.5) * time.Microsecond, Answer: w.Answer, By: w.By,
		Usage: w.Usage, Cost: w.Cost, Stop: w.Stop, Subsystem: w.Subsystem, Point: pointOf(w.Point),
		Inquiry: w.Inquiry, Response: w.Response, Code: w.Code, Visibility: w.Visibility,
	}
	if w.Result != "" || w.Failure != "" {
		d.Result = message.FailedResult(w.Failure, w.Result)
	}
	out := Event{
		Kind: w.Kind, Seq: w.Seq, Epoch: w.Epoch, Time: w.Time, Agent: w.Agent, Conversation: w.Conversation,
		Turn: w.Turn, Step: w.Step, Depth: w.Depth, Text: w.Text, Omitted: w.Omitted,
	}
	if w.Kind == kindHookRun {
		*e = w.run(out, d)
		return nil
	}
	*e = out.WithDetail(d)
	return nil
}

func pointOf(name string) Point {
	return Point(max(0, slices.Index(pointNames[:], name)))
}
