package composite

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
)

// OnOpen implements [hook.OnOpen]: in order; if one fails, those before it are closed in
// reverse order.
func (c *Composite) OnOpen(ctx context.Context, host hook.Host) error {
	if c.rec != nil {
		c.rec.host.Store(&host)
	}
	b := bracket{walk: walk{point: point.OnOpen}}
	for i := range c.entries.onOpen {
		e := &c.entries.onOpen[i]
		c.openOrClose(ctx, &b, e.index, &e.as, nil, host, func(ctx context.Context) error { return e.hook.OnOpen(ctx, host) })
		if b.err != nil {
			return joinErrors(b.err, c.opened().close(ctx, e.index))
		}
	}
	return nil
}

// OnClose implements [hook.OnClose]: in reverse order, all of them.
func (c *Composite) OnClose(ctx context.Context) error { return c.close(ctx, len(c.members)) }

func (c *Composite) close(ctx context.Context, n int) error {
	b := bracket{walk: walk{point: point.OnClose}}
	closing := before(c.entries.onClose, n)
	for i := range closing {
		e := &closing[i]
		c.openOrClose(ctx, &b, e.index, &e.as, nil, c.opener(), e.hook.OnClose)
	}
	return b.err
}

// OnRegisterAgent implements [hook.Hook]: in order; if one fails, those before it get
// OnUnregisterAgent in reverse order.
func (c *Composite) OnRegisterAgent(ctx context.Context, cfg *hook.AgentConfig) error {
	b := bracket{walk: walk{point: point.OnRegisterAgent}}
	for i := range c.entries.onRegisterAgent {
		e := &c.entries.onRegisterAgent[i]
		c.openOrClose(ctx, &b, e.index, &e.as, cfg, cfg.Host(), func(ctx context.Context) error { return e.hook.OnRegisterAgent(ctx, cfg) })
		if b.err != nil {
			c.opened().unregister(ctx, e.index, cfg)
			return b.err
		}
	}
	return nil
}

// OnUnregisterAgent implements [hook.Hook]: in reverse order.
func (c *Composite) OnUnregisterAgent(ctx context.Context, cfg *hook.AgentConfig) {
	c.unregister(ctx, len(c.members), cfg)
}

func (c *Composite) unregister(ctx context.Context, n int, cfg *hook.AgentConfig) {
	call := func(h hook.Hook, ctx context.Context, cfg *hook.AgentConfig, _ none) { h.OnUnregisterAgent(ctx, cfg) }
	observe(ctx, c, point.OnUnregisterAgent, before(c.entries.onUnregisterAgent, n), cfg, none{}, call, nil)
}

// opened returns the composite that undoes a partial start. It leaves out the author's own
// methods, because they close all members.
func (c *Composite) opened() *Composite {
	if c.membersOnly != nil {
		return c.membersOnly
	}
	return c
}

// before returns the entries of the first n members; the entries are in reverse order.
func before[H any](entries []entry[H], n int) []entry[H] {
	for i := range entries {
		if entries[i].index < n {
			return entries[i:]
		}
	}
	return nil
}

func (c *Composite) openOrClose(ctx context.Context, b *bracket, at int, as *Member, about any, host hook.Host, call func(context.Context) error) {
	if !c.matches(at, about) {
		return
	}
	b.current = as
	r := c.record(at, b.point, about).in(&b.walk).begins(ctx, host, event.RunRunning)
	callBracket(ctx, b, call)
	if r != nil {
		r.end(ctx, &b.walk, host)
	}
}

func callBracket(ctx context.Context, b *bracket, call func(context.Context) error) {
	defer b.recover()
	ctx, cancel := b.current.within(ctx)
	defer cancel()
	b.set(call(ctx))
}

// opener returns the host to which OnClose emits runs: the argument of OnOpen.
func (c *Composite) opener() hook.Host {
	if c.rec == nil {
		return hook.NoHost{}
	}
	return c.rec.opener()
}
