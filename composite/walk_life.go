package composite

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// OnOpen implements [hook.OnOpen]: in order; on failure those before are closed
// in reverse order.
func (c *Composite) OnOpen(ctx context.Context, host hook.Host) error {
	if c.rec != nil {
		c.rec.host.Store(&host)
	}
	b := bracket{walk: walk{point: point.OnOpen}}
	for i := range c.entries.onOpen {
		e := &c.entries.onOpen[i]
		c.oneSide(ctx, &b, e.at, &e.as, nil, host, func(ctx context.Context) error { return e.hook.OnOpen(ctx, host) })
		if b.err != nil {
			return joinErrors(b.err, c.opened().close(ctx, e.at))
		}
	}
	return nil
}

// OnClose implements [hook.OnClose]: in reverse order, all of them.
func (c *Composite) OnClose(ctx context.Context) error { return c.close(ctx, len(c.members)) }

// close closes the first n members.
func (c *Composite) close(ctx context.Context, n int) error {
	b := bracket{walk: walk{point: point.OnClose}}
	closing := before(c.entries.onClose, n)
	for i := range closing {
		e := &closing[i]
		c.oneSide(ctx, &b, e.at, &e.as, nil, c.opener(), e.hook.OnClose)
	}
	return b.err
}

// OnRegisterAgent implements [hook.Hook]: in order; on failure those before are
// unregistered in reverse order.
func (c *Composite) OnRegisterAgent(ctx context.Context, cfg *hook.AgentConfig) error {
	b := bracket{walk: walk{point: point.OnRegisterAgent}}
	for i := range c.entries.onRegisterAgent {
		e := &c.entries.onRegisterAgent[i]
		c.oneSide(ctx, &b, e.at, &e.as, cfg, cfg.Host(), func(ctx context.Context) error { return e.hook.OnRegisterAgent(ctx, cfg) })
		if b.err != nil {
			c.opened().unregister(ctx, e.at, cfg)
			return b.err
		}
	}
	return nil
}

// OnUnregisterAgent implements [hook.Hook]: in reverse order.
func (c *Composite) OnUnregisterAgent(ctx context.Context, cfg *hook.AgentConfig) {
	c.unregister(ctx, len(c.members), cfg)
}

// unregister unregisters the first n members.
func (c *Composite) unregister(ctx context.Context, n int, cfg *hook.AgentConfig) {
	call := func(h hook.Hook, ctx context.Context, cfg *hook.AgentConfig, _ none) { h.OnUnregisterAgent(ctx, cfg) }
	observe(ctx, c, point.OnUnregisterAgent, before(c.entries.onUnregisterAgent, n), cfg, none{}, call, nil)
}

// opened returns the composite of the members that were opened, or registered for: an
// author's method that closes is not for those alone.
func (c *Composite) opened() *Composite {
	if c.behind != nil {
		return c.behind
	}
	return c
}

// before returns those of the first n members; the entries are in reverse order.
func before[H any](entries []entry[H], n int) []entry[H] {
	for i := range entries {
		if entries[i].at < n {
			return entries[i:]
		}
	}
	return nil
}

// oneSide calls one side of a bracket at one member: it opens or closes it.
func (c *Composite) oneSide(ctx context.Context, b *bracket, at int, as *Member, about any, host hook.Host, call func(context.Context) error) {
	if !c.meant(at, about) {
		return
	}
	b.who = as
	r := c.record(at, b.point, about).in(&b.walk)
	bracketOne(ctx, b, call)
	if r != nil {
		r.end(ctx, &b.walk, host)
	}
}

func bracketOne(ctx context.Context, b *bracket, call func(context.Context) error) {
	defer b.recover()
	ctx, cancel := b.who.within(ctx)
	defer cancel()
	b.set(call(ctx))
}

// opener is the host that OnOpen was given, which OnClose tells of runs.
func (c *Composite) opener() hook.Host {
	if c.rec == nil {
		return hook.NoHost{}
	}
	return c.rec.opener()
}
