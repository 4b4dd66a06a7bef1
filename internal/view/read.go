package view

import (
	"context"
	"encoding/json"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Reader supplies the values that a view does not contain.
type Reader struct {
	// Agent returns the configuration of the agent; never nil.
	Agent func(name string) *hook.AgentConfig
	// History returns the stored messages of the conversation.
	History func(conversation string) message.Messages
	// Host is that of the places.
	Host hook.Host
}

// reads decodes a view. The returned function calls an observer with it.
func reads[H any, P Place, V any](r Reader, p hook.Point, text message.JSON, call func(context.Context, H, P, V)) (func(context.Context, hook.Hook) bool, error) {
	var w written
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return nil, unreadable(p, err)
	}
	value, err := valueOf[V](w)
	if err != nil {
		return nil, unreadable(p, err)
	}
	place := placeOf[P](r, w)
	return func(ctx context.Context, h hook.Hook) bool {
		o, ok := h.(H)
		if ok {
			call(ctx, o, place, value)
		}
		return ok
	}, nil
}

func placeOf[P Place](r Reader, w written) (place P) {
	switch p := any(&place).(type) {
	case **hook.Conversation:
		*p = r.conversation(w.Conversation)
	case **hook.Session:
		*p = w.Session.session(r.conversation(w.Conversation))
	case **hook.Turn:
		*p = r.turn(w)
	case **hook.Step:
		*p = hook.NewStep(r.turn(w), w.Step, w.Model)
	}
	return place
}

func valueOf[V any](w written) (value V, err error) {
	switch v := any(&value).(type) {
	case *hook.TurnOutcome:
		*v = w.Outcome.outcome()
	case *hook.Compacted:
		*v = w.Compacted
	case *struct{}:
	default:
		if err := json.Unmarshal(w.Value, &value); err != nil {
			return value, err
		}
	}
	return value, nil
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

func (r Reader) turn(v written) *hook.Turn {
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
