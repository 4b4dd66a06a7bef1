package cookbook

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// One-off hooks from functions
//
// A function is a hook at one point: every point has an adapter, point.BeforeToolFunc and
// so on.
// composite.Of puts hooks together at run time, in the order of the fields, by the
// rules that generated composites have.
func Example_functions() {
	watch := point.AfterToolFunc(func(_ context.Context, call *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
		fmt.Println(call.Name(), call.Args(), o.Outcome)
		return hook.OutcomeDecision{}, nil
	})
	office := point.BeforeTurnFunc(func(_ context.Context, _ *hook.Turn, in message.Input) (hook.TurnDecision, error) {
		if in.Text() == "ping" {
			return hook.RespondTurn("pong"), nil
		}
		return hook.TurnDecision{}, nil
	})
	h, err := composite.Of("Desk",
		composite.Field{Name: "Office", Hook: office}, composite.Field{Name: "Watch", Hook: watch}, composite.Field{Name: "Shop", Hook: &Shop{}})
	if err != nil {
		panic(err)
	}
	show(Ask(h, "two apples, please", order(`{"item":"apple","pieces":2}`)...))
	show(Ask(h, "ping"))
	// Output:
	// order {"item":"apple","pieces":2} executed
	// completed ordered 2 apple
	// completed pong
}
