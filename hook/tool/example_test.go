package tool_test

import (
	"cmp"
	"context"
	"fmt"
	"log"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Tide are the arguments of the tool.
type Tide struct {
	Harbour string `json:"harbour" hook:"minlen=1,description=The harbour's name."`
	Day     int    `json:"day" hook:"min=1,max=31,default=1,description=The day of this month."`
}

func ExampleNew() {
	tide := tool.New("tide", "Tide says when the water is high.", func(_ context.Context, in Tide) (string, error) {
		if in.Harbour != "Nyborg" {
			return "", &hook.ToolError{Kind: message.FailNotFound, Text: "there is a table for Nyborg only"}
		}
		return fmt.Sprintf("Day %d: high water at 06:10 and 18:35.", in.Day), nil
	}, &tool.Options{Annotations: message.Annotations{ReadOnly: true}})

	model := script.New(
		script.Rule{Calls: []script.Call{{Tool: "tide", Args: `{"harbour":"Nyborg"}`}}},
		script.Rule{Say: "${result}"},
	)
	if err := sail(context.Background(), tool.Set(tide), model); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Day 1: high water at 06:10 and 18:35.
}

// sail runs one turn of an agent that has the hook's tools.
func sail(ctx context.Context, tools hook.Hook, model *script.Script) error {
	rt := runtime.New(tools, model, nil)
	if err := rt.Open(ctx); err != nil {
		return err
	}
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "mate", Instructions: "You know the tides."})
	if err != nil {
		return err
	}
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		return err
	}
	out, err := conv.Send(ctx, message.TextInput("When can we leave?"), nil)
	if err := cmp.Or(err, out.Err); err != nil {
		return err
	}
	fmt.Println(out.Text())
	return nil
}
