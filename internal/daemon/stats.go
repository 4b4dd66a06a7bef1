package daemon

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
)

// maxStats is how many agents stats counts. A client may make and delete agents without end.
const maxStats = 1000

// stats counts the turns of each agent since the daemon began, with those that an agent runs for another.
// Of more than maxStats agents it forgets the one whose last turn ended longest ago.
type stats struct {
	hook.Nop

	mu     sync.Mutex
	agents map[string]*wire.AgentStats
}

// AfterTurn counts a turn that has ended.
func (s *stats) AfterTurn(_ context.Context, turn *hook.Turn, out hook.TurnOutcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of(turn.Agent().Name)
	c.Turns++
	c.Stops[out.Stop]++
	c.Steps += out.Steps
	c.Calls += out.Calls
	c.Usage = c.Usage.Add(out.Usage)
	c.Cost += out.Cost
	c.Millis += out.Duration.Milliseconds()
	c.Last = time.Now().UTC()
}

func (s *stats) of(agent string) *wire.AgentStats {
	if c := s.agents[agent]; c != nil {
		return c
	}
	if s.agents == nil {
		s.agents = map[string]*wire.AgentStats{}
	}
	if len(s.agents) == maxStats {
		oldest := slices.MinFunc(slices.Collect(maps.Values(s.agents)), func(x, y *wire.AgentStats) int { return x.Last.Compare(y.Last) })
		delete(s.agents, oldest.Agent)
	}
	c := &wire.AgentStats{Agent: agent, Stops: map[hook.StopReason]int{}}
	s.agents[agent] = c
	return c
}

// all returns what was counted, sorted by agent.
func (s *stats) all() []wire.AgentStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]wire.AgentStats, 0, len(s.agents))
	for _, c := range s.agents {
		one := *c
		one.Stops = maps.Clone(c.Stops)
		out = append(out, one)
	}
	slices.SortFunc(out, func(x, y wire.AgentStats) int { return cmp.Compare(x.Agent, y.Agent) })
	return out
}
