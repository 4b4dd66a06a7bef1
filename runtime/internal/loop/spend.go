package loop

import (
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// outOfTokens returns the turn that has used up its tokens: this one or one above; nil if none
// has.
func (t *Turn) outOfTokens() *Turn {
	for ; t != nil; t = t.parent {
		if used, _ := t.spent(); t.cfg.Limits.Tokens > 0 && used.Total() >= t.cfg.Limits.Tokens {
			return t
		}
	}
	return nil
}

// spent is the usage of the turn and its children so far, and its cost.
func (t *Turn) spent() (message.Usage, hook.Cost) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usage, t.cost
}

// spend adds the usage of a model call to this turn and to those above, and returns its cost.
func (t *Turn) spend(model string, u message.Usage) (cost hook.Cost) {
	if t.env.Price != nil && u != (message.Usage{}) {
		cost = t.env.Price(model, u)
	}
	t.add(u, cost)
	return cost
}

func (t *Turn) add(u message.Usage, cost hook.Cost) {
	for ; t != nil; t = t.parent {
		t.mu.Lock()
		t.usage, t.cost = t.usage.Add(u), t.cost+cost
		t.mu.Unlock()
	}
}
