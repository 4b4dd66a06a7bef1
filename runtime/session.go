package runtime

import (
	"cmp"
	"context"

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

// session is the one of a conversation. What is not the place belongs to the
// running turn.
type session struct {
	place  *hook.Session
	teller hook.SessionTeller
	// begun: OnSessionStart has let it begin.
	begun bool
	// context is what OnSessionStart has for the model, until a turn takes it.
	context message.List[string]
}

// attached returns the session, which is made if there is none. A session begins
// with the source unless the conversation knows a better one.
func (c *Conversation) attached(source hook.SessionSource) *session {
	c.mu.Lock()
	s, next := c.session, c.next
	c.mu.Unlock()
	if s != nil {
		return s
	}
	o := &c.agent.rt.o
	made := new(session)
	made.place, made.teller = hook.NewSession(hook.SessionData{
		Conversation: c.place, ID: o.NewID(), Source: cmp.Or(next, source), Started: o.Now(),
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		c.session = made
	}
	return c.session
}

// source is what a session begins with as the history stands.
func (c *Conversation) source() hook.SessionSource {
	if c.lease.History().Len() == 0 && c.lease.Turns() == 0 {
		return hook.SessionStartup
	}
	return hook.SessionResume
}

// beginSession asks OnSessionStart unless the session has begun. If it is rejected
// the turn ends, and the next one asks again, about another session.
func (t *turn) beginSession() bool {
	s := t.session
	if s.begun {
		return true
	}
	t.away(point.OnSessionStart)
	d, _ := t.conv.agent.hooks.OnSessionStart(t.ctx, s.place)
	d = answered(t.ctx, t, d)
	c := t.conv
	c.mu.Lock()
	if d.Blocks() {
		c.session = nil
	} else {
		c.next = ""
	}
	c.mu.Unlock()
	if d.Blocks() {
		return t.reject(d.Verdict())
	}
	s.begun, s.context = true, d.Context()
	return true
}

// noteSession tells the model what OnSessionStart has for it, once.
func (t *turn) noteSession() {
	s := t.session
	for _, text := range s.context.All() {
		t.history.note("session", text)
	}
	s.context = message.List[string]{}
}

// endSession ends the session if one has begun. The next one begins with the
// source; "" is what the history says then. No turn is running.
func (c *Conversation) endSession(ctx context.Context, t *turn, next hook.SessionSource) {
	if s := c.takeSession(next); s != nil {
		c.sessionEnded(ctx, t, s)
	}
}

// takeSession takes the session away from the conversation and returns it if hooks have to
// be told of its end.
func (c *Conversation) takeSession(next hook.SessionSource) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.session
	c.session, c.next = nil, next
	if s == nil || !s.begun || !c.agent.hooks.Has(point.OnSessionEnd) {
		return nil
	}
	return s
}

// sessionEnded tells the hooks that the session has ended. t is the turn whose loop does
// so, nil outside of a loop.
func (c *Conversation) sessionEnded(ctx context.Context, t *turn, s *session) {
	ctx = context.WithoutCancel(ctx)
	t.away(point.OnSessionEnd)
	c.agent.hooks.OnSessionEnd(ctx, s.place)
	t.returned()
	_ = c.lease.Flush(ctx) // what is not written now is with the next turn, if there is one
}

// account adds the turn, which has ended, to its session.
func (t *turn) account(out hook.TurnOutcome) {
	if s := t.session; s.begun {
		s.teller.Tell(s.place.Totals().Add(out))
	}
}
