// Package cost knows what models cost, and adds up the cost of model calls for turns,
// conversations and agents: tokens times the price of the model.
//
//	c, err := cost.New(&cost.Options{Prices: cost.Table{"gpt-5*": {Input: 1.25, Output: 10}}})
//
// The totals of the running turn and of its conversation are the shared states
// "cost.turn" and "cost.conversation" of the type hook.Cost. Any hook can read them by
// declaring a state of that name; package guard does so to enforce a limit. A turn's
// total includes the turns of other agents that it runs.
package cost

import (
	"context"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Cost adds up. New makes one; it is safe for concurrent use.
//
//hook:subsystem failopen=AfterStep
type Cost struct {
	hook.Nop
	prices   prices
	fallback func(model string, input int64) (Price, bool)
	quiet    bool

	turn         hook.TurnState[hook.Cost]
	conversation hook.ConversationState[hook.Cost]

	mu     sync.Mutex
	agents map[string]Totals
	// unknown has the models without a price that were reported.
	unknown map[string]bool
}

var _ hook.AfterStep = (*Cost)(nil)

// Totals are the usage and cost since the process began.
type Totals struct {
	Usage message.Usage
	Cost  hook.Cost
	// Steps is the number of steps.
	Steps int
}

// Options are the settings of [Cost]; nil is all zero values.
type Options struct {
	// Prices are the prices of the models, by their ids (openai:gpt-5) or their names without
	// the vendor (gpt-5). A model without a price costs nothing, and a diagnostic reports it
	// once.
	Prices Table
	// Fallback returns the price of a model that Prices does not have, for a call with so many
	// tokens of input; nil has none. It is called from several goroutines. A price that cannot
	// be is none.
	Fallback func(model string, input int64) (Price, bool)
	// Quiet: do not report models without a price.
	Quiet bool
}

// New returns the subsystem; nil options are all zero values. The error is that of
// the price table.
func New(o *Options) (*Cost, error) {
	if o == nil {
		o = &Options{}
	}
	prices, err := o.Prices.compiled()
	if err != nil {
		return nil, err
	}
	c := &Cost{prices: prices, fallback: o.Fallback, quiet: o.Quiet, agents: map[string]Totals{}, unknown: map[string]bool{}}
	c.turn.Shared, c.conversation.Shared = "cost.turn", "cost.conversation"
	return c, nil
}

// States implements hook.Stateful.
func (c *Cost) States() map[string]hook.State {
	return map[string]hook.State{"conversation": &c.conversation}
}

// Price returns the cost of a model call with this usage; 0 if the model has no price.
// A runtime uses it to show costs.
func (c *Cost) Price(model string, u message.Usage) hook.Cost {
	cost, _ := c.Priced(model, u)
	return cost
}

// Priced is Price, and reports whether the model has a price.
func (c *Cost) Priced(model string, u message.Usage) (cost hook.Cost, known bool) {
	r, known := c.rate(model, u.Input)
	return r.cost(u), known
}

// rate returns the price of the model: from the table that of its whole id, then that of its
// name without the vendor; then that of the fallback.
func (c *Cost) rate(model string, input int64) (rate, bool) {
	if r, ok := c.prices.of(model); ok {
		return r, true
	}
	if _, name, ok := strings.Cut(model, ":"); ok {
		if r, ok := c.prices.of(name); ok {
			return r, true
		}
	}
	if c.fallback == nil {
		return rate{}, false
	}
	p, ok := c.fallback(model, input)
	if !ok {
		return rate{}, false
	}
	r, err := p.rate()
	return r, err == nil
}

// Turn returns the cost of the turn so far, with the turns that it runs.
func (c *Cost) Turn(t *hook.Turn) hook.Cost { return c.turn.Get(t.Root()) }

// Conversation returns the cost of the conversation, with the turns that it ran.
func (c *Cost) Conversation(v *hook.Conversation) hook.Cost { return c.conversation.Get(v) }

// Agent returns the totals of the agent's own model calls since the process began.
func (c *Cost) Agent(name string) Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agents[name]
}

// AfterStep charges what the step's model calls have cost. A runtime that knows no prices leaves
// that to the table here: then it is their usage at the price of the model that answered last.
func (c *Cost) AfterStep(ctx context.Context, step *hook.Step, outcome hook.StepOutcome) (hook.StepDecision, error) {
	u := outcome.Usage
	cost, known := c.Priced(step.Model(), u)
	if !known && !c.quiet && u != (message.Usage{}) && c.first(step.Model()) {
		step.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "cost: there is no price for the model " + step.Model() + "; it counts as free"})
	}
	if outcome.Cost != 0 {
		cost = outcome.Cost
	}
	turn := step.Turn()
	if cost != 0 {
		add := func(have hook.Cost) hook.Cost { return have + cost }
		c.turn.Update(turn.Root(), add)
		c.conversation.Update(turn.Root().Conversation(), add)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	name := turn.Agent().Name
	t := c.agents[name]
	t.Usage, t.Cost, t.Steps = t.Usage.Add(u), t.Cost+cost, t.Steps+1
	c.agents[name] = t
	return hook.StepDecision{}, nil
}

// first records a model without a price, and reports whether it is new. Beyond maxUnknown
// no model counts as new.
func (c *Cost) first(model string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unknown[model] || len(c.unknown) == maxUnknown {
		return false
	}
	c.unknown[model] = true
	return true
}

// maxUnknown limits the recorded models without a price.
const maxUnknown = 100
