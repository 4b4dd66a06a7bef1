package cookbook

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Approval
//
// A decider answers ask, and Approve answers that, usually by asking a person: with
// yes, with no, or with other arguments, which are decoded and decided about again.
// What it is shown is what runs. Without any answer the call is refused. Package
// subsystems/approval has all that a daemon needs: people to ask, time-outs, answers that
// are remembered.
func Example_approval() {
	ask := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.AskTool("it costs money"), nil
	})
	person := point.ApproveFunc(func(_ context.Context, call *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
		fmt.Printf("%s because %s: %s\n", call.Name(), asked.Verdict().Reason, call.Args())
		if call.Args() == `{"item":"yacht","pieces":1}` {
			return hook.ModifyCall(`{"item":"pedalo","pieces":1}`), nil
		}
		return hook.ApproveCall(), nil
	})
	h, err := composite.Of("Desk", composite.Field{Name: "Ask", Hook: ask},
		composite.Field{Name: "Person", Hook: person}, composite.Field{Name: "Shop", Hook: &Shop{}})
	if err != nil {
		panic(err)
	}
	show(Ask(h, "a yacht", order(`{"item":"yacht","pieces":1}`)...))
	// Output:
	// order because it costs money: {"item":"yacht","pieces":1}
	// completed ordered 1 pedalo
}
