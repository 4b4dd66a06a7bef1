package loop

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/spending"
)

// requestModel makes one request to the provider. Every request passes here, whoever makes it,
// so that none escapes a limit or the accounts. It is safe for concurrent use.
func (t *Turn) requestModel(ctx context.Context, req message.ModelRequest) message.ModelStream {
	ledger := t.env.Spending
	if !ledger.Counts() {
		return t.env.Provider.Stream(ctx, req)
	}
	return ledger.Stream(ctx, t.env.Provider, req, spending.Caller{
		Project: t.env.Project, Agent: t.answering.Name, Turn: t.account(), Tell: t.emitDiagnostic,
	})
}

// account is what the turn of the user has spent.
func (t *Turn) account() *spending.Turn {
	root := t.root()
	if root.payer != nil {
		return root.payer
	}
	return &root.money
}

// emitDiagnostic emits a remark about a request, which may run on any goroutine.
func (t *Turn) emitDiagnostic(text string) {
	t.thread.emit(t.noCancel, hook.Event{Kind: event.Diagnostic, Text: text})
}

// signalRefused ends the turn because a limit on spending is reached, if that is what err says.
func (t *Turn) signalRefused(err error) bool {
	refused, ok := errors.AsType[*spending.RefusedError](err)
	if !ok || t.ctx.Err() != nil {
		return false
	}
	if t.attempts.made == 1 {
		t.idleSteps++ // it has asked no model
	}
	t.signals = append(t.signals, hook.StopSignal{Reason: hook.StopCostLimit, Text: refused.Error(), Context: refused.Figures()})
	return true
}

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
	if u != (message.Usage{}) {
		cost = t.env.Spending.Price(model, u)
	}
	t.addOwn(u, cost)
	return cost
}

// addOwn adds a model call of the turn itself.
func (t *Turn) addOwn(u message.Usage, cost hook.Cost) {
	t.mu.Lock()
	t.own += cost
	t.mu.Unlock()
	t.add(u, cost)
}

// uncharged is the cost of the turn's own model calls that no AfterStep has seen.
func (t *Turn) uncharged() hook.Cost {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own - t.charged
}

// markCharged is called when AfterStep sees the cost.
func (t *Turn) markCharged(cost hook.Cost) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.charged += cost
}

func (t *Turn) add(u message.Usage, cost hook.Cost) {
	for ; t != nil; t = t.parent {
		t.mu.Lock()
		t.usage, t.cost = t.usage.Add(u), t.cost+cost
		t.mu.Unlock()
	}
}
