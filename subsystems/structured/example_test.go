package structured_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/structured"
)

// A model that answers with something else is asked again, and then the turn fails.
func Example() {
	ctx := context.Background()
	model := script.New(script.Rule{When: &script.When{}, Say: `{"city":"Nyborg","degrees":"nine"}`})
	rt := runtime.New(structured.New(nil), model, nil)
	if err := rt.Open(ctx); err != nil {
		panic(err)
	}
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper", Model: message.Model{Format: message.ResponseFormat{
		JSON: true, Schema: `{"type":"object","properties":{"city":{"type":"string"},"degrees":{"type":"integer"}}}`,
	}}})
	if err != nil {
		panic(err)
	}
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		panic(err)
	}
	out, err := conv.Send(ctx, message.TextInput("How is the weather?"), nil)
	if bad, ok := errors.AsType[*structured.Error](cmp.Or(err, out.Err)); ok {
		for _, p := range bad.Problems {
			fmt.Println(p.Place, p.Want)
		}
	}
	// Output:
	// /degrees must be of type integer
}
