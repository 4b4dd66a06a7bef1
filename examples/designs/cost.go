package designs

import (
	"context"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
)

// Purse is the cost hook of design 000: it adds up what each sender has spent, and ends a turn that
// would spend more than is left. Children spend from the purse of the person who asked.
//
//	000                         here
//	post_llm_call with usage    AfterStep: StepOutcome has usage and cost of the step
//	HookDecision::Reject        hook.StopStep: the turn ends with a reason, and keeps what it has
//
// The cost is a fact of the runtime: it knows prices by model, and failed requests count. The program
// itself limits spending in config.yaml, over restarts and per project as well.
//
//hook:subsystem
type Purse struct {
	hook.Nop
	// Each is what one sender may spend.
	Each hook.Cost

	mu    sync.Mutex
	spent map[string]hook.Cost
}

// AfterStep adds what the step has cost.
func (p *Purse) AfterStep(_ context.Context, step *hook.Step, o hook.StepOutcome) (hook.StepDecision, error) {
	sender := step.Turn().Root().Conversation().Sender()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spent == nil {
		p.spent = map[string]hook.Cost{}
	}
	p.spent[sender] += o.Cost
	if p.spent[sender] >= p.Each {
		return hook.StopStep(hook.StopCostLimit, fmt.Sprintf("%s has spent %s of %s", sender, p.spent[sender], p.Each)), nil
	}
	return hook.StepDecision{}, nil
}

// Spent returns what the sender has spent.
func (p *Purse) Spent(sender string) hook.Cost {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent[sender]
}
