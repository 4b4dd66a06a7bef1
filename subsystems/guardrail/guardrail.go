// Package guardrail checks what goes into an agent and what comes out of it.
//
//	guardrail.New(nil) // agents with the section "guardrail" are checked
//
// A check is a pattern, a search for secrets or personal data, a JSON Schema, or a rule in words that a model
// judges. It blocks what it objects to, masks it, has the model write another reply, or only says so. A reply that is
// checked is held until all checks have ended, so what is blocked is never shown.
//
// What an agent's section says of replies holds for the agents that it runs, too: a parent reads what they return.
package guardrail

import (
	"context"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
)

// Guardrail checks inputs and replies. New makes one; it is safe for concurrent use.
//
//hook:subsystem
type Guardrail struct {
	hook.Nop
	o Options
	// judged is what was found in the reply of the running step.
	judged hook.TurnState[judged]
	// retried is how often the turn's replies were returned to the model.
	retried hook.TurnState[int]

	mu sync.RWMutex
	// agents has the checks of registered agents with a section.
	agents map[*hook.AgentConfig]checks
}

// The points at which something is checked.
var (
	_ hook.BeforeTurn   = (*Guardrail)(nil)
	_ hook.RewriteReply = (*Guardrail)(nil)
	_ hook.AfterModel   = (*Guardrail)(nil)
)

// Options of New.
type Options struct {
	// Parallel is how many models may review one text at the same time; 0 is DefaultParallel.
	Parallel int
}

// DefaultParallel is the default of Options.Parallel.
const DefaultParallel = 8

// New returns the subsystem; nil options are all zero values.
func New(o *Options) *Guardrail {
	g := &Guardrail{agents: map[*hook.AgentConfig]checks{}}
	if o != nil {
		g.o = *o
	}
	if g.o.Parallel <= 0 {
		g.o.Parallel = DefaultParallel
	}
	return g
}

// OnBuildAgent refuses a wrong section.
func (g *Guardrail) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	_, _, err := checksOf(&cfg)
	return cfg, err
}

// OnRegisterAgent keeps the agent's checks.
func (g *Guardrail) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	c, ok, err := checksOf(cfg)
	if err != nil || !ok {
		return err
	}
	g.mu.Lock()
	g.agents[cfg] = c
	g.mu.Unlock()
	return nil
}

// OnUnregisterAgent drops the agent's checks.
func (g *Guardrail) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	g.mu.Lock()
	delete(g.agents, cfg)
	g.mu.Unlock()
}

func (g *Guardrail) of(cfg *hook.AgentConfig) checks {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.agents[cfg]
}

// output returns the checks of the turn's replies: the agent's own, and those of the agents that run it.
func (g *Guardrail) output(turn *hook.Turn) (out []check, retries int) {
	for t := turn; t != nil; t = t.Parent() {
		c := g.of(t.Agent())
		if len(out) == 0 {
			retries = c.retries
		}
		out = append(out, c.output...)
	}
	return out, retries
}
