// Command embedded is an agent inside a program: no hooks, no tools, no
// database, no state but its own.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	model := script.New(script.Rule{Say: "Hello, I follow a script."}, script.Rule{Say: "You said: ${user}"})
	rt := runtime.New(hook.Nop{}, model, nil)
	if err := rt.Open(ctx); err != nil {
		return err
	}
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper", Instructions: "Be brief."})
	if err != nil {
		return err
	}
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		return err
	}
	for _, line := range []string{"Hi!", "And again."} {
		out, err := conv.Send(ctx, message.TextInput(line), nil)
		if err := cmp.Or(err, out.Err); err != nil {
			return err
		}
		fmt.Println(out.Text())
	}
	return nil
}
