package cookbook

import (
	"context"
	"strings"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Have a turn go on
//
// OnStop may have a turn go on that wants to end, with feedback for the model. It
// cannot overrule a limit, and the runtime caps how often it may. Package
// subsystems/critique has a second model judge the reply there; subsystems/guard has
// the limits of steps, tokens, time, money and calls.
func Example_stop() {
	polite := point.OnStopFunc(func(_ context.Context, _ *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
		if strings.Contains(s.Message.Text(), "please") {
			return hook.StopDecision{}, nil
		}
		return hook.ContinueTurn("say please"), nil
	})
	h, err := composite.Of("Desk", composite.Field{Name: "Polite", Hook: polite}, composite.Field{Name: "Shop", Hook: &Shop{}})
	if err != nil {
		panic(err)
	}
	show(Ask(h, "say it", script.Rule{Say: "Give me apples."}, script.Rule{Say: "Give me apples, please."}))
	// Output:
	// completed Give me apples, please.
}
