package wire

import (
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// RanTurn is a turn of a conversation as its kept events tell it, with the turns of other agents within it.
type RanTurn struct {
	ID           string `json:"id"`
	Agent        string `json:"agent"`
	Conversation string `json:"conversation"`
	// Text is the first 200 characters of what began it.
	Text    string    `json:"text"`
	Started time.Time `json:"started"`
	// Ended is zero while it runs, and if its process ended before it.
	Ended time.Time       `json:"ended,omitzero"`
	Stop  hook.StopReason `json:"stop,omitzero"`
	// Error is the last error that it told of.
	Error string `json:"error,omitzero"`
	// Steps are its own. Calls are those that have ended, with those of the turns within it; Denied is how many of them were denied.
	Steps  int           `json:"steps"`
	Calls  int           `json:"calls"`
	Denied int           `json:"denied"`
	Usage  message.Usage `json:"usage"`
	Cost   hook.Cost     `json:"cost,omitzero"`
	// First and Last are the ids of its first event, and of its last one so far.
	First string `json:"first"`
	Last  string `json:"last"`
}

// RanTurns is a list of turns, the newest first.
type RanTurns struct {
	Turns []RanTurn `json:"turns"`
}

// TurnEvents is a turn with its events.
type TurnEvents struct {
	Turn   RanTurn      `json:"turn"`
	Events []hook.Event `json:"events"`
	// More: there are more events than an answer has.
	More bool `json:"more,omitzero"`
}

// Explained is one call with the hooks that decided about it.
type Explained struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Owner is the path of the field that has the tool; "" if it is not known.
	Owner        string    `json:"owner,omitzero"`
	Agent        string    `json:"agent"`
	Conversation string    `json:"conversation"`
	Turn         string    `json:"turn"`
	Step         int       `json:"step"`
	Time         time.Time `json:"time"`
	// Outcome is "" while the call has not ended.
	Outcome message.Outcome     `json:"outcome,omitzero"`
	Failure message.FailureKind `json:"failure,omitzero"`
	// By is the path of the hook whose answer took the place of the tool: it denied the call, or gave a result. "" if none did.
	By         string  `json:"by,omitzero"`
	DurationMS float64 `json:"duration_ms,omitzero"`
	// Recorded: hook runs were recorded, so Points has all. Otherwise it has only approvals and failures.
	Recorded bool             `json:"recorded"`
	Points   []ExplainedPoint `json:"points"`
	// Others is how many other calls had the same id.
	Others int `json:"others,omitzero"`
}

// ExplainedPoint is one pass through a point.
type ExplainedPoint struct {
	Point string         `json:"point"`
	Runs  []ExplainedRun `json:"runs"`
	// Why says which answer counts, and why; "" at points that do not decide.
	Why string `json:"why,omitzero"`
}

// ExplainedRun is the run of one hook.
type ExplainedRun struct {
	// Field is its path; "" if it is not known.
	Field string `json:"field,omitzero"`
	// Option has the options of the field at the point.
	Option     string          `json:"option,omitzero"`
	Status     hook.RunStatus  `json:"status"`
	Answer     hook.Answer     `json:"answer,omitzero"`
	Reason     string          `json:"reason,omitzero"`
	By         string          `json:"by,omitzero"`
	Changed    bool            `json:"changed,omitzero"`
	DurationMS float64         `json:"duration_ms,omitzero"`
	Visibility hook.Visibility `json:"visibility,omitzero"`
	// Counts: this is the answer that counts.
	Counts bool `json:"counts,omitzero"`
}
