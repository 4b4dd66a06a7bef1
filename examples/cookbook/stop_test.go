package cookbook

import (
	"context"
	"strings"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Stop conditions
//
// BeforeStep and AfterStep may end a turn, with a stop reason that clients see; what
// was done is kept. OnStop is the other way round: it may have a turn go on that
// wants to end, with feedback for the model. It cannot overrule a limit, and the
// runtime caps it. Package subsystems/guard has limits of steps, tokens, time, money
// and calls.
func Example_stop() {
	budget := point.AfterStepFunc(func(_ context.Context, step *hook.Step, _ hook.StepOutcome) (hook.StepDecision, error) {
		if step.Number() == 3 {
			return hook.StopStep(hook.StopStepsLimit, "three steps are enough"), nil
		}
		return hook.StepDecision{}, nil
	})
	polite := point.OnStopFunc(func(_ context.Context, _ *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
		if strings.Contains(s.Message.Text(), "please") {
			return hook.StopDecision{}, nil
		}
		return hook.ContinueTurn("say please"), nil
	})
	h, err := composite.Of("Desk", composite.Field{Name: "Budget", Hook: budget},
		composite.Field{Name: "Polite", Hook: polite}, composite.Field{Name: "Shop", Hook: &Shop{}})
	if err != nil {
		panic(err)
	}
	show(Ask(h, "say it", script.Rule{Say: "Give me apples."}, script.Rule{Say: "Give me apples, please."}))
	show(Ask(h, "say it", script.Rule{Say: "No."}, script.Rule{Say: "No."}, script.Rule{Say: "Never."}))
	// Output:
	// completed Give me apples, please.
	// steps_limit Never.
}
