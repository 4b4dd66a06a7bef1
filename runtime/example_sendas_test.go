package runtime_test

import (
	"context"
	"fmt"
	"log"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	typed "github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/structured"
)

// Tide is what the agent of the example answers.
type Tide struct {
	Harbour string   `json:"harbour" hook:"description=The harbour's name."`
	High    []string `json:"high" hook:"description=When the water is high: 06:10."`
}

// The answer of a turn is a value of a Go type.
func ExampleSendAs() {
	ctx := context.Background()
	model := script.New(script.Rule{Calls: []script.Call{{
		Tool: structured.Tool, Args: `{"harbour":"Nyborg","high":["06:10","18:35"]}`,
	}}})
	rt := runtime.New(structured.New(nil), model, nil)
	if err := rt.Open(ctx); err != nil {
		log.Fatal(err)
	}
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper"})
	if err != nil {
		log.Fatal(err)
	}
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		log.Fatal(err)
	}
	tide, out, err := runtime.SendAs(ctx, conv, typed.ValueOf[Tide](), message.TextInput("When is the water high?"), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tide.Harbour, tide.High, "after", out.Steps, "step")
	// Output:
	// Nyborg [06:10 18:35] after 1 step
}
