// Package cost tells what the models cost: it multiplies the tokens of every model
// call with a price table and adds them up for turns, conversations and agents.
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
)

// Cost adds up. New makes one; it is safe for concurrent use.
//
//hook:subsystem failopen=AfterModel,AfterStep
type Cost struct {
	hook.Nop
	prices prices
	quiet  bool

	turn         hook.TurnState[hook.Cost]
	conversation hook.ConversationState[hook.Cost]
	// step is what has been charged of the step under way.
	step hook.TurnState[charged]

	mu     sync.Mutex
	agents map[string]Totals
	// unknown are the models without a price that have been told of.
	unknown map[string]bool
}

var (
	_ hook.AfterModel = (*Cost)(nil)
	_ hook.AfterStep  = (*Cost)(nil)
)

// charged is what has been charged of a step.
type charged struct {
	step  int
	usage hook.Usage
}

// Totals are what has been used since the process began.
type Totals struct {
	Usage hook.Usage
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

// Price returns what a model call with this usage costs; 0 if the model has no
// price. It is what a runtime wants to know to show costs.
func (c *Cost) Price(model string, u hook.Usage) hook.Cost {
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

// AfterModel charges the reply, whatever becomes of it.
func (c *Cost) AfterModel(ctx context.Context, step *hook.Step, reply hook.ModelReply) (hook.ReplyDecision, error) {
	model := reply.Model
	if model == "" {
		model = step.Model()
	}
	c.charge(ctx, step, model, reply.Usage)
	return hook.ReplyDecision{}, nil
}

// AfterStep charges what the step used beyond its replies: model calls that failed.
func (c *Cost) AfterStep(ctx context.Context, step *hook.Step, outcome hook.StepOutcome) (hook.StepDecision, error) {
	rest := outcome.Usage
	if done := c.step.Get(step.Turn()); done.step == step.Number() {
		rest = without(rest, done.usage)
	}
	c.charge(ctx, step, step.Model(), rest)
	c.mu.Lock()
	defer c.mu.Unlock()
	name := step.Turn().Agent().Name
	t := c.agents[name]
	t.Steps++
	c.agents[name] = t
	return hook.StepDecision{}, nil
}

// charge adds what a model call has used to all totals.
func (c *Cost) charge(ctx context.Context, step *hook.Step, model string, u hook.Usage) {
	if u == (hook.Usage{}) {
		return
	}
	price, known := c.prices.of(model)
	if !known && !c.quiet && c.first(model) {
		step.Host().Emit(ctx, hook.Event{Kind: hook.EventDiagnostic, Text: "cost: there is no price for the model " + model + "; it counts as free"})
	}
	turn, cost := step.Turn(), price.cost(u)
	c.step.Update(turn, func(done charged) charged {
		if done.step != step.Number() {
			done = charged{step: step.Number()}
		}
		done.usage = done.usage.Add(u)
		return done
	})
	add := func(have hook.Cost) hook.Cost { return have + cost }
	c.turn.Update(turn.Root(), add)
	c.conversation.Update(turn.Root().Conversation(), add)
	c.mu.Lock()
	defer c.mu.Unlock()
	name := turn.Agent().Name
	t := c.agents[name]
	t.Usage, t.Cost = t.Usage.Add(u), t.Cost+cost
	c.agents[name] = t
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

// without returns what u has more than done, never less than nothing.
func without(u, done hook.Usage) hook.Usage {
	return hook.Usage{
		Input: max(u.Input-done.Input, 0), Output: max(u.Output-done.Output, 0),
		CacheRead: max(u.CacheRead-done.CacheRead, 0), CacheWrite: max(u.CacheWrite-done.CacheWrite, 0),
		Reasoning: max(u.Reasoning-done.Reasoning, 0),
	}
}
