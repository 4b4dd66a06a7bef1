package guard_test

import (
	"cmp"
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/guard"
)

// A model that never comes to an end is stopped.
func Example() {
	ctx := context.Background()
	g := guard.New(&guard.Options{Turn: guard.Limits{Steps: 2}})
	again := script.Rule{Calls: []script.Call{{Tool: "nothing", Args: "{}"}}}
	rt := runtime.New(g, script.New(again, again, again), nil)
	if err := rt.Open(ctx); err != nil {
		panic(err)
	}
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper"})
	if err != nil {
		panic(err)
	}
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		panic(err)
	}
	out, err := conv.Send(ctx, message.TextInput("go on for ever"), nil)
	if err := cmp.Or(err, out.Err); err != nil {
		panic(err)
	}
	fmt.Println(out.Signals.At(0).Text)
	// Output:
	// Step limit reached: 2/2
}
