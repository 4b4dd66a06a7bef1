package cookbook

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"sync"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Audit
//
// AfterTool is asked exactly once for every call that the model made, whatever
// became of it, denied and unknown ones too; that is why an audit belongs there and
// not around the execution. The outermost hook has the last word, so the audit
// stands first in the composite. Its failure withholds results, unless a tag says
// failopen: nothing unrecorded reaches the model.

// Audit writes a line for each call.
type Audit struct {
	hook.Nop
	mu sync.Mutex
	W  io.Writer
}

var _ hook.AfterTool = (*Audit)(nil)

// AfterTool writes what was called and what became of it, but not the result.
func (a *Audit) AfterTool(_ context.Context, call *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return hook.OutcomeDecision{}, json.NewEncoder(a.W).Encode(struct {
		Sender, Tool string
		Args         message.JSON
		Outcome      message.Outcome
	}{call.Step().Turn().Conversation().Sender(), call.Name(), call.Args(), o.Outcome})
}

func Example_audit() {
	closed := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.DenyTool("the shop is closed"), nil
	})
	h, err := composite.Of("Desk", composite.Field{Name: "Audit", Hook: &Audit{W: os.Stdout}},
		composite.Field{Name: "Hours", Hook: closed}, composite.Field{Name: "Shop", Hook: &Shop{}})
	if err != nil {
		panic(err)
	}
	show(Ask(h, "two apples, please", order(`{"item":"apple","pieces":2}`)...))
	// Output:
	// {"Sender":"ann","Tool":"order","Args":{"item":"apple","pieces":2},"Outcome":"denied"}
	// completed the shop is closed
}
