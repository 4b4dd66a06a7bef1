package fallback_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
)

// The key of the first model is wrong, so the second one answers.
func Example() {
	ctx := context.Background()
	good := script.New(script.Rule{Say: "Here I am."})
	models := provider.Func(func(ctx context.Context, req message.ModelRequest) message.ModelStream {
		if req.Model.Name == "spare" {
			return good.Stream(ctx, req)
		}
		return func(yield func(message.Chunk, error) bool) {
			yield(message.Chunk{}, &provider.Error{Class: message.FailureAuth, Err: fmt.Errorf("wrong key")})
		}
	})
	rt := runtime.New(fallback.New(&fallback.Options{Models: []string{"spare"}}), models, nil)
	_ = rt.Open(ctx)
	defer rt.Close(ctx)
	agent, _ := rt.Register(ctx, hook.AgentConfig{Name: "helper", Model: message.Model{Name: "main"}})
	conv, _ := agent.Conversation(ctx, "ann")
	out, err := conv.Send(ctx, message.TextInput("Hello?"), nil)
	fmt.Println(out.Text(), err)
	// Output: Here I am. <nil>
}
