package cookbook

import (
	"fmt"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/cost"
	"github.com/grapnel-go/grapnel/subsystems/guard"
)

// What it costs, and no more than that
//
// cost multiplies tokens with a price table. It shares the total of a turn with any
// hook that declares a state of that name and type; guard does, and ends the turn at
// its limit. Neither package knows the other.
func Example_cost() {
	prices, err := cost.New(&cost.Options{Prices: cost.Table{"big": {Input: 2, Output: 8}}})
	if err != nil {
		panic(err)
	}
	limit := guard.New(&guard.Options{Turn: guard.Limits{Cost: hook.Dollar / 100}})
	h, err := composite.Of("Desk", composite.Field{Name: "Guard", Hook: limit},
		composite.Field{Name: "Cost", Hook: prices}, composite.Field{Name: "Shop", Hook: &Shop{}})
	if err != nil {
		panic(err)
	}
	used := &message.Usage{Input: 3_000, Output: 500}
	again := script.Rule{Calls: []script.Call{{Tool: "order", Args: `{"item":"apple","pieces":1}`}}, Usage: used}
	out, err := Ask(h, "apples, for ever", again, again, again)
	if err != nil {
		panic(err)
	}
	fmt.Println(out.Stop, out.Signals.At(0).By, out.Signals.At(0).Text)
	fmt.Println(prices.Agent("clerk").Cost)
	// Output:
	// cost_limit Guard Cost limit reached: $0.0100/$0.0100
	// $0.0100
}
