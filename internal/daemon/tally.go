package daemon

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api/wire"
)

// tally counts the turns of each agent since the daemon began, with those that an agent runs for another.
type tally struct {
	hook.Nop

	mu     sync.Mutex
	agents map[string]*wire.AgentStats
}

// AfterTurn counts a turn that has ended.
func (t *tally) AfterTurn(_ context.Context, turn *hook.Turn, out hook.TurnOutcome) {
	name := turn.Agent().Name
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.agents[name]
	if c == nil {
		if t.agents == nil {
			t.agents = map[string]*wire.AgentStats{}
		}
		c = &wire.AgentStats{Agent: name, Stops: map[hook.StopReason]int{}}
		t.agents[name] = c
	}
	c.Turns++
	c.Stops[out.Stop]++
	c.Steps += out.Steps
	c.Calls += out.Calls
	c.Usage = c.Usage.Add(out.Usage)
	c.Cost += out.Cost
	c.Millis += out.Duration.Milliseconds()
	c.Last = time.Now().UTC()
}

// all returns what was counted, sorted by agent.
func (t *tally) all() []wire.AgentStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]wire.AgentStats, 0, len(t.agents))
	for _, c := range t.agents {
		one := *c
		one.Stops = maps.Clone(c.Stops)
		out = append(out, one)
	}
	slices.SortFunc(out, func(x, y wire.AgentStats) int { return cmp.Compare(x.Agent, y.Agent) })
	return out
}
