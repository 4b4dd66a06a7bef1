package kitchen_test

import (
	"slices"
	"testing"

	"example.com/pantry/kitchen"
	"example.com/pantry/subsystems/larder"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

func TestConformance(t *testing.T) {
	hooktest.Run(t, func(*testing.T) hook.Hook { return kitchen.New() }, &hooktest.Options{
		Compose: func(members ...hook.Hook) hook.Hook {
			return &kitchen.Kitchen{Larder: larder.New(), Extra: members}
		},
	})
}

// A turn is played by a scripted model: every tool runs, and what is taken too often is denied.
func TestTurn(t *testing.T) {
	take := script.Call{Tool: larder.ToolLarderTake, Args: `{"item":"egg"}`}
	model := script.New(
		script.Rule{Calls: []script.Call{{Tool: larder.ToolLarderPut, Args: `{"item":"egg","pieces":6}`}}},
		script.Rule{Calls: []script.Call{take, take, take, {Tool: "bell"}}},
		script.Rule{Say: "Dinner: ${result:bell}."},
	)
	rt := runtime.New(kitchen.New(), model, nil)
	if err := rt.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer rt.Close(t.Context())
	cook, err := rt.Register(t.Context(), hook.AgentConfig{Name: "cook", Instructions: "You cook."})
	if err != nil {
		t.Fatal(err)
	}
	conv, err := cook.Conversation(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	out, err := conv.Send(t.Context(), message.TextInput("Dinner, please."), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.CallResult {
			results = append(results, ev.Detail().Result.Text())
		}
	}})
	if err != nil || out.Err != nil || out.Text() != "Dinner: they are coming." {
		t.Errorf("%q, %v, %v", out.Text(), err, out.Err)
	}
	slices.Sort(results) // calls of one step end in any order
	want := []string{"4 left", "5 left", "That is enough for one request.", "they are coming", `{"item":"egg","pieces":6}`}
	if !slices.Equal(results, want) {
		t.Errorf("%q", results)
	}
}
