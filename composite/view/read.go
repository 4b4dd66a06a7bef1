package view

import (
	"context"
	"encoding/json"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Reader has what a view does not.
type Reader struct {
	// Agent returns the configuration of the agent; never nil.
	Agent func(name string) *hook.AgentConfig
	// History returns what is stored of the conversation.
	History func(conversation string) message.Messages
	// Host is that of the places.
	Host hook.Host
}

// Read reads a view back. Tell tells it to a hook, and reports whether the hook has
// the point.
func (r Reader) Read(p hook.Point, written message.JSON) (tell func(context.Context, hook.Hook) bool, err error) {
	switch p {
	case point.AfterTurn:
		v, err := read[turnView](p, written)
		if err != nil {
			return nil, err
		}
		turn, outcome := r.turn(v), v.Outcome.outcome()
		return func(ctx context.Context, h hook.Hook) bool {
			o, ok := h.(hook.AfterTurn)
			if ok {
				o.AfterTurn(ctx, turn, outcome)
			}
			return ok
		}, nil
	case point.AfterCompaction:
		v, err := read[compactedView](p, written)
		if err != nil {
			return nil, err
		}
		conversation := r.conversation(v.Conversation)
		return func(ctx context.Context, h hook.Hook) bool {
			o, ok := h.(hook.AfterCompaction)
			if ok {
				o.AfterCompaction(ctx, conversation, v.Compacted)
			}
			return ok
		}, nil
	case point.OnSessionEnd:
		v, err := read[sessionView](p, written)
		if err != nil {
			return nil, err
		}
		session := v.Session.session(r.conversation(v.Conversation))
		return func(ctx context.Context, h hook.Hook) bool {
			o, ok := h.(hook.OnSessionEnd)
			if ok {
				o.OnSessionEnd(ctx, session)
			}
			return ok
		}, nil
	}
	return nil, unreadable(p, errNoView)
}

func read[T any](p hook.Point, written message.JSON) (v T, err error) {
	if err := json.Unmarshal([]byte(written), &v); err != nil {
		return v, unreadable(p, err)
	}
	return v, nil
}

func (r Reader) conversation(w writtenConversation) *hook.Conversation {
	return hook.NewConversation(hook.ConversationData{ID: w.ID, Sender: w.Sender, Agent: r.Agent(w.Agent), Host: r.Host})
}

func (w *writtenSession) session(c *hook.Conversation) *hook.Session {
	if w == nil {
		return nil
	}
	s, teller := hook.NewSession(hook.SessionData{Conversation: c, ID: w.ID, Source: w.Source, Started: w.Started})
	teller.Tell(w.Totals)
	return s
}

func (r Reader) turn(v turnView) *hook.Turn {
	c := r.conversation(v.Conversation)
	turn, teller := hook.NewTurn(hook.TurnData{
		Conversation: c, Session: v.Session.session(c), ID: v.ID, Number: v.Number, Depth: v.Depth, Started: v.Started,
		Input: message.Input{Messages: v.Input}, Limits: v.Limits, Now: func() time.Time { return v.Started.Add(v.Elapsed) },
	})
	s := hook.Standing{
		History: r.History(v.Conversation.ID), Usage: v.Standing.Usage, Cost: v.Standing.Cost, Steps: v.Standing.Steps, Signals: v.Standing.Signals,
	}
	for _, err := range v.Standing.Errors {
		s.Errors = s.Errors.Append(err.read())
	}
	teller.Tell(s)
	return turn
}
