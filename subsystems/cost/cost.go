// Package cost adds up the cost of model calls for turns, conversations and agents: the
// tokens of every step times the price of the model.
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
	prices prices
	quiet  bool

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
	// Prices are the prices of the models. A model without a price costs nothing, and a
	// diagnostic reports it once.
	Prices Table
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
	c := &Cost{prices: prices, quiet: o.Quiet, agents: map[string]Totals{}, unknown: map[string]bool{}}
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
	p, _ := c.prices.of(model)
	return p.cost(u)
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

// AfterStep charges the usage of the step's model calls, at the price of the model that
// answered last.
func (c *Cost) AfterStep(ctx context.Context, step *hook.Step, outcome hook.StepOutcome) (hook.StepDecision, error) {
	u := outcome.Usage
	price, known := c.prices.of(step.Model())
	if !known && !c.quiet && u != (message.Usage{}) && c.first(step.Model()) {
		step.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "cost: there is no price for the model " + step.Model() + "; it counts as free"})
	}
	turn, cost := step.Turn(), price.cost(u)
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
