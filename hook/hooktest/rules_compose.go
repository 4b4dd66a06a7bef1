package hooktest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
)

// names returns those of the kit's members, outermost first.
func names() []string { return []string{"first", "second", "third"} }

// composed is a composite of three of the kit's members.
type composed struct {
	hook hook.Hook
	log  *callLog
	// order is the names of the members in plan order.
	order []string
	host  *Recorder
}

// compose returns a composite whose second member does something at one point; nil
// if the hook is no composite.
func (p *probe) compose(does behaviour, only hook.Point) *composed {
	if p.o.Compose == nil {
		return nil
	}
	c := &composed{log: &callLog{}, host: &Recorder{}}
	members := make([]hook.Hook, len(names()))
	for i, name := range names() {
		members[i] = &member{name: name, log: c.log}
	}
	members[1].(*member).does, members[1].(*member).only = does, only
	c.hook = p.run(p.o.Compose(slices.Clone(members)...))
	if list, ok := c.hook.(*composite.Composite); ok {
		for _, h := range list.Members() {
			if i := slices.Index(members, h); i >= 0 {
				c.order = append(c.order, names()[i])
			}
		}
	}
	if len(c.order) != len(members) { // the composite does not list its members
		c.order = names()
	}
	return c
}

// expected returns the members in the order in which the point calls them.
func (c *composed) expected(p hook.Point) []string {
	order := slices.Clone(c.order)
	if point.InfoOf(p).Reverse {
		slices.Reverse(order)
	}
	return order
}

// play calls every point of the composite, in the order of one turn.
func (c *composed) play(p *probe) []response {
	var all []response
	p.life(c.hook, c.host, func(cfg *hook.AgentConfig) {
		s := newScene("1", cfg, c.host, "hello")
		c.hook.OnEvent(p.ctx, hook.Event{Kind: composeEvent}.WithHost(c.host))
		for _, a := range askersOf(c.hook) {
			all = append(all, a.ask(p.ctx, c.hook, s))
		}
	})
	return all
}

// life opens the hook, registers an agent, and undoes both.
func (p *probe) life(h hook.Hook, host hook.Host, f func(*hook.AgentConfig)) {
	if o, ok := h.(hook.OnOpen); ok {
		if err := o.OnOpen(p.ctx, host); err != nil {
			p.failf("a composite of quiet members cannot be opened: %v", err)
			return
		}
	}
	if cfg, done, ok := p.register(h, host, "tester"); ok {
		f(cfg)
		done()
	} else {
		p.failf("a composite of quiet members refuses an agent")
	}
	if c, ok := h.(hook.OnClose); ok {
		_ = c.OnClose(context.WithoutCancel(p.ctx))
	}
}

// composing returns the points whose calls the members log.
func composing() []hook.Point {
	facade := []hook.Point{point.OnBuildAgent, point.OnRegisterAgent, point.OnUnregisterAgent, point.Preprocess, point.OnEvent}
	all := slices.Clone(facade)
	for p, info := range point.All() {
		if info.Kind != "facade" {
			all = append(all, p)
		}
	}
	return all
}

func checkOrder(p *probe) {
	c := p.compose(silent, 0)
	if c == nil {
		return
	}
	taken := taken(c.play(p))
	for _, point := range composing() {
		if taken[point] {
			continue
		}
		called := distinct(c.log.at(point))
		if want := c.expected(point); !slices.Equal(called, want) {
			p.failf("%s calls %s, and the plan says %s", point, list(called), list(want))
		}
	}
}

func distinct(all []string) (out []string) {
	for _, name := range all {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func list(of []string) string {
	if len(of) == 0 {
		return "nobody"
	}
	return strings.Join(of, ", ")
}

// once returns the points that call every member, whatever the others answer.
func once() []hook.Point {
	var out []hook.Point
	for p, info := range point.All() {
		if info.Combine == "judge" || info.Kind == "observe" && info.Reverse {
			out = append(out, p)
		}
	}
	return out
}

func checkOnce(p *probe) {
	for _, does := range []behaviour{silent, severe, failing, panics} {
		for _, point := range once() {
			c := p.compose(does, point)
			if c == nil {
				return
			}
			c.play(p)
			called := c.log.at(point)
			slices.Sort(called)
			want := slices.Sorted(slices.Values(c.order))
			if !slices.Equal(called, want) {
				p.failf("%s calls %s when the second member %s; it calls every member once", point, list(called), does)
			}
		}
	}
}

// String completes a sentence about the member.
func (b behaviour) String() string {
	return [...]string{"says nothing", "answers", "returns an error", "panics"}[b]
}

// taken returns the points at which a composite of silent members answers: those of other
// members, which may come before the kit's.
func taken(all []response) map[hook.Point]bool {
	out := map[hook.Point]bool{}
	for _, got := range all {
		if d, ok := got.value.(verdict); ok && d.Verdict().Kind != hook.AnswerNone {
			out[got.point] = true
		}
	}
	return out
}

func checkPolicy(p *probe) {
	quiet := p.compose(silent, 0)
	if quiet == nil {
		return
	}
	taken := taken(quiet.play(p))
	for _, does := range []behaviour{failing, panics} {
		for _, a := range askers() {
			c := p.compose(does, a.point)
			if taken[a.point] || a.point == point.Preprocess || !point.Of(c.hook).Has(a.point) {
				continue
			}
			for _, got := range c.play(p) {
				if got.point == a.point {
					p.checkPolicyAt(c, got, does)
				}
			}
			for _, ev := range c.host.Events() {
				if ev.Kind == event.HookFailed && strings.Contains(ev.Text, marker) {
					p.failf("the event %s about %s repeats the cause, which may quote secrets", ev.Kind, a.point)
				}
			}
		}
	}
}

// checkPolicyAt checks that the failure of the second member had the effect of the point's
// fail policy.
func (p *probe) checkPolicyAt(c *composed, got response, does behaviour) {
	info, when := point.InfoOf(got.point), "the second member "+does.String()
	if got.panicked != "" {
		p.failf("%s panicked when %s: %s", got.point, when, got.panicked)
		return
	}
	if d, ok := got.value.(verdict); ok {
		v, want := d.Verdict(), point.Failed(got.point)
		if v.Kind != want {
			p.failf("%s answers %q when %s; its fail policy says %q", got.point, v.Kind, when, want)
		}
		if strings.Contains(v.Reason, marker) {
			p.failf("%s gives the cause of a failure as its reason, which may quote secrets", got.point)
		}
		return
	}
	if !info.Closed {
		if called := distinct(c.log.at(got.point)); got.err != nil || len(called) != len(c.order) {
			p.failf("%s does not continue without the second member when it %s", got.point, does)
		}
		return
	}
	if !failed(got) {
		p.failf("%s continues when %s; its fail policy is closed", got.point, when)
	}
}

func failed(got response) bool {
	var f *hook.Failure
	switch v := got.value.(type) {
	case ranTool:
		return v.result.IsError()
	case streamed:
		return v.err != nil
	}
	return errors.As(got.err, &f)
}
