package runtime

import (
	"context"
	"errors"
	"slices"

	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// agentOf returns a registered agent, for turns.
func (r *Runtime) agentOf(name string) (*loop.Agent, error) { return coreOf(r.Agent(name)) }

// findAgent is find for turns.
func (r *Runtime) findAgent(ctx context.Context, name string) (*loop.Agent, error) {
	return coreOf(r.find(ctx, name))
}

func coreOf(a *Agent, err error) (*loop.Agent, error) {
	if err != nil {
		return nil, err
	}
	return &a.core, nil
}

// registration is the agent's loop.Registration.
type registration struct{ agent *Agent }

// TrackGuestTurn implements loop.Registration.
func (r registration) TrackGuestTurn(th *loop.Thread) (untrack func(), err error) {
	a, c := r.agent, th.Host.(*host).conv
	a.keepChild(c) // before enter, so that cancelTurns finds it
	s, err := a.enter()
	if err != nil {
		a.dropChild(c)
		return nil, err
	}
	return func() {
		a.dropChild(c)
		a.leave(s)
	}, nil
}

// Child implements loop.Registration.
func (r registration) Child(rec store.Record, parent *loop.Thread) loop.Child {
	above := parent.Host.(*host)
	c := r.agent.newConversation(rec, above, above.conv.home)
	r.agent.keepChild(c)
	return child{c}
}

// child is the conversation of a child turn.
type child struct{ conv *Conversation }

// Thread implements loop.Child.
func (c child) Thread() *loop.Thread { return &c.conv.thread }

// Enter implements loop.Child.
func (c child) Enter(ctx context.Context) (*loop.Handle, context.Context, error) {
	t, ctx := c.conv.newHandle(ctx)
	_, err := c.conv.enter(ctx, t, Refuse)
	return &t.h, ctx, err
}

// Leave implements loop.Child.
func (c child) Leave(h *loop.Handle) {
	h.Cancel(nil)
	c.conv.agent.leave(c.conv.thread.Setup())
	c.conv.vacate()
}

// Drop implements loop.Child.
func (c child) Drop() { c.conv.agent.dropChild(c.conv) }

// find returns the agent. If it is not registered, find registers it with the
// configuration of Options.FindAgent.
func (r *Runtime) find(ctx context.Context, name string) (*Agent, error) {
	agent, err := r.Agent(name)
	if !errors.Is(err, ErrAgentUnknown) || r.o.FindAgent == nil {
		return agent, err
	}
	unlock, err := r.finding.Lock(ctx, name, "", nil) // one of several callers registers it
	if err != nil {
		return nil, err
	}
	defer unlock()
	if agent, err := r.Agent(name); !errors.Is(err, ErrAgentUnknown) {
		return agent, err
	}
	cfg, err := r.o.FindAgent(ctx, name)
	if err != nil {
		return nil, err
	}
	cfg.Name = name
	agent, err = r.Register(context.WithoutCancel(ctx), cfg)
	if errors.Is(err, ErrAgentExists) { // another goroutine just did
		return r.Agent(name)
	}
	return agent, err
}

func (a *Agent) keepChild(c *Conversation) {
	a.mu.Lock()
	a.children = append(a.children, c)
	a.mu.Unlock()
}

func (a *Agent) dropChild(c *Conversation) {
	a.mu.Lock()
	a.children = slices.DeleteFunc(a.children, func(o *Conversation) bool { return o == c })
	a.mu.Unlock()
}

// all returns the agent's conversations, including those of child turns.
func (a *Agent) all() []*Conversation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Concat(a.conversations, a.children)
}
