package daemon

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
)

// TestStatsAreBounded: what has not run for longest is forgotten.
func TestStatsAreBounded(t *testing.T) {
	t.Parallel()
	var s stats
	end := func(agent string) {
		turn := hooktest.Turn(hooktest.Conversation(&hook.AgentConfig{Name: agent}, nil), "hello")
		s.AfterTurn(t.Context(), turn, hook.TurnOutcome{Stop: hook.StopCompleted})
	}
	for i := range maxStats {
		end(fmt.Sprint("agent", i))
	}
	end("agent0")
	end("new")
	all := s.all()
	assert.Len(t, all, maxStats)
	assert.Equal(t, 2, s.agents["agent0"].Turns)
	assert.NotContains(t, s.agents, "agent1")
	assert.Contains(t, s.agents, "new")
}
