package differential

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Stated has two values of one subsystem with states, and room for more.
//
//hook:composite
type Stated struct {
	A     *Counter
	B     Counter
	Extra []hook.Hook
}

// Counter counts the model calls of a turn, and of a conversation.
type Counter struct {
	hook.Nop
	turn hook.TurnState[int]
	all  hook.ConversationState[int]
	// Seen gets the counts after each call.
	Seen func(step *hook.Step, turn, all int)
}

var _ hook.BeforeModel = (*Counter)(nil)

// States implements hook.Stateful.
func (c *Counter) States() map[string]hook.State { return map[string]hook.State{"all": &c.all} }

// BeforeModel implements hook.BeforeModel.
func (c *Counter) BeforeModel(_ context.Context, step *hook.Step, _ message.ModelRequest) (hook.ModelDecision, error) {
	more := func(n int) int { return n + 1 }
	turn, all := c.turn.Update(step.Turn(), more), c.all.Update(step.Turn().Conversation(), more)
	if c.Seen != nil {
		c.Seen(step, turn, all)
	}
	return hook.ModelDecision{}, nil
}
