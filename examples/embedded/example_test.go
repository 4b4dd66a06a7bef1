package main_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// A tool of the caller is there for one turn, and a hook that is attached from the next turn on.
func Example() {
	ctx := context.Background()
	model := script.New(
		script.Rule{When: &script.When{Tools: []string{"tide"}, Step: 1}, Calls: []script.Call{{Tool: "tide", Args: `{}`}}},
		script.Rule{When: &script.When{Step: 2}, Say: "${result}"},
		script.Rule{When: &script.When{NoTools: []string{"tide"}}, Say: "I do not know any more."})
	rt := runtime.New(hook.Nop{}, model, nil)
	_ = rt.Open(ctx)
	defer rt.Close(ctx)
	agent, _ := rt.Register(ctx, hook.AgentConfig{Name: "helper"})
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		panic(err)
	}
	ask := func(o *runtime.TurnOptions) {
		out, err := conv.Send(ctx, message.TextInput("When can we leave?"), o)
		fmt.Println(out.Text(), err)
	}
	tide := tool.New("tide", "Tide says when the water is high.", func(context.Context, struct{}) (string, error) { return "At 06:10.", nil }, nil)
	ask(&runtime.TurnOptions{Tools: tool.Set(tide)})
	ask(nil)

	late := point.BeforeTurnFunc(func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
		return hook.RespondTurn("The office is closed."), nil
	})
	if err := rt.Attach(ctx, "Late", late); err != nil {
		panic(err)
	}
	ask(nil)
	if err := rt.Detach(ctx, "Late"); err != nil {
		panic(err)
	}
	ask(nil)
	// Output:
	// At 06:10. <nil>
	// I do not know any more. <nil>
	// The office is closed. <nil>
	// I do not know any more. <nil>
}
