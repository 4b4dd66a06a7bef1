package cookbook

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Fall back to another model
//
// OnModelError is asked when a model call has failed. The next attempt passes
// RewriteRequest and BeforeModel again, so no guard is got round by a fallback, and
// the runtime caps the attempts.
func Example_fallback() {
	smaller := point.OnModelErrorFunc(func(_ context.Context, _ *hook.Step, f message.ModelFailure) (hook.FailureDecision, error) {
		if f.Model == "big" {
			return hook.FallbackFailure("small"), nil
		}
		return hook.FailureDecision{}, nil
	})
	h, err := composite.Of("Desk", composite.Field{Name: "Smaller", Hook: smaller}, composite.Field{Name: "Shop", Hook: &Shop{}})
	if err != nil {
		panic(err)
	}
	show(Ask(h, "hello",
		script.Rule{When: &script.When{Model: script.Text{Equals: "big"}}, Err: errors.New("the big model is asleep")},
		script.Rule{When: &script.When{Model: script.Text{Equals: "small"}}, Say: "Hello from the small one."}))
	// Output:
	// completed Hello from the small one.
}
