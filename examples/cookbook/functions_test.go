package cookbook

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
)

// One-off hooks from functions
//
// A function is a hook at one point: every point has an adapter, BeforeToolFunc and
// so on.
// composite.Of puts hooks together at run time, in the order of the fields, by the
// rules that generated composites have.
func Example_functions() {
	watch := hook.AfterToolFunc(func(_ context.Context, call *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
		fmt.Println(call.Name(), call.Args(), o.Outcome)
		return hook.OutcomeDecision{}, nil
	})
	office := hook.BeforeTurnFunc(func(_ context.Context, _ *hook.Turn, in hook.Input) (hook.TurnDecision, error) {
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
