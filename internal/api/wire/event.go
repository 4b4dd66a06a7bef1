package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// event has the members of an event as hook.Event writes them.
type event struct {
	Seq          uint64            `json:"seq"`
	Kind         hook.EventKind    `json:"kind"`
	Time         time.Time         `json:"time"`
	Agent        string            `json:"agent"`
	Conversation string            `json:"conversation"`
	Turn         string            `json:"turn"`
	Step         int               `json:"step"`
	Depth        int               `json:"depth"`
	Text         string            `json:"text"`
	CallID       string            `json:"call_id"`
	Tool         string            `json:"tool"`
	Args         hook.JSON         `json:"args"`
	Tools        hook.List[string] `json:"tools"`
	Result       string            `json:"result"`
	Failure      hook.FailureKind  `json:"failure"`
	Outcome      hook.Outcome      `json:"outcome"`
	DurationMS   float64           `json:"duration_ms"`
	Answer       hook.Answer       `json:"answer"`
	By           string            `json:"by"`
	Usage        hook.Usage        `json:"usage"`
	Stop         hook.StopReason   `json:"stop"`
	Subsystem    string            `json:"subsystem"`
	Point        string            `json:"point"`
	Inquiry      hook.Inquiry      `json:"inquiry"`
	Response     hook.Response     `json:"response"`
}

// DecodeEvent reads an event as hook.Event writes it; unknown members are passed
// over. A result comes back as its text, which is all that the wire has of it.
func DecodeEvent(data []byte) (hook.Event, error) {
	var w event
	if err := json.Unmarshal(data, &w); err != nil {
		return hook.Event{}, fmt.Errorf("decode an event: %w", err)
	}
	ev := hook.Event{
		Kind: w.Kind, Seq: w.Seq, Time: w.Time, Agent: w.Agent, Conversation: w.Conversation,
		Turn: w.Turn, Step: w.Step, Depth: w.Depth, Text: w.Text,
	}
	d := hook.EventDetail{
		CallID: w.CallID, Tool: w.Tool, Args: w.Args, Tools: w.Tools, Outcome: w.Outcome,
		Duration: time.Duration(w.DurationMS*1000+0.5) * time.Microsecond, Answer: w.Answer, By: w.By,
		Usage: w.Usage, Stop: w.Stop, Subsystem: w.Subsystem, Point: pointOf(w.Point),
		Inquiry: w.Inquiry, Response: w.Response,
	}
	if w.Result != "" || w.Failure != "" {
		d.Result = hook.FailedResult(w.Failure, w.Result)
	}
	return ev.WithDetail(d), nil
}

func pointOf(name string) hook.Point {
	for p, info := range hook.Points() {
		if info.Name == name {
			return p
		}
	}
	return 0
}
