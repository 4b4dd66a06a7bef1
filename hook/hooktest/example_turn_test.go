package hooktest_test

import (
	"cmp"
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/examples/subsystem/pantry"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// A whole turn: the runtime drives the hooks, the model says what the script says,
// a person answers from a table, and the clock is the test's.
func Example_turn() {
	ctx := context.Background()
	careful := point.BeforeToolFunc(func(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
		if call.Name() == pantry.ToolPantryTake {
			return hook.AskTool("it takes something away"), nil
		}
		return hook.ToolDecision{}, nil
	})
	person := &hooktest.Approver{Answers: map[string]hook.ApprovalDecision{pantry.ToolPantryTake: hook.RefuseCall("not before dinner")}}
	kitchen, err := composite.Of("Kitchen", composite.Field{Name: "Careful", Hook: careful},
		composite.Field{Name: "Person", Hook: person}, composite.Field{Name: "Pantry", Hook: pantry.New()})
	if err != nil {
		panic(err)
	}
	clock := &hooktest.Clock{}
	model := script.New( // a rule for each step
		script.Rule{Say: "Let me see.", Calls: []script.Call{{Tool: pantry.ToolPantryPut, Args: `{"item":"egg","pieces":6}`}}},
		script.Rule{Calls: []script.Call{{Tool: pantry.ToolPantryTake, Args: `{"item":"egg","pieces":2}`}}},
		script.Rule{Say: "They said: ${result:pantry_take}"},
	)

	rt := runtime.New(kitchen, model, &runtime.Options{Now: clock.Now})
	if err := rt.Open(ctx); err != nil {
		panic(err)
	}
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "cook"})
	if err != nil {
		panic(err)
	}
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		panic(err)
	}
	out, err := conv.Send(ctx, message.TextInput("two eggs, please"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.CallResult {
			d := ev.Detail()
			fmt.Println(d.Tool, d.Outcome, d.Result.Text())
		}
	}})
	if err := cmp.Or(err, out.Err); err != nil {
		panic(err)
	}
	fmt.Println(out.Stop, out.Steps, "steps:", out.Text())
	for _, asked := range person.Shown() {
		fmt.Println("asked about", asked.Call.Name(), asked.Call.Args(), "because", asked.Asked.Verdict().Reason)
	}
	// Output:
	// pantry_put executed egg: 6
	// pantry_take denied not before dinner
	// completed 3 steps: They said: not before dinner
	// asked about pantry_take {"item":"egg","pieces":2} because it takes something away
}
