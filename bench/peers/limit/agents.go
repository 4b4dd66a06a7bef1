package limit

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/bench/work"
)

// scope is which of at most 64 tools an agent may call. Nil is all.
type scope struct {
	set   uint64
	index map[string]int // of all agents: from the name of a tool to its bit
}

func (s *scope) has(tool string) bool {
	if s == nil {
		return true
	}
	i, ok := s.index[tool]
	return ok && s.set&(1<<i) != 0
}

// config is one of many agents: what it may call and its conversation.
type config struct {
	name    string
	scope   scope
	history []message
}

// agents are found by their names.
func agents(_ context.Context, t work.Turn) (*work.Agents, error) {
	if t.Tools > 64 {
		return nil, fmt.Errorf("%d tools: a scope has 64 bits", t.Tools)
	}
	shared, registry, index := newAgent(t), map[string]*config{}, map[string]int{}
	for i := range t.Tools {
		index[name(i)] = i
	}
	return &work.Agents{
		Register: func(_ context.Context, i int) error {
			c := &config{name: work.AgentName(i), scope: scope{set: 1<<t.Tools - 1, index: index}}
			registry[c.name] = c
			return nil
		},
		Send: func(ctx context.Context, i int) error {
			c, ok := registry[work.AgentName(i)]
			if !ok {
				return fmt.Errorf("no agent %d", i)
			}
			shared.all[0].Begin()
			a := *shared
			a.scope = &c.scope
			history, err := a.run(ctx, c.history)
			if err != nil {
				return err
			}
			c.history = history
			return shared.all[0].End(history[len(history)-1].text)
		},
	}, nil
}
