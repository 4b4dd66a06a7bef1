package critique_test

import (
	"cmp"
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/critique"
)

// The judge returns the first answer, and approves the second one.
func Example() {
	ctx := context.Background()
	writer := script.New(
		script.Rule{When: &script.When{Context: script.Text{Contains: "Name the pier."}}, Say: "It lies at pier seven."},
		script.Rule{When: &script.When{}, Say: "It lies somewhere."})
	judge := script.New(
		script.Rule{When: &script.When{User: script.Text{Contains: "pier"}}, Say: `{"verdict":"approve","feedback":""}`},
		script.Rule{When: &script.When{}, Say: `{"verdict":"revise","feedback":"Name the pier."}`})
	models := provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
		if req.Model.Name == "judge" {
			return judge.Stream(ctx, req)
		}
		return writer.Stream(ctx, req)
	})
	rt := runtime.New(critique.New(), models, nil)
	_ = rt.Open(ctx)
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper"}.WithSection("critique", `{"model":"judge"}`))
	if err != nil {
		panic(err)
	}
	conv, _ := agent.Conversation(ctx, "ann")
	out, err := conv.Send(ctx, message.TextInput("Where is the boat?"), nil)
	fmt.Println(out.Text(), cmp.Or(err, out.Err))
	// Output: It lies at pier seven. <nil>
}
