package toolbox_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/toolbox"
)

// The model finds a tool by words, and may call it from then on.
func Example() {
	ctx := context.Background()
	h, err := composite.Of("Desk", composite.Field{Name: "Drawer", Hook: some()}, composite.Field{Name: "Toolbox", Hook: toolbox.New()})
	if err != nil {
		panic(err)
	}
	model := script.New(
		script.Rule{When: &script.When{Step: 1}, Calls: []script.Call{{Tool: "tool_search", Args: `{"query":"send mail"}`}}},
		script.Rule{When: &script.When{Step: 2, Tools: []string{"mcp__y__send_mail"}}, Calls: []script.Call{{Tool: "mcp__y__send_mail", Args: `{}`}}},
		script.Rule{When: &script.When{Step: 3}, Say: "Sent."})
	rt := runtime.New(h, model, nil)
	_ = rt.Open(ctx)
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper"}.WithSection("toolbox", `{"above":2}`))
	if err != nil {
		panic(err)
	}
	conv, _ := agent.Conversation(ctx, "ann")
	out, err := conv.Send(ctx, message.TextInput("Tell them."), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.CallResult {
			fmt.Println(ev.Detail().Tool)
		}
	}})
	fmt.Println(out.Text(), err)
	// Output:
	// tool_search
	// mcp__y__send_mail
	// Sent. <nil>
}
