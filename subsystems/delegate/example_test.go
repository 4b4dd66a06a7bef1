package delegate_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// desk is a host whose agents answer at once. A runtime runs a turn of theirs
// instead.
type desk struct{ hook.NoHost }

func (desk) RunAgent(_ context.Context, run hook.AgentRun) (hook.TurnOutcome, error) {
	text := fmt.Sprintf("%s has read %q", run.Agent, run.Input.Text())
	return hook.TurnOutcome{Stop: hook.StopCompleted, Message: message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock(text))}}, nil
}

func Example() {
	d := delegate.New(&delegate.Options{Agents: func() []delegate.AgentInfo {
		return []delegate.AgentInfo{{Name: "reviewer", Description: "Reads what others wrote."}}
	}})
	turn := hooktest.Turn(hooktest.Conversation(nil, desk{}), "Is everything right?")
	call := hooktest.Call(hooktest.Step(turn), delegate.ToolDelegate, `{"tasks":[
		{"agent": "reviewer", "message": "Check the README."},
		{"agent": "cook", "message": "Make tea."}]}`)
	fmt.Println(hooktest.Invoke(context.Background(), d, call).Text())
	// Output:
	// [{"agent":"reviewer","result":"reviewer has read \"Check the README.\"","stop":"completed"},{"agent":"cook","result":"","stop":"error","error":"there is no agent \"cook\" to delegate to; there are reviewer"}]
}
