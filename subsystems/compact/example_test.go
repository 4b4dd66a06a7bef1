package compact_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/compact"
)

// A conversation outgrows a small window: older turns become a summary, and it goes on.
func Example() {
	ctx := context.Background()
	model := script.New(
		script.Rule{When: &script.When{System: script.Text{Contains: "summary"}}, Say: "They talk about waves."},
		script.Rule{When: &script.When{}, Say: "I see."})
	rt := runtime.New(compact.New(&compact.Options{Window: 4000}), model, nil)
	_ = rt.Open(ctx)
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper"})
	if err != nil {
		panic(err)
	}
	conv, _ := agent.Conversation(ctx, "ann")
	summed := 0
	for range 6 {
		_, err = conv.Send(ctx, message.TextInput(strings.Repeat("Waves, and more waves. ", 200)), &runtime.TurnOptions{Observe: func(ev hook.Event) {
			if ev.Kind == event.CompactionAuto {
				summed++
			}
		}})
		if err != nil {
			panic(err)
		}
	}
	fmt.Println("summed up:", summed > 0)
	// Output: summed up: true
}
