package loop

import (
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// A session is the time in which this process works on one conversation. It begins
// before the first turn, with OnSessionStart, and ends with OnSessionEnd when the
// agent is unregistered or the runtime closed; or when the history is compacted or
// cleared, because the model has another past from then on. The next turn then
// begins another session. The conversation of a child has a session of its own that
// lasts for the child's turn. A guest's turn is part of the conversation's session.
// A turn that is only brought to its end begins one only if hooks have yet to judge what
// was said to it: no model is asked, and no tool runs.

// beginSession asks OnSessionStart unless the session has begun. If it is rejected
// the turn ends, and the next one asks again, about another session.
func (t *Turn) beginSession() bool {
	s := t.session
	if s.begun {
		return true
	}
	t.enterForeign(point.OnSessionStart)
	d, _ := t.thread.Agent.Hooks.OnSessionStart(t.ctx, s.place)
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

// addSessionContext tells the model what OnSessionStart has for it, once.
func (t *Turn) addSessionContext() {
	s := t.session
	for _, text := range s.context.All() {
		t.history.addEphemeral("session", text)
	}
	s.context = message.List[string]{}
}

// addToSession adds the turn, which has ended, to its session.
func (t *Turn) addToSession(out hook.TurnOutcome) {
	if s := t.session; s.begun {
		s.teller.Tell(s.place.Totals().Add(out))
	}
}
