package guard

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// BeforeTool denies calls that come too often, and limits a call to the rest of the
// conversation's time. If a person changes the arguments of a call, BeforeTool is called
// again; the call counts once.
func (g *Guard) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	if call.Step() == nil || call.Step().Turn() == nil {
		return hook.ToolDecision{}, nil
	}
	turn := call.Step().Turn()
	times := g.repeated(turn, call)
	left := time.Duration(0)
	for t := turn; t != nil; t = t.Parent() {
		l := g.of(t.Agent())
		if reason := g.tooOften(turn.Root(), call.Name(), times, l); reason != "" {
			return hook.DenyTool(reason), nil
		}
		if limit := l.conversation.Time; limit > 0 {
			used := g.conversation.Get(turn.Root().Conversation()).Time + turn.Root().Elapsed()
			if rest := max(limit-used, 1); left == 0 || rest < left {
				left = rest
			}
		}
	}
	g.note(turn, call)
	if left > 0 {
		return hook.NarrowTool(hook.Grant{Timeout: left}), nil
	}
	return hook.ToolDecision{}, nil
}

// repeated counts the call if any agent limits repeated calls. It returns the number of
// calls with the same arguments.
func (g *Guard) repeated(turn *hook.Turn, call *hook.ToolCall) (times int) {
	if g.anyAgent(func(l *limits) bool { return l.repeats() >= 0 }) {
		g.turn.Update(turn.Root(), func(c turnCounts) turnCounts {
			c, times = c.repeated(turn.ID()+"/"+call.ID(), call.Name(), call.Args())
			return c
		})
	}
	return times
}

// tooOften says why the call is not allowed, "" if it is.
func (g *Guard) tooOften(root *hook.Turn, tool string, times int, l *limits) string {
	counted := []struct {
		what  string
		limit int
		have  int
	}{
		{"Call", allowed(l.turn.Calls, tool), g.turn.Get(root).calls(tool)},
		{"Call", allowed(l.conversation.Calls, tool), g.conversation.Get(root.Conversation()).calls(tool)},
		{"Rate", l.perMinute(tool), g.lastMinute(root, tool)},
	}
	for _, c := range counted {
		if c.limit >= 0 && c.have >= c.limit {
			return fmt.Sprintf("%s limit reached: %s %d/%d", c.what, tool, c.have, c.limit)
		}
	}
	if limit := l.repeats(); limit >= 0 && times > limit {
		return fmt.Sprintf("Repeated call limit reached: %s %d/%d with the same arguments; do something else", tool, times, limit)
	}
	return ""
}

// lastMinute returns how often the tool was called within the last minute.
func (g *Guard) lastMinute(root *hook.Turn, tool string) int {
	return g.rates.Get(root.Conversation()).within(g.o.Now()).of(tool)
}

// note counts an allowed call, if any agent has a limit that needs the count.
func (g *Guard) note(turn *hook.Turn, call *hook.ToolCall) {
	root, tool := turn.Root(), call.Name()
	inTurn := g.anyAgent(func(l *limits) bool { return allowed(l.turn.Calls, tool) >= 0 })
	inAll := g.anyAgent(func(l *limits) bool { return allowed(l.conversation.Calls, tool) >= 0 })
	perMinute := g.anyAgent(func(l *limits) bool { return l.perMinute(tool) >= 0 })
	if !inTurn && !inAll && !perMinute {
		return
	}
	id := turn.ID() + "/" + call.ID()
	if g.turn.Get(root).noted == id {
		return
	}
	g.turn.Update(root, func(c turnCounts) turnCounts { c.noted = id; return c })
	if inTurn {
		g.turn.Update(root, func(c turnCounts) turnCounts { c.counts = c.called(tool); return c })
	}
	if inAll {
		g.conversation.Update(root.Conversation(), func(c counts) counts { return c.called(tool) })
	}
	if perMinute {
		now := g.o.Now()
		g.rates.Update(root.Conversation(), func(r rates) rates {
			return append(slices.Clone(r.within(now)), called{tool, now})
		})
	}
}

// repeats returns the limit of repeated calls, -1 for none.
func (l *limits) repeats() int {
	return tighter(orNone(l.turn.Repeats), orNone(l.conversation.Repeats))
}

// perMinute returns the limit of calls of a tool within a minute, -1 for none.
func (l *limits) perMinute(tool string) int {
	return tighter(allowed(l.turn.PerMinute, tool), allowed(l.conversation.PerMinute, tool))
}

// allowed returns the limit for a tool, -1 for none.
func allowed(limits map[string]int, tool string) int {
	if n, ok := limits[tool]; ok {
		return n
	}
	if n, ok := limits["*"]; ok {
		return n
	}
	return -1
}

// orNone returns the limit, -1 for none.
func orNone(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// tighter returns the smaller of two limits; a negative one is no limit.
func tighter(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}
