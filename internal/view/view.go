// Package view encodes the arguments of an observer, so that a job can call the observer
// later, even in another process, and decodes them.
//
// A view has conversation, sender and agent; session, with its totals; the turn's id,
// number, depth, input, limits, time and progress; and the outcome. The [Reader] supplies the
// agent's configuration by the agent's name, and the history as it is stored by then. A view
// does not have the states of hooks, contributions and the parent of a child's turn: the
// decoded places have empty states that are not stored. Of an error it has the text that is
// safe to show, whether it is context.Canceled or context.DeadlineExceeded, and of a hook's
// failure its place.
package view

//go:generate go run ../../gen/internal/pointgen view ../../hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Place is the place of an observer that can run in the background.
type Place interface {
	*hook.Conversation | *hook.Session | *hook.Turn | *hook.Step
}

// Of encodes the arguments of an observer as a job. The job runs once for a session or a turn. For conversations and steps, which have
// no id, each call has a job of its own.
func Of[P Place, V any](place P, value V) hook.Job {
	var w written
	key := w.place(place)
	switch v := any(value).(type) {
	case hook.TurnOutcome:
		w.Outcome = outcomeOf(v)
	case hook.Compacted:
		w.Compacted = v
	case struct{}:
	default:
		w.Value, w.failed = json.Marshal(v)
	}
	return w.job(key)
}

// place encodes the place with those around it, and returns its id.
func (w *written) place(place any) (id string) {
	switch p := place.(type) {
	case *hook.Conversation:
		w.Conversation = conversationOf(p)
	case *hook.Session:
		w.Conversation, w.Session = conversationOf(p.Conversation()), sessionOf(p)
		return p.ID()
	case *hook.Turn:
		w.Conversation, w.Session, w.writtenTurn = conversationOf(p.Conversation()), sessionOf(p.Session()), turnOf(p)
		return p.ID()
	case *hook.Step:
		w.place(p.Turn())
		w.Step, w.Model = p.Number(), p.Model()
	}
	return ""
}

// job returns a job with the view as its payload; without one if it cannot be encoded. id is
// that of the place; without one the key is empty.
func (w *written) job(id string) hook.Job {
	data, err := json.Marshal(w)
	if err != nil || w.failed != nil {
		return hook.Job{Key: id}
	}
	return hook.Job{Key: id, Payload: message.JSON(data)}
}

// written is the JSON of an observer's arguments: the place with those around it, and the value.
type written struct {
	Conversation writtenConversation `json:"conversation"`
	Session      *writtenSession     `json:"session,omitzero"`
	writtenTurn
	// Step is the number of the step, Model its model.
	Step  int    `json:"step,omitzero"`
	Model string `json:"model,omitzero"`

	Outcome   writtenOutcome `json:"outcome,omitzero"`
	Compacted hook.Compacted `json:"compacted,omitzero"`
	// Value is any other value.
	Value json.RawMessage `json:"value,omitzero"`
	// failed is the error of encoding the value.
	failed error
}

type writtenTurn struct {
	ID       string                        `json:"id,omitzero"`
	Number   int                           `json:"number,omitzero"`
	Depth    int                           `json:"depth,omitzero"`
	Started  time.Time                     `json:"started,omitzero"`
	Elapsed  time.Duration                 `json:"elapsed,omitzero"`
	Input    message.List[message.Message] `json:"input,omitzero"`
	Limits   hook.Limits                   `json:"limits,omitzero"`
	Standing writtenStanding               `json:"standing,omitzero"`
}

func turnOf(t *hook.Turn) writtenTurn {
	return writtenTurn{
		ID: t.ID(), Number: t.Number(), Depth: t.Depth(), Started: t.Started(), Elapsed: t.Elapsed(),
		Input: t.Input().Messages, Limits: t.Limits(), Standing: standingOf(t.Standing()),
	}
}

type writtenConversation struct {
	ID     string `json:"id"`
	Sender string `json:"sender,omitzero"`
	Agent  string `json:"agent,omitzero"`
}

func conversationOf(c *hook.Conversation) writtenConversation {
	w := writtenConversation{ID: c.ID(), Sender: c.Sender()}
	if cfg := c.Agent(); cfg != nil {
		w.Agent = cfg.Name
	}
	return w
}

type writtenSession struct {
	ID      string             `json:"id"`
	Source  hook.SessionSource `json:"source,omitzero"`
	Started time.Time          `json:"started,omitzero"`
	Totals  hook.Totals        `json:"totals,omitzero"`
}

func sessionOf(s *hook.Session) *writtenSession {
	if s == nil {
		return nil
	}
	return &writtenSession{s.ID(), s.Source(), s.Started(), s.Totals()}
}

type writtenStanding struct {
	Usage   message.Usage                 `json:"usage,omitzero"`
	Cost    hook.Cost                     `json:"cost,omitzero"`
	Steps   int                           `json:"steps,omitzero"`
	Signals message.List[hook.StopSignal] `json:"signals,omitzero"`
	Errors  []*writtenError               `json:"errors,omitzero"`
}

func standingOf(s hook.Standing) writtenStanding {
	w := writtenStanding{Usage: s.Usage, Cost: s.Cost, Steps: s.Steps, Signals: s.Signals}
	for _, err := range s.Errors.All() {
		w.Errors = append(w.Errors, errorOf(err))
	}
	return w
}

type writtenOutcome struct {
	Stop     hook.StopReason               `json:"stop"`
	Signals  message.List[hook.StopSignal] `json:"signals,omitzero"`
	Message  *message.Message              `json:"message,omitzero"`
	Usage    message.Usage                 `json:"usage,omitzero"`
	Steps    int                           `json:"steps,omitzero"`
	Calls    int                           `json:"calls,omitzero"`
	Cost     hook.Cost                     `json:"cost,omitzero"`
	Duration time.Duration                 `json:"duration,omitzero"`
	Err      *writtenError                 `json:"err,omitzero"`
}

func outcomeOf(o hook.TurnOutcome) writtenOutcome {
	w := writtenOutcome{
		Stop: o.Stop, Signals: o.Signals, Usage: o.Usage, Steps: o.Steps, Calls: o.Calls, Cost: o.Cost, Duration: o.Duration, Err: errorOf(o.Err),
	}
	if o.Message.Role != "" {
		w.Message = &o.Message
	}
	return w
}

func (w writtenOutcome) outcome() hook.TurnOutcome {
	o := hook.TurnOutcome{
		Stop: w.Stop, Signals: w.Signals, Usage: w.Usage, Steps: w.Steps, Calls: w.Calls, Cost: w.Cost, Duration: w.Duration, Err: w.Err.read(),
	}
	if w.Message != nil {
		o.Message = *w.Message
	}
	return o
}

func unreadable(p hook.Point, err error) error {
	return fmt.Errorf("the stored arguments of %s cannot be read: %w", p, err)
}

var errNoView = errors.New("there is no view of this point")
