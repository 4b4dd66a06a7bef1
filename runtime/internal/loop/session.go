package loop

import (
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// A session is the time in which this process works on one conversation. It begins with
// OnSessionStart before the first turn. It ends with OnSessionEnd when the agent is unregistered
// or the runtime is closed, and when the history is compacted or cleared: the model then has
// another past. The next turn begins another session. A child has its own session, which lasts
// as long as its turn. A guest's turn is part of the conversation's session. A turn that is
// settled begins a session only if gates have yet to decide about an input of it.

// beginSession asks OnSessionStart unless the session has begun. If a hook rejects the session,
// the turn ends, and the next turn asks about another session.
func (t *Turn) beginSession() bool {
	s := t.session
	if s.begun {
		return true
	}
	t.enterForeign(point.OnSessionStart)
	d, _ := t.base.Hooks.OnSessionStart(t.ctx, s.place)
	d = exitForeignDecided(t.ctx, t, d)
	th := t.thread
	th.mu.Lock()
	if d.Blocks() {
		th.session = nil
	} else {
		th.nextSource = ""
	}
	th.mu.Unlock()
	if d.Blocks() {
		return t.reject(d.Verdict())
	}
	s.begun, s.context = true, d.Context()
	return true
}

// addSessionContext adds the context of OnSessionStart for the model, once.
func (t *Turn) addSessionContext() {
	s := t.session
	for _, text := range s.context.All() {
		t.history.addEphemeral("session", text)
	}
	s.context = message.List[string]{}
}

// addToSession adds the ended turn to the totals of its session.
func (t *Turn) addToSession(out hook.TurnOutcome) {
	if s := t.session; s.begun {
		s.teller.Tell(s.place.Totals().Add(out))
	}
}
