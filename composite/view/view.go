// Package view writes down what an observer is told, so that it can be told later,
// by another process if need be, and reads it back.
//
// Read back are: conversation, sender and agent; session, with its totals; the turn's
// id, number, depth, input, limits, time and how far it was; the outcome. The agent's
// configuration is the one that whoever reads knows by the agent's name, and the
// history the one that is stored by then. Not read back are the states of hooks,
// contributions and the parent of a child's turn: states are empty and nobody keeps
// them. Of an error there is the text that is safe to show, whether it is
// context.Canceled or context.DeadlineExceeded, and of a hook's failure its place.
package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Points are those of which there is a view.
func Points() hook.PointSet {
	return point.Set(point.AfterTurn, point.AfterCompaction, point.OnSessionEnd)
}

// AfterTurn writes the view of [hook.AfterTurn] as a job that is done once a turn.
func AfterTurn(turn *hook.Turn, outcome hook.TurnOutcome) hook.Job {
	return job(turn.ID(), turnView{
		Conversation: conversationOf(turn.Conversation()), Session: sessionOf(turn.Session()),
		ID: turn.ID(), Number: turn.Number(), Depth: turn.Depth(), Started: turn.Started(), Elapsed: turn.Elapsed(),
		Input: turn.Input().Messages, Limits: turn.Limits(), Standing: standingOf(turn.Standing()), Outcome: outcomeOf(outcome),
	})
}

// AfterCompaction writes the view of [hook.AfterCompaction] as a job that is done once
// for what the compaction did.
func AfterCompaction(conversation *hook.Conversation, compacted hook.Compacted) hook.Job {
	return job("", compactedView{Conversation: conversationOf(conversation), Compacted: compacted})
}

// OnSessionEnd writes the view of [hook.OnSessionEnd] as a job that is done once a
// session.
func OnSessionEnd(session *hook.Session) hook.Job {
	return job(session.ID(), sessionView{Conversation: conversationOf(session.Conversation()), Session: sessionOf(session)})
}

// job is the view as the payload of a job. Without an id of what it is about the key
// is empty. What cannot be written has no payload.
func job[T any](id string, v T) hook.Job {
	data, err := json.Marshal(v)
	if err != nil {
		return hook.Job{Key: id}
	}
	return hook.Job{Key: id, Payload: message.JSON(data)}
}

type turnView struct {
	Conversation writtenConversation           `json:"conversation"`
	Session      *writtenSession               `json:"session,omitzero"`
	ID           string                        `json:"id"`
	Number       int                           `json:"number"`
	Depth        int                           `json:"depth,omitzero"`
	Started      time.Time                     `json:"started"`
	Elapsed      time.Duration                 `json:"elapsed,omitzero"`
	Input        message.List[message.Message] `json:"input"`
	Limits       hook.Limits                   `json:"limits,omitzero"`
	Standing     writtenStanding               `json:"standing"`
	Outcome      writtenOutcome                `json:"outcome"`
}

type compactedView struct {
	Conversation writtenConversation `json:"conversation"`
	Compacted    hook.Compacted      `json:"compacted"`
}

type sessionView struct {
	Conversation writtenConversation `json:"conversation"`
	Session      *writtenSession     `json:"session"`
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

// unreadable is the error of a view that says nothing.
func unreadable(p hook.Point, err error) error {
	return fmt.Errorf("what was written down for %s cannot be read: %w", p, err)
}

var errNoView = errors.New("there is no view of this point")
