package cookbook

import (
	"context"
	"encoding/json"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Rewrite arguments
//
// RewriteArgs changes what the model asked for. What it returns is decoded,
// validated and decided about like any arguments: no rewriter gets past a guard,
// wherever it stands. A rewriter that fails denies the call.
func Example_rewrite() {
	atMost := point.RewriteArgsFunc(func(_ context.Context, _ *hook.ToolCall, args message.JSON) (message.JSON, error) {
		var in Order
		if err := json.Unmarshal([]byte(args), &in); err != nil {
			return args, err
		}
		in.Pieces = min(in.Pieces, 10)
		out, err := json.Marshal(in)
		return message.JSON(out), err
	})
	h, err := composite.Of("Desk", composite.Field{Name: "AtMost", Hook: atMost}, composite.Field{Name: "Shop", Hook: &Shop{}})
	if err != nil {
		panic(err)
	}
	show(Ask(h, "a thousand apples", order(`{"item":"apple","pieces":1000}`)...))
	// Output:
	// completed ordered 10 apple
}
