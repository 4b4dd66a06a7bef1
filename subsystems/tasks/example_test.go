package tasks_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/tasks"
)

// The list is kept with the conversation, and each change of it is an event.
func Example() {
	ctx := context.Background()
	model := script.New(
		script.Rule{Calls: []script.Call{{Tool: "todo_write", Args: `{"todos":[{"content":"Look","status":"completed"},{"content":"Tell","status":"in_progress"}]}`}}},
		script.Rule{Say: "I have looked."})
	rt := runtime.New(tasks.New(), model, nil)
	_ = rt.Open(ctx)
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper"}.WithSection("tasks", `{}`))
	if err != nil {
		panic(err)
	}
	conv, _ := agent.Conversation(ctx, "ann")
	out, err := conv.Send(ctx, message.TextInput("Look, and tell me."), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.PlanUpdated {
			fmt.Println(ev.Text)
		}
	}})
	fmt.Println(out.Text(), err)
	// Output:
	// - [x] Look
	// - [~] Tell
	// I have looked. <nil>
}
