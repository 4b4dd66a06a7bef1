// Package cost tells what the models cost: it multiplies the tokens of every step
// with a price table and adds them up for turns, conversations and agents.
//
//	c, err := cost.New(&cost.Options{Prices: cost.Table{"gpt-5*": {Input: 1.25, Output: 10}}})
//
// The totals of the turn that runs and of its conversation are shared states,
// "cost.turn" and "cost.conversation" of the type hook.Cost: package guard reads
// them to enforce a limit, and any other hook can by declaring a state of that name.
// A turn's total includes the turns of other agents that it runs.
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
	// unknown are the models without a price that have been told of.
	unknown map[string]bool
}

var _ hook.AfterStep = (*Cost)(nil)

// Totals are what has been used since the process began.
type Totals struct {
	Usage message.Usage
	Cost  hook.Cost
	// Steps is the number of steps.
	Steps int
}

// Options are the settings of [Cost]; nil is all zero values.
type Options struct {
	// Prices are those of the models. A model without a price costs nothing, and a
	// diagnostic says so once.
	Prices Table
	// Quiet: nothing is said of models without a price.
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

// Price returns what a model call with this usage costs; 0 if the model has no
// price. It is what a runtime wants to know to show costs.
func (c *Cost) Price(model string, u message.Usage) hook.Cost {
	p, _ := c.prices.of(model)
	return p.cost(u)
}

// Turn returns what the turn has cost so far, with those that it runs.
func (c *Cost) Turn(t *hook.Turn) hook.Cost { return c.turn.Get(t.Root()) }

// Conversation returns what the conversation has cost, with what it ran.
func (c *Cost) Conversation(v *hook.Conversation) hook.Cost { return c.conversation.Get(v) }

// Agent returns what the agent's own model calls have cost since the process began.
func (c *Cost) Agent(name string) Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agents[name]
}

// AfterStep charges what the model calls of the step have used, at the price of the
// model that answered last.
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

// first notes a model without a price and reports whether it is the first time.
func (c *Cost) first(model string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.unknown[model] || len(c.unknown) == maxUnknown
	if !told {
		c.unknown[model] = true
	}
	return !told
}

// maxUnknown bounds the models that are remembered to have no price.
const maxUnknown = 100
