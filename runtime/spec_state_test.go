package runtime_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// tally is a subsystem that counts in states: the steps of a turn, those of a
// conversation, and those that children have made for it.
type tally struct {
	hook.Nop
	Turn hook.TurnState[int]
	All  hook.ConversationState[int]
	// ended is told of each turn that ends: its agent and its own count.
	ended func(t *hook.Turn, steps int)
}

func more(n int) int { return n + 1 }

// Preprocess implements hook.Hook: a turn begins with a count, and another input.
func (s *tally) Preprocess(_ context.Context, t *hook.Turn, in hook.Input) (hook.Input, error) {
	s.Turn.Update(t, func(int) int { return 100 })
	return hook.TextInput(in.Text() + "!"), nil
}

// BeforeModel implements hook.BeforeModel.
func (s *tally) BeforeModel(_ context.Context, step *hook.Step, _ hook.ModelRequest) (hook.ModelDecision, error) {
	s.Turn.Update(step.Turn(), more)
	s.All.Update(step.Turn().Root().Conversation(), more)
	return hook.ModelDecision{}, nil
}

// AfterTurn implements hook.AfterTurn.
func (s *tally) AfterTurn(_ context.Context, t *hook.Turn, _ hook.TurnOutcome) {
	if s.ended != nil {
		s.ended(t, s.Turn.Get(t))
	}
}

func TestSpecStatesOfATurnAndItsChildren(t *testing.T) {
	t.Parallel()
	c := cast{"chief": plays(delegates("writer"), says("done"), says("again")), "writer": plays(says("written"))}
	steps, all := map[string][]int{}, map[string]int{}
	s := &tally{}
	s.ended = func(turn *hook.Turn, n int) {
		name := turn.Agent().Name
		steps[name], all[name] = append(steps[name], n), s.All.Get(turn.Conversation())
		if turn.Depth() == 0 {
			assert.Nil(t, turn.Parent())
		} else {
			assert.Equal(t, "chief", turn.Parent().Agent().Name)
		}
	}
	w := stage(t, c, nil, agents("chief", "writer"), delegate.New(nil), s)
	w.send("do it")
	w.send("once more")
	assert.Equal(t, map[string][]int{"writer": {101}, "chief": {102, 101}}, steps,
		"each turn has its own, from before its input was changed")
	assert.Equal(t, map[string]int{"writer": 0, "chief": 4}, all, "a child counts in the conversation of its root")
}
