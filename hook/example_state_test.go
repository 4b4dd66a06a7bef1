package hook_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
)

// Quota counts the tool calls of a turn, and of all turns of a conversation.
type Quota struct {
	hook.Nop
	turn  hook.TurnState[int]
	total hook.ConversationState[int]
}

// States implements hook.Stateful.
func (q *Quota) States() map[string]hook.State { return map[string]hook.State{"total": &q.total} }

// BeforeTool implements hook.BeforeTool.
func (q *Quota) BeforeTool(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
	turn := c.Step().Turn()
	q.total.Update(turn.Conversation(), func(n int) int { return n + 1 })
	if n := q.turn.Update(turn, func(n int) int { return n + 1 }); n > 2 {
		return hook.DenyTool("a turn has two calls"), nil
	}
	return hook.ToolDecision{}, nil
}

func ExampleTurnState() {
	quota := new(Quota)
	conversation := hook.NewConversation(hook.ConversationData{ID: "c"})
	for i := range 2 {
		turn, _ := hook.NewTurn(hook.TurnData{Conversation: conversation, Number: i + 1})
		call := hook.NewToolCall(hook.ToolCallData{Step: hook.NewStep(turn, 1, "m")})
		for range 3 {
			if _, err := quota.BeforeTool(context.Background(), call); err != nil {
				fmt.Println(err)
			}
		}
		fmt.Printf("turn %d: %d calls, %d in all\n", turn.Number(), quota.turn.Get(turn), quota.total.Get(conversation))
	}
	// Output:
	// turn 1: 3 calls, 3 in all
	// turn 2: 3 calls, 6 in all
}
