package runtime_test

import (
	"cmp"
	"context"
	"fmt"
	"log"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// parrot is a model that answers with what it was told last.
func parrot(_ context.Context, req message.ModelRequest) message.ModelStream {
	last := req.Messages.At(req.Messages.Len() - 1)
	return func(yield func(message.Chunk, error) bool) {
		_ = yield(message.Chunk{Kind: message.ChunkText, Text: "You said: "}, nil) &&
			yield(message.Chunk{Kind: message.ChunkText, Text: last.Text()}, nil) &&
			yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}, nil)
	}
}

// An agent without any hook: no tools, no database, nothing global.
func Example() {
	ctx := context.Background()
	rt := runtime.New(hook.Nop{}, provider.Func(parrot), nil)
	if err := rt.Open(ctx); err != nil {
		log.Fatal(err)
	}
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "parrot"})
	if err != nil {
		log.Fatal(err)
	}
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		log.Fatal(err)
	}
	out, err := conv.Send(ctx, message.TextInput("hello"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.TextDelta {
			fmt.Printf("%q\n", ev.Text)
		}
	}})
	if err := cmp.Or(err, out.Err); err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Stop, out.Text())
	if err := rt.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// "You said: "
	// "hello"
	// completed You said: hello
}
